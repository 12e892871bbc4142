"""ReplicaSets: keep as many active pods of the template as are wanted."""

from datetime import datetime

from gangline.contract.meta import Key
from gangline.kube.wire.resources import PODS, REPLICA_SETS
from gangline.sandbox.actions import Action, Decision, Patch
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers.ownership import claim
from gangline.sandbox.controllers.pods import (
    BURST,
    available_in_s,
    is_active,
    make_pod,
    ready_since,
    removal_order,
    remove_pod,
)
from gangline.sandbox.objects import ReplicaSet, ReplicaSetStatus, RunPod, status_patch


class ReplicaSets:
    """Decides for every ReplicaSet."""

    def __init__(self, replica_sets: Cache[ReplicaSet], pods: Cache[RunPod], *, speed: float = 1.0) -> None:
        self._replica_sets = replica_sets
        self._pods = pods
        self._speed = speed

    def decide(self, key: Key, now: datetime) -> Decision:
        """Say which pods to make, remove, adopt and release, and what the status is."""
        owner = self._replica_sets.get(key)
        if owner is None:
            return Decision()
        claimed = claim(owner, owner.spec.selector, self._pods, owner_kind=REPLICA_SETS, child_kind=PODS)
        active = [pod for pod in claimed.children if is_active(pod)]
        waits = [available_in_s(pod, owner.spec.min_ready_seconds / self._speed, now) for pod in active]
        changes = () if owner.metadata.deletion_timestamp or claimed.actions else _fill(owner, active)
        return Decision(
            actions=(*claimed.actions, *changes, *_status(owner, active, available=waits.count(0.0))),
            again_in_s=min((wait for wait in waits if wait), default=None),
        )


def _fill(owner: ReplicaSet, active: list[RunPod]) -> tuple[Action, ...]:
    missing = owner.spec.replicas - len(active)
    if missing > 0:
        return (make_pod(owner, REPLICA_SETS, owner.spec.template),) * min(missing, BURST)
    return tuple(remove_pod(pod) for pod in removal_order(active)[: min(-missing, BURST)])


def _status(owner: ReplicaSet, active: list[RunPod], *, available: int) -> tuple[Action, ...]:
    template_labels = ((owner.spec.template.get("metadata") or {}).get("labels") or {}).items()
    status = ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(template_labels <= (pod.metadata.labels or {}).items() for pod in active),
        ready_replicas=sum(ready_since(pod) is not None for pod in active),
        available_replicas=available,
        observed_generation=owner.metadata.generation or 0,
    )
    if status == owner.status:
        return ()
    body = {
        "metadata": {"resourceVersion": owner.metadata.resource_version},
        "status": status_patch(status, "replicas"),
    }
    return (Patch(resource=REPLICA_SETS, key=owner.metadata.key, body=body, subresource="status"),)

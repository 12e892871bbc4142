"""ReplicaSets: keep as many active pods of the template as are wanted."""

from gangline.sandbox.controllers.ownership import claim
from gangline.sandbox.controllers.pods import BURST, available_in_s, is_active, make_pod, removal_order
from gangline.sandbox.objects.apps import ReplicaSet, ReplicaSetStatus
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.podstate import ready_since
from gangline.sandbox.reconciling.actions import Action, Decision, delete, set_status
from gangline.sandbox.reconciling.world import World


def decide(owner: ReplicaSet, world: World) -> Decision:
    """Say which pods to make, remove, adopt and release, and what the status is."""
    claimed = claim(owner, owner.spec.selector, world.all(RunPod))
    active = [pod for pod in claimed.children if is_active(pod)]
    min_ready_s = owner.spec.min_ready_seconds / world.pace.speed
    waits = [available_in_s(pod, min_ready_s, world.now) for pod in active]
    changes = () if owner.metadata.deletion_timestamp or claimed.actions else _fill(owner, active)
    status = _status(owner, active, available=waits.count(0.0))
    return Decision(
        actions=(*claimed.actions, *changes, *set_status(owner, status, "replicas")),
        again_in_s=min((wait for wait in waits if wait), default=None),
    )


def _fill(owner: ReplicaSet, active: list[RunPod]) -> tuple[Action, ...]:
    missing = owner.spec.replicas - len(active)
    if missing > 0:
        return (make_pod(owner, owner.spec.template),) * min(missing, BURST)
    return tuple(delete(pod) for pod in removal_order(active)[: min(-missing, BURST)])


def _status(owner: ReplicaSet, active: list[RunPod], *, available: int) -> ReplicaSetStatus:
    template_labels = ((owner.spec.template.get("metadata") or {}).get("labels") or {}).items()
    return ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(template_labels <= (pod.metadata.labels or {}).items() for pod in active),
        ready_replicas=sum(ready_since(pod) is not None for pod in active),
        available_replicas=available,
        observed_generation=owner.metadata.generation or 0,
    )

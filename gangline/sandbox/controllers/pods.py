"""What the workload controllers share about pods: how far they have come, which go first, how they are made."""

from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gangline.kube.wire.resources import PODS, Resource
from gangline.sandbox.actions import Create, Delete
from gangline.sandbox.controllers.ownership import owner_reference
from gangline.sandbox.objects import Identified, RunPod
from gangline.sandbox.podlife import is_finished

POD_DELETION_COST_ANNOTATION: Final = "controller.kubernetes.io/pod-deletion-cost"
BURST: Final = 500
"""The most pods made or removed by one decision, as upstream's ReplicaSet controller has it."""

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_PHASE_ORDER: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_active(pod: RunPod) -> bool:
    """Tell whether the pod still stands for a replica: not finished, not on its way out."""
    return not is_finished(pod) and pod.metadata.deletion_timestamp is None


def ready_since(pod: RunPod) -> datetime | None:
    """Tell since when the pod is Ready; None if it is not."""
    for condition in pod.status.conditions or ():
        if condition.type == "Ready" and condition.status == "True":
            return condition.last_transition_time or _EPOCH
    return None


def available_in_s(pod: RunPod, min_ready_s: float, now: datetime) -> float | None:
    """Seconds until a pod has been Ready for long enough, 0 if it has; None if it is not Ready."""
    since = ready_since(pod)
    if since is None:
        return None
    return max((since + timedelta(seconds=min_ready_s) - now).total_seconds(), 0.0) if min_ready_s else 0.0


def removal_order(pods: Iterable[RunPod]) -> list[RunPod]:
    """Sort pods, those whose loss costs least first (kube-controller-manager ActivePodsWithRanks, without ranks)."""
    return sorted(pods, key=_removal_key)


def _removal_key(pod: RunPod) -> tuple[object, ...]:
    since = ready_since(pod)
    created = pod.metadata.creation_timestamp or _EPOCH
    return (
        bool(pod.spec.node_name),
        _PHASE_ORDER.get(pod.status.phase or "Pending", 1),
        since is not None,
        _deletion_cost(pod),
        -(since or _EPOCH).timestamp(),
        -created.timestamp(),
        pod.metadata.uid,
    )


def _deletion_cost(pod: RunPod) -> int:
    text = (pod.metadata.annotations or {}).get(POD_DELETION_COST_ANNOTATION, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def make_pod(
    owner: Identified,
    resource: Resource,
    template: dict[str, Any],
    name_stem: str | None = None,
    *,
    name: str | None = None,
) -> Create:
    """Build a pod of a template, controlled by its owner; without a name the API server completes its stem."""
    template = deepcopy(template)
    metadata = template.get("metadata") or {}
    kept = {field: metadata[field] for field in ("labels", "annotations", "finalizers") if metadata.get(field)}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **({"name": name} if name else {"generateName": f"{name_stem or owner.metadata.name}-"}),
            "namespace": owner.metadata.namespace,
            "ownerReferences": [owner_reference(owner, resource)],
            **kept,
        },
        "spec": template.get("spec") or {},
    }
    return Create(resource=PODS, namespace=owner.metadata.namespace, body=body)


def remove_pod(pod: RunPod) -> Delete:
    """Build the graceful deletion of a pod."""
    return Delete(resource=PODS, key=pod.metadata.key, uid=pod.metadata.uid)

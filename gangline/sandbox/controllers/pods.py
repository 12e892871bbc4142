"""What the workload controllers share about pods: how far they have come, which go first, how they are made."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from gangline.sandbox.controllers.ownership import create_child
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.objects.podstate import EPOCH, is_finished, ready_since
from gangline.sandbox.reconciling.actions import Create

BURST: Final = 500
"""The most pods made or removed by one decision, as upstream's ReplicaSet controller has it."""

_PHASE_ORDER: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_active(pod: RunPod) -> bool:
    """Tell whether the pod still stands for a replica: not finished, not on its way out."""
    return not is_finished(pod) and pod.metadata.deletion_timestamp is None


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
    created = pod.metadata.creation_timestamp or EPOCH
    return (
        bool(pod.spec.node_name),
        _PHASE_ORDER.get(pod.status.phase or "Pending", 1),
        since is not None,
        -(since or EPOCH).timestamp(),
        -created.timestamp(),
        pod.metadata.uid,
    )


def make_pod(owner: Identified, template: dict[str, Any], name_stem: str | None = None, *, name: str = "") -> Create:
    """Build a pod of a template, controlled by its owner; without a name the API server completes its stem."""
    metadata = template.get("metadata") or {}
    kept = {field: metadata[field] for field in ("labels", "annotations", "finalizers") if metadata.get(field)}
    named = {"name": name} if name else {"generateName": f"{name_stem or owner.metadata.name}-"}
    return create_child(owner, RunPod, named | kept, template.get("spec") or {})

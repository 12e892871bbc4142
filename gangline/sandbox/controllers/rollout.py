"""How a Deployment's ReplicaSets are scaled, as arithmetic (kube-controller-manager deployment/rolling.go, recreate.go)."""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from gangline.sandbox.objects.apps import DeploymentSpec, ReplicaSet, RollingUpdate

Scale = dict[str, int]
"""New `spec.replicas` by UID; ReplicaSets that stay as they are do not occur."""


class Bounds(Struct, frozen=True):
    """How far a rollout may stray from the number wanted, in pods."""

    surge: int
    unavailable: int


def bounds(spec: DeploymentSpec) -> Bounds:
    """Resolve counts and percentages: surge rounded up, unavailable down, and never both 0."""
    rolling = spec.strategy.rolling_update or RollingUpdate()
    surge = resolved(rolling.max_surge, spec.replicas, math.ceil)
    unavailable = resolved(rolling.max_unavailable, spec.replicas, math.floor)
    return Bounds(surge, 1 if surge == 0 and unavailable == 0 else unavailable)


def wanted_at_first(spec: DeploymentSpec, old: Sequence[ReplicaSet], *, old_pods: int) -> int:
    """Replicas that a new ReplicaSet starts with, beside the old ones and the pods they still have."""
    if spec.strategy.type == "Recreate":
        return 0 if old_pods else spec.replicas
    room = spec.replicas + bounds(spec).surge - sum(each.spec.replicas for each in old)
    return min(max(room, 0), spec.replicas)


def rescale(spec: DeploymentSpec, new: ReplicaSet, old: Sequence[ReplicaSet], *, old_pods: int) -> Scale:
    """Scale the new ReplicaSet towards the number wanted and the old ones, oldest first, towards nothing."""
    if spec.strategy.type == "Recreate":
        if any(each.spec.replicas for each in old):
            return {each.metadata.uid: 0 for each in old if each.spec.replicas}
        return {} if old_pods else _change(new, spec.replicas)
    if new.spec.replicas > spec.replicas:
        return _change(new, spec.replicas)
    total = new.spec.replicas + sum(each.spec.replicas for each in old)
    room = spec.replicas + bounds(spec).surge - total
    if room > 0 and new.spec.replicas < spec.replicas:
        return _change(new, min(new.spec.replicas + room, spec.replicas))
    return _shrink_old(spec, new, old)


def rescale_paused(spec: DeploymentSpec, sets: Sequence[ReplicaSet]) -> Scale:
    """Scale without a rollout: only where a single ReplicaSet has replicas is it clear which one is meant."""
    active = [each for each in sets if each.spec.replicas]
    return _change(active[0], spec.replicas) if len(active) == 1 else {}


def _shrink_old(spec: DeploymentSpec, new: ReplicaSet, old: Sequence[ReplicaSet]) -> Scale:
    minimum = spec.replicas - bounds(spec).unavailable
    total = new.spec.replicas + sum(each.spec.replicas for each in old)
    new_unavailable = max(new.spec.replicas - new.status.available_replicas, 0)
    spare = max(total - minimum - new_unavailable, 0)
    left = {each.metadata.uid: each.spec.replicas for each in old}
    for each in old:
        broken = min(max(left[each.metadata.uid] - each.status.available_replicas, 0), spare)
        left[each.metadata.uid] -= broken
        spare -= broken
    available = new.status.available_replicas + sum(
        min(each.status.available_replicas, left[each.metadata.uid]) for each in old
    )
    spare = min(spare, max(available - minimum, 0))
    for each in old:
        dropped = min(left[each.metadata.uid], spare)
        left[each.metadata.uid] -= dropped
        spare -= dropped
    return {each.metadata.uid: left[each.metadata.uid] for each in old if left[each.metadata.uid] != each.spec.replicas}


def _change(replica_set: ReplicaSet, replicas: int) -> Scale:
    return {} if replica_set.spec.replicas == replicas else {replica_set.metadata.uid: replicas}


def resolved(value: int | str, total: int, rounded: Callable[[float], int]) -> int:
    """Turn a count, or a percentage of a total, into a count."""
    if isinstance(value, int):
        return value
    return rounded(int(value.removesuffix("%")) * total / 100)

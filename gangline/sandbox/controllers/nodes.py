"""Nodes that do not answer any more, and what their conditions say as taints (kube-controller-manager nodelifecycle).

A node whose lease has run out gets the condition Ready=Unknown. A node that never had a lease is taken at its word.
"""

from datetime import timedelta
from typing import Any, Final

from msgspec import structs

from gangline.contract.meta import Key
from gangline.contract.timestamps import timestamp
from gangline.sandbox.objects.core import LEASE_NAMESPACE, Lease, RunNode, TimedTaint, has_condition
from gangline.sandbox.reconciling.actions import Decision, Note, amend, report
from gangline.sandbox.reconciling.world import World

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
BY_CONDITION: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
REPORTED: Final = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"})
"""What a kubelet says of its node, and nobody knows once it is silent."""
EVICTING: Final = (NOT_READY, UNREACHABLE)
OURS: Final = frozenset({*BY_CONDITION.values(), UNSCHEDULABLE})
MARGIN_S: Final = 0.01
"""A deadline is looked at a little after it."""


class Nodes:
    """Decides for every node; remembers which it has met."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def decide(self, node: RunNode, world: World) -> Decision:
        """Say what a silent node's conditions are, and which taints follow from conditions."""
        if node.metadata.deletion_timestamp:
            return Decision()
        decision = _decide(node, world)
        if node.metadata.uid in self._met:
            return decision
        self._met.add(node.metadata.uid)
        name = node.metadata.name
        note = Note("RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
        return structs.replace(decision, notes=(note, *decision.notes))


def _decide(node: RunNode, world: World) -> Decision:
    left_s = _lease_left_s(node, world)
    if left_s is not None and left_s <= 0 and not has_condition(node, "Ready", "Unknown"):
        note = Note("NodeNotReady", f"Node {node.metadata.name} status is now: NodeNotReady")
        return Decision(actions=(report(node, conditions=_silent(node, world)),), notes=(note,))
    wanted = _wanted_taints(node)
    kept = [each for each in node.spec.taints or () if each.key not in OURS or (each.key, each.effect) in wanted]
    missing = sorted(wanted - {(each.key, each.effect) for each in kept})
    taints = [*kept, *(TimedTaint(key=key, effect=effect, time_added=world.now) for key, effect in missing)]
    is_changed = bool(missing) or len(kept) != len(node.spec.taints or ())
    return Decision(
        actions=(amend(node, spec={"taints": [_written(each) for each in taints] or None}),) if is_changed else (),
        again_in_s=left_s + MARGIN_S if left_s is not None and left_s > 0 else None,
    )


def wake_node_of(_world: World, lease: Lease) -> list[Key]:
    """Name the node whose kubelet holds a lease."""
    return [Key("", lease.metadata.name)] if lease.metadata.namespace == LEASE_NAMESPACE else []


def _lease_left_s(node: RunNode, world: World) -> float | None:
    lease = world.all(Lease).get(Key(LEASE_NAMESPACE, node.metadata.name))
    if lease is None or lease.spec.renew_time is None:
        return None
    ends = lease.spec.renew_time + timedelta(seconds=lease.spec.lease_duration_seconds)
    return (ends - world.now).total_seconds()


def _wanted_taints(node: RunNode) -> set[tuple[str, str]]:
    keys = {taint for condition, taint in BY_CONDITION.items() if has_condition(node, *condition)}
    wanted = {(key, "NoSchedule") for key in keys} | {(key, "NoExecute") for key in keys if key in EVICTING}
    return wanted | ({(UNSCHEDULABLE, "NoSchedule")} if node.spec.unschedulable else set())


def _silent(node: RunNode, world: World) -> list[dict[str, Any]]:
    types = {"Ready", *(each.type for each in node.status.conditions or ())} & REPORTED
    return [
        {
            "type": type_,
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": timestamp(world.now),
        }
        for type_ in sorted(types)
    ]


def _written(taint: TimedTaint) -> dict[str, Any]:
    written: dict[str, Any] = {"key": taint.key, "effect": taint.effect}
    if taint.value:
        written["value"] = taint.value
    return written | ({"timeAdded": timestamp(taint.time_added)} if taint.time_added else {})

"""Nodes that do not answer any more, and pods that must leave a node (kube-controller-manager nodelifecycle, tainteviction).

A node whose lease has run out gets the condition Ready=Unknown; what its conditions say becomes taints. A node that
never had a lease is taken at its word.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from gangline.contract.meta import Key
from gangline.contract.selectors import tolerates
from gangline.kube.wire.requests import STRATEGIC_PATCH
from gangline.kube.wire.resources import NODES, PODS
from gangline.sandbox.actions import Action, Decision, Delete, Patch
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers.pods import is_active, ready_since
from gangline.sandbox.kubelet import LEASE_NAMESPACE
from gangline.sandbox.objects import Lease, RunNode, RunPod, TimedTaint, timestamp

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
EVICTING: Final = (NOT_READY, UNREACHABLE)
OURS: Final = frozenset({*BY_CONDITION.values(), UNSCHEDULABLE})
MARGIN_S: Final = 0.01
"""A deadline is looked at a little after it."""


class NodeLifecycle:
    """Decides for every node."""

    def __init__(self, nodes: Cache[RunNode], leases: Cache[Lease]) -> None:
        self._nodes = nodes
        self._leases = leases

    def decide(self, key: Key, now: datetime) -> Decision:
        """Say what a silent node's condition is, and which taints follow from conditions."""
        node = self._nodes.get(key)
        if node is None or node.metadata.deletion_timestamp:
            return Decision()
        left_s = self._lease_left_s(key.name, now)
        is_silent = left_s is not None and left_s <= 0
        if is_silent and not _is(node, "Ready", "Unknown"):
            return Decision(actions=(_unknown(node, now),))
        wanted = _wanted_taints(node)
        kept = [
            taint for taint in node.spec.taints or () if taint.key not in OURS or (taint.key, taint.effect) in wanted
        ]
        present = {(taint.key, taint.effect) for taint in kept}
        added = [TimedTaint(key=k, effect=e, time_added=now) for k, e in sorted(wanted - present)]
        actions: tuple[Action, ...] = ()
        if added or len(kept) != len(node.spec.taints or ()):
            actions = (_taint(node, (*kept, *added)),)
        return Decision(actions=actions, again_in_s=left_s + MARGIN_S if left_s is not None and left_s > 0 else None)

    def _lease_left_s(self, name: str, now: datetime) -> float | None:
        lease = self._leases.get(Key(LEASE_NAMESPACE, name))
        if lease is None or lease.spec.renew_time is None:
            return None
        ends = lease.spec.renew_time + timedelta(seconds=lease.spec.lease_duration_seconds)
        return (ends - now).total_seconds()


class TaintEvictions:
    """Decides for every pod: whether it must leave its node, and when."""

    def __init__(self, pods: Cache[RunPod], nodes: Cache[RunNode], *, speed: float = 1.0) -> None:
        self._pods = pods
        self._nodes = nodes
        self._speed = speed

    def decide(self, key: Key, now: datetime) -> Decision:
        """Say that the pod of a silent node is not Ready, and evict what tolerates a taint no longer."""
        pod = self._pods.get(key)
        node = self._nodes.get(Key("", pod.spec.node_name)) if pod is not None and pod.spec.node_name else None
        if pod is None or node is None or not is_active(pod):
            return Decision()
        actions: list[Action] = []
        if ready_since(pod) is not None and _is(node, "Ready", "Unknown"):
            actions.append(_unready(pod, now))
        left_s = self._left_s(pod, node, now)
        if left_s is not None and left_s <= 0:
            return Decision(actions=(_targeted(pod, now), _remove(pod)) if not actions else tuple(actions))
        return Decision(actions=tuple(actions), again_in_s=left_s)

    def _left_s(self, pod: RunPod, node: RunNode, now: datetime) -> float | None:
        """Seconds that the pod may stay; None is for ever."""
        left: list[float] = []
        for taint in evicting_taints(node):
            matching = [each for each in pod.spec.tolerations or () if tolerates((each,), taint)]
            limits = [each.toleration_seconds for each in matching if each.toleration_seconds is not None]
            if matching and not limits:
                continue
            stay_s = max(min(limits), 0) / self._speed if limits else 0.0
            left.append(((taint.time_added or now) + timedelta(seconds=stay_s) - now).total_seconds())
        return min(left, default=None)


def evicting_taints(node: RunNode | None) -> list[TimedTaint]:
    """Taints that pods must tolerate to stay."""
    return [] if node is None else [taint for taint in node.spec.taints or () if taint.effect == "NoExecute"]


def _is(node: RunNode, type_: str, status: str) -> bool:
    return any((each.type, each.status) == (type_, status) for each in node.status.conditions or ())


def _wanted_taints(node: RunNode) -> set[tuple[str, str]]:
    keys = {taint for condition, taint in BY_CONDITION.items() if _is(node, *condition)}
    wanted = {(key, "NoSchedule") for key in keys} | {(key, "NoExecute") for key in keys if key in EVICTING}
    return wanted | ({(UNSCHEDULABLE, "NoSchedule")} if node.spec.unschedulable else set())


def _unknown(node: RunNode, now: datetime) -> Patch:
    condition = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": timestamp(now),
    }
    body = {"metadata": {"uid": node.metadata.uid}, "status": {"conditions": [condition]}}
    return Patch(resource=NODES, key=node.metadata.key, body=body, subresource="status", content_type=STRATEGIC_PATCH)


def _taint(node: RunNode, taints: Iterable[TimedTaint]) -> Patch:
    body = {
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "spec": {"taints": [_written(taint) for taint in taints] or None},
    }
    return Patch(resource=NODES, key=node.metadata.key, body=body)


def _written(taint: TimedTaint) -> dict[str, Any]:
    written: dict[str, Any] = {"key": taint.key, "effect": taint.effect}
    if taint.value:
        written["value"] = taint.value
    return written | ({"timeAdded": timestamp(taint.time_added)} if taint.time_added else {})


def _unready(pod: RunPod, now: datetime) -> Patch:
    return _condition(pod, now, type="Ready", status="False", reason="NodeNotReady", message="Node is not ready")


def _targeted(pod: RunPod, now: datetime) -> Patch:
    why = {"reason": "DeletionByTaintManager", "message": "Taint manager: deleting due to NoExecute taint"}
    return _condition(pod, now, type="DisruptionTarget", status="True", **why)


def _condition(pod: RunPod, now: datetime, **condition: str) -> Patch:
    conditions = [condition | {"lastTransitionTime": timestamp(now)}]
    body = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": conditions}}
    return Patch(resource=PODS, key=pod.metadata.key, body=body, subresource="status", content_type=STRATEGIC_PATCH)


def _remove(pod: RunPod) -> Delete:
    return Delete(resource=PODS, key=pod.metadata.key, uid=pod.metadata.uid)

"""Pods that must leave their node: it is gone, or tainted (kube-controller-manager podgc, tainteviction)."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from gangline.contract.meta import Key
from gangline.contract.selectors import tolerates
from gangline.contract.timestamps import timestamp
from gangline.sandbox.controllers.pods import is_active
from gangline.sandbox.objects.core import RunNode, RunPod, TimedTaint, has_condition
from gangline.sandbox.objects.podstate import is_finished, ready_since
from gangline.sandbox.reconciling.actions import Decision, Note, Patch, delete, report
from gangline.sandbox.reconciling.world import World


class Evictions:
    """Decides for every pod; remembers since when nodes are missing."""

    def __init__(self) -> None:
        self._missing_since: dict[str, datetime] = {}

    def decide(self, pod: RunPod, world: World) -> Decision:
        """Say whether a pod must leave its node, and when."""
        if not pod.spec.node_name:
            return Decision()
        node = world.node(pod)
        if node is None:
            return self._lose(pod, pod.spec.node_name, world)
        self._missing_since.pop(node.metadata.name, None)
        return _leave(pod, node, world) if is_active(pod) else Decision()

    def _lose(self, pod: RunPod, node: str, world: World) -> Decision:
        """Have a pod Failed and then removed once its node has been missing for long enough."""
        since = self._missing_since.setdefault(node, world.now)
        left_s = (since + timedelta(seconds=world.pace.lost_node_s) - world.now).total_seconds()
        if left_s > 0:
            return Decision(again_in_s=left_s)
        if is_finished(pod):
            return Decision(actions=(delete(pod, grace_period_s=0),))
        why = ("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists")
        return Decision(actions=(_told(pod, world, *why, phase="Failed"),))


def wake_pods_of(world: World, node: RunNode) -> Iterable[Key]:
    """Name the pods of a node that is gone or has taints that not every pod tolerates."""
    current = world.all(RunNode).get(node.metadata.key)
    must_some_go = current is None or (current is node and _evicting_taints(node))
    return [pod.metadata.key for pod in world.pods_on(node.metadata.name)] if must_some_go else []


def _evicting_taints(node: RunNode) -> list[TimedTaint]:
    """Taints that pods must tolerate to stay."""
    return [taint for taint in node.spec.taints or () if taint.effect == "NoExecute"]


def _leave(pod: RunPod, node: RunNode, world: World) -> Decision:
    """Say that the pod of a silent node is not Ready, and evict what does not tolerate a taint, or no longer."""
    left_s = _left_s(pod, node, world)
    if ready_since(pod) is not None and has_condition(node, "Ready", "Unknown"):
        return Decision(
            actions=(_told(pod, world, "Ready", "False", "NodeNotReady", "Node is not ready"),),
            again_in_s=left_s if left_s is not None and left_s > 0 else None,
        )
    if left_s is None or left_s > 0:
        return Decision(again_in_s=left_s)
    why = ("DisruptionTarget", "True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
    note = Note("TaintManagerEviction", f"Marking for deletion Pod {pod.metadata.key}")
    return Decision(actions=(_told(pod, world, *why), delete(pod)), notes=(note,))


def _left_s(pod: RunPod, node: RunNode, world: World) -> float | None:
    """Seconds that the pod may stay; None is for ever."""
    left: list[float] = []
    for taint in _evicting_taints(node):
        matching = [each for each in pod.spec.tolerations or () if tolerates((each,), taint)]
        limits = [each.toleration_seconds for each in matching if each.toleration_seconds is not None]
        if matching and not limits:
            continue
        stay_s = max(min(limits), 0) / world.pace.speed if limits else 0.0
        left.append(stay_s - (world.now - (taint.time_added or world.now)).total_seconds())
    return min(left, default=None)


def _told(pod: RunPod, world: World, type_: str, status: str, reason: str, message: str, **more: Any) -> Patch:
    condition = {"type": type_, "status": status, "reason": reason, "message": message}
    return report(pod, conditions=[condition | {"lastTransitionTime": timestamp(world.now)}], **more)

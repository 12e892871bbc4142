"""Nodes: capacity stands in for allocatable, and new nodes may start with the not-ready taint."""

from gangline.sandbox.apiserver.strategies.strategy import Strategy, Write

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def _prepare(write: Write) -> None:
    new = write.new
    if write.old is None and write.state.taint_new_nodes:
        spec = new.setdefault("spec", {})
        taints = spec.setdefault("taints", [])
        if not any(taint.get("key") == _NOT_READY["key"] for taint in taints):
            taints.append(dict(_NOT_READY))
    status = new.get("status") or {}
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


STRATEGY = Strategy(prepare=_prepare)

"""Nodes: capacity stands in for allocatable. Taints are left to the controller of nodes."""

from gangline.sandbox.apiserver.strategies.strategy import Strategy, Write


def _prepare(write: Write) -> None:
    status = write.new.get("status") or {}
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


STRATEGY = Strategy(prepare=_prepare)

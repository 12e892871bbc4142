"""How far a pod has come, read from its status."""

from datetime import UTC, datetime
from typing import Final

from gangline.contract.pod import FINISHED_PHASES
from gangline.sandbox.objects.core import RunPod

EPOCH: Final = datetime.fromtimestamp(0, UTC)
"""Stands for times that are not known."""


def is_finished(pod: RunPod) -> bool:
    """Tell whether the pod has ended for good."""
    return pod.status.phase in FINISHED_PHASES


def is_running(pod: RunPod) -> bool:
    """Tell whether the pod's containers have started and not ended."""
    return pod.status.phase == "Running"


def ready_since(pod: RunPod) -> datetime | None:
    """Tell since when the pod is Ready; None if it is not."""
    for condition in pod.status.conditions or ():
        if condition.type == "Ready" and condition.status == "True":
            return condition.last_transition_time or EPOCH
    return None


def is_backing_off(pod: RunPod) -> bool:
    """Tell whether the pod's containers have exited and will be started again."""
    return is_running(pod) and not any(s.state and s.state.running for s in pod.status.container_statuses or ())


def restarts(pod: RunPod) -> int:
    """Tell how often the pod's containers have been started again."""
    return max((status.restart_count or 0 for status in pod.status.container_statuses or ()), default=0)


def started_at(pod: RunPod) -> datetime | None:
    """Tell when the containers started, to the second."""
    running = [s.state.running for s in pod.status.container_statuses or () if s.state and s.state.running]
    return max((state.started_at for state in running if state.started_at), default=pod.status.start_time)

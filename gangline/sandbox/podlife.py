"""The life of a pod on a simulated node, as pure functions from what is to the status that comes next.

    bound -> ContainerCreating -> Running -> Succeeded | Failed      (Failed at once when the pod does not fit)

A pod says by annotation how it behaves; without any it starts at once and runs for ever:

| annotation | meaning | default |
|---|---|---|
| `sandbox.gangline.dev/start-delay-seconds` | how long the containers take to start | 0 |
| `sandbox.gangline.dev/run-seconds` | how long they run; then the pod is finished, whatever its restartPolicy | for ever |
| `sandbox.gangline.dev/exit-code` | what they exit with, 0 is Succeeded; also when the pod is deleted | 0, deleted: 143 |
"""

import math
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct

from gangline.sandbox.objects import RunPod, timestamp

START_DELAY_ANNOTATION: Final = "sandbox.gangline.dev/start-delay-seconds"
RUN_SECONDS_ANNOTATION: Final = "sandbox.gangline.dev/run-seconds"
EXIT_CODE_ANNOTATION: Final = "sandbox.gangline.dev/exit-code"
TERMINATED_BY_SIGNAL: Final = 143
FINISHED_PHASES: Final = ("Succeeded", "Failed")

Status = dict[str, Any]


class Behaviour(Struct, frozen=True, kw_only=True):
    """How a pod wants to live."""

    start_delay_s: float = 0.0
    run_s: float | None = None
    exit_code: int | None = None


class Rejection(Struct, frozen=True, kw_only=True):
    """Why a node will not run a pod."""

    reason: str
    message: str


def behaviour_of(pod: RunPod) -> Behaviour | Rejection:
    """Read the annotations; an illegal value rejects the pod."""
    annotations = pod.metadata.annotations or {}
    try:
        return Behaviour(
            start_delay_s=_seconds(annotations, START_DELAY_ANNOTATION) or 0.0,
            run_s=_seconds(annotations, RUN_SECONDS_ANNOTATION),
            exit_code=_exit_code(annotations),
        )
    except ValueError as error:
        return Rejection(reason="InvalidAnnotation", message=str(error))


def _seconds(annotations: dict[str, str], name: str) -> float | None:
    text = annotations.get(name)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= timedelta.max.days:
        raise ValueError(f"annotation {name} is {text!r}: give a number of seconds, 0 or more")
    return seconds


def _exit_code(annotations: dict[str, str]) -> int | None:
    text = annotations.get(EXIT_CODE_ANNOTATION)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= 255):
        raise ValueError(f"annotation {EXIT_CODE_ANNOTATION} is {text!r}: give a whole number from 0 to 255")
    return int(text)


def is_finished(pod: RunPod) -> bool:
    """Tell whether the pod has ended for good."""
    return pod.status.phase in FINISHED_PHASES


def is_running(pod: RunPod) -> bool:
    """Tell whether the pod's containers have started and not ended."""
    return pod.status.phase == "Running"


def started_at(pod: RunPod) -> datetime | None:
    """Tell when the containers started, to the second."""
    running = [s.state.running for s in pod.status.container_statuses or () if s.state and s.state.running]
    return max((state.started_at for state in running if state.started_at), default=pod.status.start_time)


def creating(pod: RunPod, now: datetime) -> Status:
    """Status of a pod that the node has accepted."""
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    return {
        "phase": "Pending",
        "startTime": timestamp(now),
        "hostIP": _host_ip(pod),
        "conditions": _conditions(now, initialized=True, ready=False, reason="ContainersNotReady"),
        "containerStatuses": _container_statuses(pod, waiting, running=False),
    }


def running(pod: RunPod, now: datetime) -> Status:
    """Status of a pod whose containers have started."""
    address = pod_ip(pod)
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions(now, initialized=True, ready=True),
        "containerStatuses": _container_statuses(pod, {"running": {"startedAt": timestamp(now)}}, running=True),
    }


def finished(pod: RunPod, exit_code: int, now: datetime) -> Status:
    """Status of a pod whose containers have exited, or never started."""
    succeeded = exit_code == 0
    began = started_at(pod) or now
    terminated = {
        "exitCode": exit_code,
        "reason": "Completed" if succeeded else "Error",
        "startedAt": timestamp(began),
        "finishedAt": timestamp(now),
    }
    reason = "PodCompleted" if succeeded else "PodFailed"
    return {
        "phase": "Succeeded" if succeeded else "Failed",
        "conditions": _conditions(now, initialized=True, ready=False, reason=reason),
        "containerStatuses": _container_statuses(pod, {"terminated": terminated}, running=False),
    }


def rejected(rejection: Rejection, now: datetime) -> Status:
    """Status of a pod that its node will not run; it stays failed, nobody tries it again."""
    return {
        "phase": "Failed",
        "reason": rejection.reason,
        "message": f"Pod was rejected: {rejection.message}",
        "startTime": timestamp(now),
    }


def pod_ip(pod: RunPod) -> str:
    """Make up an address; equal for equal UIDs."""
    return "10." + ".".join(str(byte) for byte in blake2b(pod.metadata.uid.encode(), digest_size=3).digest())


def _host_ip(pod: RunPod) -> str:
    digest = blake2b((pod.spec.node_name or "").encode(), digest_size=2).digest()
    return f"172.16.{digest[0]}.{digest[1]}"


def _conditions(now: datetime, *, initialized: bool, ready: bool, reason: str | None = None) -> list[Status]:
    wanted = {
        "PodReadyToStartContainers": ready,
        "Initialized": initialized,
        "Ready": ready,
        "ContainersReady": ready,
    }
    return [
        {"type": type_, "status": str(is_true), "lastTransitionTime": timestamp(now)}
        | ({} if is_true or reason is None else {"reason": reason})
        for type_, is_true in wanted.items()
    ]


def _container_statuses(pod: RunPod, state: Status, *, running: bool) -> list[Status]:
    return [
        {
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "ready": running,
            "started": running,
            "restartCount": 0,
            "state": state,
        }
        for container in pod.spec.containers or ()
    ]

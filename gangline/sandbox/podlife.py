"""The life of a pod on a simulated node, as pure functions from what is to the status that comes next.

    bound -> ContainerCreating -> Running -> Succeeded | Failed      (Failed at once when the pod does not fit)
                                   |   ^
                                   v   |  as restartPolicy says
                              CrashLoopBackOff

A pod says by annotation how it behaves; without any it starts at once and runs for ever:

| annotation | meaning | default |
|---|---|---|
| `sandbox.gangline.dev/start-delay-seconds` | how long the containers take to start | 0 |
| `sandbox.gangline.dev/ready-delay-seconds` | how long after that the pod is Ready | 0 |
| `sandbox.gangline.dev/run-seconds` | how long they run | for ever |
| `sandbox.gangline.dev/exit-code` | what they exit with, 0 is Succeeded; also when the pod is deleted | 0, deleted: 143 |
"""

import math
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct

from gangline.sandbox.objects import RunPod, timestamp, wire

START_DELAY_ANNOTATION: Final = "sandbox.gangline.dev/start-delay-seconds"
READY_DELAY_ANNOTATION: Final = "sandbox.gangline.dev/ready-delay-seconds"
RUN_SECONDS_ANNOTATION: Final = "sandbox.gangline.dev/run-seconds"
EXIT_CODE_ANNOTATION: Final = "sandbox.gangline.dev/exit-code"
TERMINATED_BY_SIGNAL: Final = 143
FINISHED_PHASES: Final = ("Succeeded", "Failed")
FIRST_BACKOFF_S: Final = 10.0
LAST_BACKOFF_S: Final = 300.0

Status = dict[str, Any]


class Behaviour(Struct, frozen=True, kw_only=True):
    """How a pod wants to live."""

    start_delay_s: float = 0.0
    ready_delay_s: float = 0.0
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
            ready_delay_s=_seconds(annotations, READY_DELAY_ANNOTATION) or 0.0,
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


def is_ready(pod: RunPod) -> bool:
    """Tell whether the pod is Ready."""
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions or ())


def is_backing_off(pod: RunPod) -> bool:
    """Tell whether the pod's containers have exited and will be started again."""
    return is_running(pod) and not any(s.state and s.state.running for s in pod.status.container_statuses or ())


def restarts(pod: RunPod) -> int:
    """Tell how often the pod's containers have been started again."""
    return max((status.restart_count or 0 for status in pod.status.container_statuses or ()), default=0)


def restart_delay_s(pod: RunPod) -> float:
    """Seconds before containers that have exited start again: none the first time, then ever more."""
    count = restarts(pod)
    return min(FIRST_BACKOFF_S * 2.0 ** min(count - 2, 10), LAST_BACKOFF_S) if count > 1 else 0.0


def restarts_after(pod: RunPod, exit_code: int) -> bool:
    """Tell whether containers that exit with this code are started again."""
    policy = pod.spec.restart_policy
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


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


def running(pod: RunPod, now: datetime, *, ready: bool = True) -> Status:
    """Status of a pod whose containers have started."""
    address = pod_ip(pod)
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions(now, initialized=True, ready=ready, reason="ContainersNotReady"),
        "containerStatuses": _container_statuses(pod, {"running": {"startedAt": timestamp(now)}}, running=ready),
    }


def made_ready(pod: RunPod, now: datetime) -> Status:
    """Status of a running pod that is Ready from now on."""
    return running(pod, now) | {
        "containerStatuses": _container_statuses(
            pod, {"running": {"startedAt": timestamp(started_at(pod) or now)}}, running=True
        )
    }


def backing_off(pod: RunPod, now: datetime, *, exit_code: int) -> Status:
    """Status of a pod whose containers have exited and will be started again."""
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "waits before it is started again"}}
    last = {"terminated": _terminated(pod, exit_code, now)}
    return {
        "phase": "Running",
        "conditions": _conditions(now, initialized=True, ready=False, reason="ContainersNotReady"),
        "containerStatuses": [
            status | {"restartCount": status["restartCount"] + 1, "lastState": last}
            for status in _container_statuses(pod, waiting, running=False)
        ],
    }


def finished(pod: RunPod, now: datetime, *, exit_code: int) -> Status:
    """Status of a pod whose containers have exited, or never started."""
    succeeded = exit_code == 0
    reason = "PodCompleted" if succeeded else "PodFailed"
    return {
        "phase": "Succeeded" if succeeded else "Failed",
        "conditions": _conditions(now, initialized=True, ready=False, reason=reason),
        "containerStatuses": _container_statuses(pod, {"terminated": _terminated(pod, exit_code, now)}, running=False),
    }


def _terminated(pod: RunPod, exit_code: int, now: datetime) -> Status:
    return {
        "exitCode": exit_code,
        "reason": "Completed" if exit_code == 0 else "Error",
        "startedAt": timestamp(started_at(pod) or now),
        "finishedAt": timestamp(now),
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
    """Statuses of all containers, with what was counted of them before."""
    before = {status.name: status for status in pod.status.container_statuses or ()}
    statuses = []
    for container in pod.spec.containers or ():
        old = before.get(container.name)
        last = old.last_state if old is not None else None
        statuses.append(
            {
                "name": container.name,
                "image": container.image,
                "imageID": "",
                "ready": running,
                "started": "running" in state,
                "restartCount": (old.restart_count if old is not None else None) or 0,
                "state": state,
                **({"lastState": wire(last)} if last is not None else {}),
            }
        )
    return statuses

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

from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gangline.contract.timestamps import timestamp
from gangline.sandbox.objects.core import RunPod, RunStatus
from gangline.sandbox.objects.podstate import restarts, started_at
from gangline.sandbox.objects.writing import wire

START_DELAY_ANNOTATION: Final = "sandbox.gangline.dev/start-delay-seconds"
READY_DELAY_ANNOTATION: Final = "sandbox.gangline.dev/ready-delay-seconds"
RUN_SECONDS_ANNOTATION: Final = "sandbox.gangline.dev/run-seconds"
EXIT_CODE_ANNOTATION: Final = "sandbox.gangline.dev/exit-code"
TERMINATED_BY_SIGNAL: Final = 143
REJECTED: Final = "Pod was rejected: "
FIRST_BACKOFF_S: Final = 10.0
LAST_BACKOFF_S: Final = 300.0


Status = dict[str, Any]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
ExitCode = Annotated[int, Meta(ge=0, le=255)]


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
            start_delay_s=_read(annotations, START_DELAY_ANNOTATION, Seconds) or 0.0,
            ready_delay_s=_read(annotations, READY_DELAY_ANNOTATION, Seconds) or 0.0,
            run_s=_read(annotations, RUN_SECONDS_ANNOTATION, Seconds),
            exit_code=_read(annotations, EXIT_CODE_ANNOTATION, ExitCode),
        )
    except ValueError as error:
        return Rejection(reason="InvalidAnnotation", message=str(error))


def _read(annotations: dict[str, str], name: str, legal: Any) -> Any:
    text = annotations.get(name)
    try:
        return None if text is None else msgspec.convert(text, legal, strict=False)
    except msgspec.ValidationError:
        wanted = "a whole number from 0 to 255" if legal is ExitCode else "a number of seconds, 0 or more"
        raise ValueError(f"annotation {name} is {text!r}: give {wanted}") from None


def restart_delay_s(pod: RunPod) -> float:
    """Seconds before containers that have exited start again: none the first time, then ever more."""
    count = restarts(pod)
    return min(FIRST_BACKOFF_S * 2.0 ** min(count - 2, 10), LAST_BACKOFF_S) if count > 1 else 0.0


def restarts_after(pod: RunPod, exit_code: int) -> bool:
    """Tell whether containers that exit with this code are started again."""
    policy = pod.spec.restart_policy
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def creating(pod: RunPod, now: datetime) -> Status:
    """Status of a pod that the node has accepted."""
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    return {"phase": "Pending", "startTime": timestamp(now), "hostIP": node_ip(pod.spec.node_name or "")} | _state(
        pod, now, waiting
    )


def running(pod: RunPod, now: datetime, *, ready: bool = True, since: datetime | None = None) -> Status:
    """Status of a pod whose containers have started."""
    address = _pod_ip(pod)
    state = {"running": {"startedAt": timestamp(since or now)}}
    return {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]} | _state(pod, now, state, ready=ready)


def made_ready(pod: RunPod, now: datetime) -> Status:
    """Status of a running pod that is Ready from now on."""
    return running(pod, now, since=started_at(pod))


def backing_off(pod: RunPod, now: datetime, *, exit_code: int) -> Status:
    """Status of a pod whose containers have exited and will be started again."""
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "waits before it is started again"}}
    status = _state(pod, now, waiting)
    for each in status["containerStatuses"]:
        each["restartCount"] += 1
        each["lastState"] = {"terminated": _terminated(pod, exit_code, now)}
    return {"phase": "Running"} | status


def finished(pod: RunPod, now: datetime, *, exit_code: int) -> Status:
    """Status of a pod whose containers have exited, or never started."""
    phase, reason = ("Failed", "PodFailed") if exit_code else ("Succeeded", "PodCompleted")
    return {"phase": phase} | _state(pod, now, {"terminated": _terminated(pod, exit_code, now)}, reason=reason)


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
        "message": REJECTED + rejection.message,
        "startTime": timestamp(now),
    }


def _pod_ip(pod: RunPod) -> str:
    """Make up an address; equal for equal UIDs."""
    return "10." + ".".join(str(byte) for byte in blake2b(pod.metadata.uid.encode(), digest_size=3).digest())


def node_ip(node: str) -> str:
    """Make up an address; equal for equal names."""
    return "172.16." + ".".join(str(byte) for byte in blake2b(node.encode(), digest_size=2).digest())


def _state(
    pod: RunPod, now: datetime, state: Status, *, ready: bool = False, reason: str = "ContainersNotReady"
) -> Status:
    """Conditions, and statuses of all containers, with what was counted of them before."""
    wanted = {"PodReadyToStartContainers": ready, "Initialized": True, "Ready": ready, "ContainersReady": ready}
    conditions = [
        {"type": type_, "status": str(is_true), "lastTransitionTime": timestamp(now)}
        | ({} if is_true else {"reason": reason})
        for type_, is_true in wanted.items()
    ]
    before = {status.name: status for status in pod.status.container_statuses or ()}
    statuses = [
        {
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "ready": ready,
            "started": "running" in state,
            "restartCount": old.restart_count or 0,
            "state": state,
            **({"lastState": wire(old.last_state)} if old.last_state is not None else {}),
        }
        for container in pod.spec.containers or ()
        for old in (before.get(container.name, RunStatus()),)
    ]
    return {"conditions": conditions, "containerStatuses": statuses}

"""How the members of a gang are counted, by the scheduler and the controller alike.

Every function is one or two linear passes over the gang.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from gangline.contract.meta import ObjectMeta, created_time, epoch_seconds
from gangline.contract.pod import FINISHED_PHASES, ContainerStatus, Pod


class PodPhase(StrEnum):
    """Phases of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


# Bound once and compared by identity: a gang may have thousands of members, and enums hash and compare in Python.
_RUNNING: Final = PodPhase.RUNNING
_SUCCEEDED: Final = PodPhase.SUCCEEDED
_FAILED: Final = PodPhase.FAILED
_PHASES: Final = {phase.value: phase for phase in PodPhase} | {"": PodPhase.PENDING}


class Countable(Protocol):
    """What counting reads of a linked pod."""

    @property
    def uid(self) -> str:
        """Identity."""
        ...

    @property
    def created_s(self) -> float:
        """Seconds since 1970."""
        ...

    @property
    def finished_s(self) -> float | None:
        """Seconds since 1970, None while it has not finished."""
        ...

    @property
    def phase(self) -> PodPhase:
        """Phase of the pod."""
        ...

    @property
    def node(self) -> str:
        """Node it is bound to, or empty."""
        ...

    @property
    def deleting(self) -> bool:
        """It has a deletionTimestamp."""
        ...

    @property
    def gated(self) -> bool:
        """It has scheduling gates."""
        ...

    @property
    def job(self) -> str:
        """UID of the Job that owns it, or empty."""
        ...

    @property
    def ours(self) -> bool:
        """It names one of our schedulers."""
        ...

    @property
    def priority(self) -> int:
        """Its `spec.priority`."""
        ...


M = TypeVar("M", bound=Countable)


class MemberFacts(Struct, frozen=True, kw_only=True):
    """A Countable as plain values."""

    uid: str
    created_s: float
    finished_s: float | None = None
    phase: PodPhase = PodPhase.PENDING
    node: str = ""
    deleting: bool = False
    gated: bool = False
    job: str = ""
    ours: bool = True
    priority: int = 0


class Counts(Struct, frozen=True, kw_only=True):
    """Figures of one run."""

    unfinished: int = 0
    bound: int = 0
    """Unfinished members with a node."""
    running: int = 0
    succeeded: int = 0
    failed: int = 0

    @property
    def waiting(self) -> int:
        """Unfinished members without a node."""
        return self.unfinished - self.bound

    @property
    def scheduled(self) -> int:
        """The figure that the PodGroup's status calls `scheduled`: the bound ones."""
        return self.bound


def facts_of(pod: Pod, scheduler_names: Collection[str]) -> MemberFacts:
    """Read what counting needs of a pod; a phase that nobody knows counts as Unknown."""
    return MemberFacts(
        uid=pod.metadata.uid,
        created_s=created_time(pod.metadata),
        finished_s=finished_time(pod),
        phase=_PHASES.get(pod.status.phase or "", PodPhase.UNKNOWN),
        node=pod.spec.node_name or "",
        deleting=pod.metadata.deletion_timestamp is not None,
        gated=bool(pod.spec.scheduling_gates),
        job=owning_job(pod.metadata),
        ours=(pod.spec.scheduler_name or "") in scheduler_names,
        priority=pod.spec.priority or 0,
    )


def finished_time(pod: Pod) -> float | None:
    """Seconds since 1970 at which a finished pod finished, None for one that has not.

    The latest end of a container; for a pod that never had one (evicted, rejected by its node) the latest
    change of a condition, else its creation.
    """
    if pod.status.phase not in FINISHED_PHASES:
        return None
    statuses = (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ()))
    ends = [end for status in statuses if (end := _container_end(status)) > 0]
    changes = [epoch_seconds(c.last_transition_time) for c in pod.status.conditions or () if c.last_transition_time]
    return max(ends or changes or [created_time(pod.metadata)])


def owning_job(metadata: ObjectMeta) -> str:
    """UID of the Job that controls a pod, or empty."""
    owner = metadata.controller
    return owner.uid if owner is not None and owner.kind == "Job" and owner.api_version.startswith("batch/") else ""


def is_finished(member: Countable) -> bool:
    """Tell whether the pod has succeeded or failed."""
    phase = member.phase
    return phase is _SUCCEEDED or phase is _FAILED


def is_foreign(member: Countable) -> bool:
    """Tell whether the pod waits for a scheduler that is none of ours: it counts only once it is bound."""
    return not member.ours and not member.node


def is_member(member: Countable) -> bool:
    """Tell whether a linked pod counts at all: a gated one is no member yet, a deleting one no longer."""
    return not member.gated and not member.deleting


def current_run(members: Iterable[M]) -> list[M]:
    """Return those who count now, in the order given.

    A finished member counts only in the current run: it belongs to the Job of an unfinished member, or it
    finished after the oldest unfinished member was created. With no unfinished member, all count. Times are whole
    seconds; in the very second one that has failed counts, for a kubelet may reject a member as soon as that, and one
    that has succeeded does not, for it would open the quorum.
    """
    counted = [member for member in members if is_member(member) and not is_foreign(member)]
    unfinished = [member for member in counted if not is_finished(member)]
    if not unfinished or len(unfinished) == len(counted):
        return counted
    started_s = min(member.created_s for member in unfinished)
    jobs = {member.job for member in unfinished if member.job}
    return [
        member
        for member in counted
        if not is_finished(member) or member.job in jobs or _finished_after(member, started_s)
    ]


def count(members: Iterable[Countable]) -> Counts:
    """Count the members of one run, as `current_run` returns them."""
    unfinished = bound = running = succeeded = failed = 0
    for member in members:
        phase = member.phase
        if phase is _SUCCEEDED:
            succeeded += 1
        elif phase is _FAILED:
            failed += 1
        else:
            unfinished += 1
            running += phase is _RUNNING
            bound += member.node != ""
    return Counts(
        unfinished=unfinished,
        bound=bound,
        running=running,
        succeeded=succeeded,
        failed=failed,
    )


def need(min_member: int | None, counts: Counts) -> int:
    """How many more members must be bound for the quorum; a `minMember` that is absent or below 1 is 1."""
    return max(quorum(min_member) - counts.bound - counts.succeeded, 0)


def quorum(min_member: int | None) -> int:
    """Read `minMember`: absent or below 1 is 1."""
    return max(min_member or 1, 1)


def is_mismatched(member: Countable) -> bool:
    """Tell whether a member waits for a scheduler that is none of ours; the group then says `SchedulerMismatch`."""
    return is_member(member) and is_foreign(member) and not is_finished(member)


def _finished_after(member: Countable, time_s: float) -> bool:
    finished_s = member.finished_s
    if finished_s is None:
        return False
    return finished_s > time_s or (finished_s == time_s and member.phase is _FAILED)


def _container_end(status: ContainerStatus) -> float:
    """Return when a container ended; not above 0 if unknown (the kubelet writes the year 1 then)."""
    terminated = status.state.terminated if status.state else None
    return epoch_seconds(terminated.finished_at) if terminated and terminated.finished_at else 0.0

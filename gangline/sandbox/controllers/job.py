"""Jobs: run pods until enough have succeeded or too many have failed.

Pods carry no tracking finalizer. Instead `Jobs` remembers how each pod that it has seen ended, and never counts
below what the status already says, so pods that are deleted after their end stay counted.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, structs

from gangline.contract.conditions import merged
from gangline.contract.meta import Condition
from gangline.sandbox.controllers import failurepolicy, indexed
from gangline.sandbox.controllers.ownership import controlled
from gangline.sandbox.controllers.pods import BURST, is_active, make_pod, removal_order
from gangline.sandbox.objects.batch import Job, JobStatus
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.podstate import is_finished, ready_since, restarts
from gangline.sandbox.reconciling.actions import Action, Decision, Note, delete, set_status
from gangline.sandbox.reconciling.world import World

BACKOFF_LIMIT_S: Final = 600.0
ANNOUNCED: Final = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}
"""Conditions that say how a Job ends before its last pod has gone, and those that say it then."""


class Tally:
    """How the pods of one Job ended."""

    def __init__(self) -> None:
        self.succeeded: dict[str, int | None] = {}
        """Completion index by pod UID."""
        self.failed: dict[str, RunPod] = {}
        """As they were last seen, by UID."""
        self.dismissed: set[str] = set()
        """Pods that the controller itself has removed: their end is no failure."""
        self.stopped: dict[str, bool] = {}
        """Pods that were removed because the Job ended, and whether they have ended: counted as failed, and no reason to fail."""
        self.last_failure: tuple[int, datetime] | None = None
        """Number of failures when there was last one more, and when that was."""

    def note(self, pod: RunPod, *, is_gone: bool) -> None:
        """Note how a pod ended; one that is gone before it finished has failed."""
        if pod.status.phase == "Succeeded":
            self.succeeded[pod.metadata.uid] = indexed.index_of(pod)
        elif (pod.status.phase == "Failed" or is_gone) and pod.metadata.uid in self.stopped:
            self.stopped[pod.metadata.uid] = True
        elif (pod.status.phase == "Failed" or is_gone) and pod.metadata.uid not in self.dismissed:
            self.failed[pod.metadata.uid] = pod


class Count(Struct, frozen=True, kw_only=True):
    """A Job's pods at one moment."""

    active: tuple[RunPod, ...]
    terminating: int
    succeeded: int
    failed: int
    stopped: int
    """How many of those have failed because the Job ended."""
    completed: frozenset[int]
    fatal: str | None
    """Why the Job fails at once."""
    restarts: int


class Jobs:
    """Decides for every Job; remembers how pods ended."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}

    def observe(self, old: RunPod | None, new: RunPod | None) -> None:
        """Note how a pod ended, if it is of a Job that has been decided about and is still there."""
        pod = new or old
        owner = pod.metadata.controller if pod is not None else None
        if pod is not None and owner is not None and owner.uid in self._tallies:
            self._tallies[owner.uid].note(pod, is_gone=new is None)

    def forget(self, old: Job | None, new: Job | None) -> None:
        """Drop what is remembered of a Job that is gone."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._tallies.pop(old.metadata.uid, None)

    def decide(self, job: Job, world: World) -> Decision:
        """Say which pods to make and remove, and what the status is."""
        if job.metadata.deletion_timestamp:
            return Decision()
        if ended(job):
            return _expire(job, world)
        pods = controlled(job, world.all(RunPod))
        tally = self._tally(job, pods)
        count = _count(job, pods, tally)
        left_s = _until_deadline(job, world)
        verdict = _verdict(job, count, is_late=left_s is not None and left_s <= 0)
        actions, again_in_s = _fill(job, count, tally, world) if verdict is None else (_stop(count.active, tally), None)
        status = _status(job, count, verdict, world.now)
        written = set_status(job, status, "ready", "terminating", times="lastProbeTime", uncountedTerminatedPods={})
        waits = [wait for wait in (again_in_s, left_s) if wait is not None]
        notes = tuple(_notes(job, status)) if written else ()
        return Decision(actions=(*actions, *written), notes=notes, again_in_s=min(waits, default=None))

    def _tally(self, job: Job, pods: list[RunPod]) -> Tally:
        if job.metadata.uid not in self._tallies:
            tally = self._tallies[job.metadata.uid] = Tally()
            for pod in pods:
                tally.note(pod, is_gone=False)
        return self._tallies[job.metadata.uid]


def _fill(job: Job, count: Count, tally: Tally, world: World) -> tuple[tuple[Action, ...], float | None]:
    missing = _wanted(job, count) - len(count.active)
    if missing <= 0:
        return _dismiss(removal_order(count.active)[:-missing] if missing else (), tally), None
    wait_s = _backoff_left_s(count.failed, tally, world)
    if wait_s > 0:
        return (), wait_s
    return tuple(_make_pods(job, count, min(missing, BURST))), None


def _backoff_left_s(failed: int, tally: Tally, world: World) -> float:
    """Seconds until the next pod may be made: more with each failure, from the last one on."""
    if failed == 0:
        return 0.0
    if tally.last_failure is None or tally.last_failure[0] < failed:
        tally.last_failure = (failed, world.now)
    first_s = world.pace.job_backoff_s / world.pace.speed
    delay_s = min(first_s * 2.0 ** min(failed - 1, 30), BACKOFF_LIMIT_S)
    return (tally.last_failure[1] + timedelta(seconds=delay_s) - world.now).total_seconds()


def ended(job: Job, *types: str) -> bool:
    """Tell whether the Job is Complete or Failed, or which of them."""
    return any(c.type in (types or ANNOUNCED.values()) and c.status == "True" for c in job.status.conditions or ())


def _count(job: Job, pods: list[RunPod], tally: Tally) -> Count:
    completed = indexed.parse(job.status.completed_indexes)
    completed |= {index for index in tally.succeeded.values() if index is not None}
    is_indexed = job.spec.completion_mode == indexed.INDEXED
    succeeded = len(completed) if is_indexed else len(tally.succeeded)
    failures = [failurepolicy.judged(job, pod) for pod in tally.failed.values()]
    stopped = sum(tally.stopped.values())
    return Count(
        active=tuple(pod for pod in pods if is_active(pod)),
        terminating=sum(bool(pod.metadata.deletion_timestamp) and not is_finished(pod) for pod in pods),
        succeeded=max(succeeded, job.status.succeeded),
        failed=max(sum(failure.counts for failure in failures) + stopped, job.status.failed),
        stopped=stopped,
        completed=frozenset(completed if is_indexed else ()),
        fatal=next((failure.fatal for failure in failures if failure.fatal), None),
        restarts=sum(restarts(pod) for pod in pods if pod.spec.restart_policy == "OnFailure"),
    )


def _wanted(job: Job, count: Count) -> int:
    if job.spec.suspend:
        return 0
    if job.spec.completions is None:
        return min(job.spec.parallelism, len(count.active)) if count.succeeded else job.spec.parallelism
    return max(min(job.spec.parallelism, job.spec.completions - count.succeeded), 0)


def _make_pods(job: Job, count: Count, number: int) -> Iterable[Action]:
    template = job.spec.template
    if job.spec.completion_mode != indexed.INDEXED:
        return [make_pod(job, template)] * number
    taken = count.completed | {indexed.index_of(pod) for pod in count.active}
    free = [index for index in range(job.spec.completions or 0) if index not in taken]
    return [
        make_pod(job, indexed.template_for(template, job.metadata.name, index), f"{job.metadata.name}-{index}")
        for index in free[:number]
    ]


def _dismiss(pods: Iterable[RunPod], tally: Tally) -> tuple[Action, ...]:
    chosen = tuple(pods)
    tally.dismissed.update(pod.metadata.uid for pod in chosen)
    return tuple(delete(pod) for pod in chosen)


def _stop(pods: Iterable[RunPod], tally: Tally) -> tuple[Action, ...]:
    chosen = tuple(pods)
    for pod in chosen:
        tally.stopped.setdefault(pod.metadata.uid, False)
    return tuple(delete(pod) for pod in chosen)


def _verdict(job: Job, count: Count, *, is_late: bool) -> Condition | None:
    """Say how the Job ends, as the condition that announces it."""
    for condition in job.status.conditions or ():
        if condition.type in ANNOUNCED and condition.status == "True":
            return condition
    if count.fatal:
        return _true("FailureTarget", "PodFailurePolicy", count.fatal)
    if count.failed - count.stopped > job.spec.backoff_limit or count.restarts > job.spec.backoff_limit:
        return _true("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if is_late:
        return _true("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")
    if _has_enough(job, count):
        return _true("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def _true(type_: str, reason: str, message: str) -> Condition:
    return Condition(type=type_, status="True", reason=reason, message=message)


def _has_enough(job: Job, count: Count) -> bool:
    if job.spec.completions is None:
        return count.succeeded > 0 and not count.active
    return count.succeeded >= job.spec.completions


def _until_deadline(job: Job, world: World) -> float | None:
    if job.spec.active_deadline_seconds is None or job.status.start_time is None or job.spec.suspend:
        return None
    return _left_s(job.status.start_time, job.spec.active_deadline_seconds, world)


def _left_s(since: datetime, seconds: float, world: World) -> float:
    """Seconds that are left of so many that the Job names."""
    return seconds / world.pace.speed - (world.now - since).total_seconds()


def _status(job: Job, count: Count, verdict: Condition | None, now: datetime) -> JobStatus:
    is_over = verdict is not None and not count.active and not count.terminating
    return structs.replace(
        job.status,
        active=len(count.active),
        ready=sum(ready_since(pod) is not None for pod in count.active),
        terminating=count.terminating,
        succeeded=count.succeeded,
        failed=count.failed,
        completed_indexes=indexed.render(count.completed),
        start_time=None if job.spec.suspend else job.status.start_time or now,
        completion_time=now if is_over and verdict is not None and verdict.type == "SuccessCriteriaMet" else None,
        conditions=merged(job.status.conditions or (), _conditions(job, verdict, is_over=is_over), now),
    )


def _conditions(job: Job, verdict: Condition | None, *, is_over: bool) -> tuple[Condition, ...]:
    if verdict is not None:
        return (verdict, structs.replace(verdict, type=ANNOUNCED[verdict.type])) if is_over else (verdict,)
    if job.spec.suspend:
        return (_true("Suspended", "JobSuspended", "Job suspended"),)
    if any(condition.type == "Suspended" for condition in job.status.conditions or ()):
        return (Condition(type="Suspended", status="False", reason="JobResumed", message="Job resumed"),)
    return ()


def _notes(job: Job, status: JobStatus) -> Iterator[Note]:
    """Say which conditions have become true, or no more."""
    before = {(each.type, each.status) for each in job.status.conditions or ()}
    for each in status.conditions or ():
        match each.type, each.status:
            case changed if changed in before:
                continue
            case "Complete", _:
                yield Note("Completed", "Job completed")
            case "Failed", _:
                yield Note(each.reason or "", each.message or "", "Warning")
            case "Suspended", _:
                yield Note((each.reason or "").removeprefix("Job"), each.message or "")


def _expire(job: Job, world: World) -> Decision:
    """Remove an ended Job whose time to live is over (ttlSecondsAfterFinished)."""
    if job.spec.ttl_seconds_after_finished is None:
        return Decision()
    ends = [c.last_transition_time for c in job.status.conditions or () if c.type in ANNOUNCED.values()]
    end = max((each for each in ends if each is not None), default=world.now)
    left_s = _left_s(end, job.spec.ttl_seconds_after_finished, world)
    return Decision(again_in_s=left_s) if left_s > 0 else Decision(actions=(delete(job, propagation="Background"),))

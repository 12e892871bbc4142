"""Jobs: run pods until enough have succeeded or too many have failed.

Pods carry no tracking finalizer. Instead `Jobs` remembers how each pod that it has seen ended, and never counts
below what the status already says, so pods that are deleted after their end stay counted.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, structs

from gangline.contract.conditions import merged
from gangline.contract.meta import Condition, Key
from gangline.kube.wire.resources import JOBS
from gangline.sandbox.actions import Action, Decision, Delete, Patch
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers import failurepolicy, indexed
from gangline.sandbox.controllers.ownership import controlled
from gangline.sandbox.controllers.pods import BURST, is_active, make_pod, ready_since, removal_order, remove_pod
from gangline.sandbox.objects import Job, RunPod, status_patch, timed
from gangline.sandbox.podlife import is_finished, restarts

BACKOFF_LIMIT_S: Final = 600.0
CONTROLLER_UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
JOB_NAME_LABEL: Final = "batch.kubernetes.io/job-name"
LEGACY_CONTROLLER_UID_LABEL: Final = "controller-uid"
LEGACY_JOB_NAME_LABEL: Final = "job-name"


class Tally:
    """How the pods of one Job ended."""

    def __init__(self) -> None:
        self.succeeded: dict[str, int | None] = {}
        """Completion index by pod UID."""
        self.failed: dict[str, RunPod] = {}
        """As they were last seen, by UID."""
        self.dismissed: set[str] = set()
        """Pods that the controller itself has removed: their end is no failure."""
        self.last_failure: tuple[int, datetime] | None = None
        """Number of failures when there was last one more, and when that was."""


class Verdict(Struct, frozen=True):
    """How a Job ends: Complete or Failed, and why."""

    type: str
    reason: str
    message: str

    @property
    def announcement(self) -> str:
        """The condition that says it before the last pod has gone."""
        return "SuccessCriteriaMet" if self.type == "Complete" else "FailureTarget"


class Count(Struct, frozen=True, kw_only=True):
    """A Job's pods at one moment."""

    active: tuple[RunPod, ...]
    terminating: int
    succeeded: int
    failed: int
    completed: frozenset[int]
    fatal: str | None
    """Why the Job fails at once."""
    restarts: int


class Jobs:
    """Decides for every Job; `backoff_s` is the wait after a first failure, doubled with each further one.

    With a `speed` the seconds that a Job names are so much shorter.
    """

    def __init__(self, jobs: Cache[Job], pods: Cache[RunPod], *, backoff_s: float, speed: float = 1.0) -> None:
        self._jobs = jobs
        self._pods = pods
        self._backoff_s = backoff_s
        self._speed = speed
        self._tallies: dict[str, Tally] = {}

    def observe(self, old: RunPod | None, new: RunPod | None) -> None:
        """Note how a pod of a Job ended; one that is gone before it finished has failed."""
        pod = new or old
        owner = pod.metadata.controller if pod is not None else None
        if pod is None or owner is None or owner.kind != JOBS.kind:
            return
        tally = self._tallies.setdefault(owner.uid, Tally())
        if pod.status.phase == "Succeeded":
            tally.succeeded[pod.metadata.uid] = indexed.index_of(pod)
        elif (pod.status.phase == "Failed" or new is None) and pod.metadata.uid not in tally.dismissed:
            tally.failed[pod.metadata.uid] = pod

    def forget(self, old: Job | None, new: Job | None) -> None:
        """Drop what is remembered of a Job that is gone."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._tallies.pop(old.metadata.uid, None)

    def decide(self, key: Key, now: datetime) -> Decision:
        """Say which pods to make and remove, and what the status is."""
        job = self._jobs.get(key)
        if job is None or job.metadata.deletion_timestamp:
            return Decision()
        job = _hurried(job, self._speed)
        if ended(job):
            return _expire(job, now)
        tally = self._tallies.setdefault(job.metadata.uid, Tally())
        count = _count(job, controlled(job, self._pods), tally)
        verdict = _verdict(job, count, now)
        actions, again_in_s = (
            self._fill(job, count, tally, now) if verdict is None else (_dismiss(count.active, tally), None)
        )
        waits = [wait for wait in (again_in_s, _until_deadline(job, now)) if wait is not None]
        return Decision(actions=(*actions, *_status(job, count, verdict, now)), again_in_s=min(waits, default=None))

    def _fill(self, job: Job, count: Count, tally: Tally, now: datetime) -> tuple[tuple[Action, ...], float | None]:
        missing = _wanted(job, count) - len(count.active)
        if missing <= 0:
            return _dismiss(removal_order(count.active)[:-missing] if missing else (), tally), None
        wait_s = self._backoff_left(count.failed, tally, now)
        if wait_s > 0:
            return (), wait_s
        return tuple(_make_pods(job, count, min(missing, BURST))), None

    def _backoff_left(self, failed: int, tally: Tally, now: datetime) -> float:
        if failed == 0:
            return 0.0
        if tally.last_failure is None or tally.last_failure[0] < failed:
            tally.last_failure = (failed, now)
        delay_s = min(self._backoff_s * 2.0 ** min(failed - 1, 30), BACKOFF_LIMIT_S)
        return (tally.last_failure[1] + timedelta(seconds=delay_s) - now).total_seconds()


def _hurried(job: Job, speed: float) -> Job:
    """Shorten the seconds that the Job names."""
    spec = job.spec
    if speed == 1:
        return job
    deadline_s, ttl_s = spec.active_deadline_seconds, spec.ttl_seconds_after_finished
    shorter = structs.replace(
        spec,
        active_deadline_seconds=None if deadline_s is None else deadline_s / speed,
        ttl_seconds_after_finished=None if ttl_s is None else ttl_s / speed,
    )
    return structs.replace(job, spec=shorter)


def ended(job: Job) -> bool:
    """Tell whether the Job is Complete or Failed."""
    return any(c.type in ("Complete", "Failed") and c.status == "True" for c in job.status.conditions or ())


def _count(job: Job, pods: list[RunPod], tally: Tally) -> Count:
    completed = indexed.parse(job.status.completed_indexes)
    completed |= {index for index in tally.succeeded.values() if index is not None}
    is_indexed = job.spec.completion_mode == indexed.INDEXED
    succeeded = len(completed) if is_indexed else len(tally.succeeded)
    failures = [failurepolicy.judged(job, pod) for pod in tally.failed.values()]
    return Count(
        active=tuple(pod for pod in pods if is_active(pod)),
        terminating=sum(bool(pod.metadata.deletion_timestamp) and not is_finished(pod) for pod in pods),
        succeeded=max(succeeded, job.status.succeeded),
        failed=max(sum(failure.counts for failure in failures), job.status.failed),
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
    template = _labelled(job)
    if job.spec.completion_mode != indexed.INDEXED:
        return [make_pod(job, JOBS, template)] * number
    taken = count.completed | {indexed.index_of(pod) for pod in count.active}
    free = [index for index in range(job.spec.completions or 0) if index not in taken]
    return [
        make_pod(job, JOBS, indexed.template_for(template, job.metadata.name, index), f"{job.metadata.name}-{index}")
        for index in free[:number]
    ]


def _labelled(job: Job) -> dict[str, object]:
    """Complete the template's labels: the API server has set them, unless the Job was put in past it."""
    metadata = job.spec.template.get("metadata") or {}
    uid, name = job.metadata.uid, job.metadata.name
    own = {
        CONTROLLER_UID_LABEL: uid,
        JOB_NAME_LABEL: name,
        LEGACY_CONTROLLER_UID_LABEL: uid,
        LEGACY_JOB_NAME_LABEL: name,
    }
    return {**job.spec.template, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **own}}}


def _dismiss(pods: Iterable[RunPod], tally: Tally) -> tuple[Action, ...]:
    chosen = tuple(pods)
    tally.dismissed.update(pod.metadata.uid for pod in chosen)
    return tuple(remove_pod(pod) for pod in chosen)


def _verdict(job: Job, count: Count, now: datetime) -> Verdict | None:
    for condition in job.status.conditions or ():
        if condition.type in ("SuccessCriteriaMet", "FailureTarget") and condition.status == "True":
            type_ = "Complete" if condition.type == "SuccessCriteriaMet" else "Failed"
            return Verdict(type_, condition.reason or "", condition.message or "")
    if count.fatal:
        return Verdict("Failed", "PodFailurePolicy", count.fatal)
    if count.failed > job.spec.backoff_limit or count.restarts > job.spec.backoff_limit:
        return Verdict("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left_s = _until_deadline(job, now)
    if left_s is not None and left_s <= 0:
        return Verdict("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
    if _has_enough(job, count):
        return Verdict("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def _has_enough(job: Job, count: Count) -> bool:
    if job.spec.completions is None:
        return count.succeeded > 0 and not count.active
    return count.succeeded >= job.spec.completions


def _until_deadline(job: Job, now: datetime) -> float | None:
    if job.spec.active_deadline_seconds is None or job.status.start_time is None or job.spec.suspend:
        return None
    return (job.status.start_time + timedelta(seconds=job.spec.active_deadline_seconds) - now).total_seconds()


def _status(job: Job, count: Count, verdict: Verdict | None, now: datetime) -> tuple[Action, ...]:
    is_over = verdict is not None and not count.active and not count.terminating
    started = None if job.spec.suspend else job.status.start_time or now
    status = structs.replace(
        job.status,
        active=len(count.active),
        ready=sum(ready_since(pod) is not None for pod in count.active),
        terminating=count.terminating,
        succeeded=count.succeeded,
        failed=count.failed,
        completed_indexes=indexed.render(count.completed),
        start_time=started,
        completion_time=now if is_over and verdict is not None and verdict.type == "Complete" else None,
        conditions=merged(job.status.conditions or (), _conditions(job, verdict, is_over=is_over), now),
    )
    if status == job.status:
        return ()
    written = status_patch(status, "ready", "terminating")
    written["conditions"] = timed(written["conditions"] or [], "lastProbeTime") or None
    written["uncountedTerminatedPods"] = {}
    body = {"metadata": {"resourceVersion": job.metadata.resource_version}, "status": written}
    return (Patch(resource=JOBS, key=job.metadata.key, body=body, subresource="status"),)


def _conditions(job: Job, verdict: Verdict | None, *, is_over: bool) -> tuple[Condition, ...]:
    if verdict is not None:
        types = (verdict.announcement, verdict.type) if is_over else (verdict.announcement,)
        return tuple(
            Condition(type=type_, status="True", reason=verdict.reason, message=verdict.message) for type_ in types
        )
    if job.spec.suspend:
        return (Condition(type="Suspended", status="True", reason="JobSuspended", message="Job suspended"),)
    if any(condition.type == "Suspended" for condition in job.status.conditions or ()):
        return (Condition(type="Suspended", status="False", reason="JobResumed", message="Job resumed"),)
    return ()


def _expire(job: Job, now: datetime) -> Decision:
    """Remove an ended Job whose time to live is over (ttlSecondsAfterFinished)."""
    if job.spec.ttl_seconds_after_finished is None:
        return Decision()
    ends = [c.last_transition_time for c in job.status.conditions or () if c.type in ("Complete", "Failed")]
    end = max((each for each in ends if each is not None), default=now)
    left_s = (end + timedelta(seconds=job.spec.ttl_seconds_after_finished) - now).total_seconds()
    if left_s > 0:
        return Decision(again_in_s=left_s)
    delete = Delete(resource=JOBS, key=job.metadata.key, uid=job.metadata.uid, propagation="Background")
    return Decision(actions=(delete,))

"""CronJobs: a Job at each time of the schedule (kube-controller-manager cronjob).

With a speed, the clock of a CronJob runs so much faster from its creation on.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from msgspec import structs

from gangline.contract.meta import Key
from gangline.kube.wire.resources import JOBS, Resource
from gangline.sandbox import schedules
from gangline.sandbox.actions import Action, Create, Decision, Delete, Patch
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers.job import ended
from gangline.sandbox.controllers.ownership import controlled, owner_reference
from gangline.sandbox.objects import CronJob, Job, timestamp, wire

CRON_JOBS: Final = Resource("batch", "v1", "cronjobs", "CronJob")
SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
ORDER_S: Final = 60.0
"""Two times of a schedule are never nearer: a Job's name is its minute."""


class CronJobs:
    """Decides for every CronJob."""

    def __init__(self, cron_jobs: Cache[CronJob], jobs: Cache[Job], *, speed: float = 1.0) -> None:
        self._cron_jobs = cron_jobs
        self._jobs = jobs
        self._speed = speed

    def decide(self, key: Key, now: datetime) -> Decision:
        """Say which Jobs to start and which to remove, and what the status is. Raises ValueError for a schedule."""
        owner = self._cron_jobs.get(key)
        if owner is None or owner.metadata.deletion_timestamp:
            return Decision()
        jobs = controlled(owner, self._jobs)
        due, next_s = (None, None) if owner.spec.suspend else self._times(owner, now)
        replaced = [job for job in jobs if not ended(job)] if owner.spec.concurrency_policy == "Replace" else []
        is_new = due is not None and all(job.metadata.name != _name(owner, due) for job in jobs)
        waits = owner.spec.concurrency_policy == "Forbid" and any(not ended(job) for job in jobs)
        starts = due if is_new and not waits else None
        actions: list[Action] = [*_surplus(owner, jobs), *self._status(owner, jobs, starts, now)]
        if starts is not None:
            actions += [_delete(job) for job in replaced] + [_make(owner, starts)]
        return Decision(actions=tuple(actions), again_in_s=next_s)

    def _times(self, owner: CronJob, now: datetime) -> tuple[datetime | None, float | None]:
        """Find the time that is due, and how long it is to the next."""
        zone = ZoneInfo(owner.spec.time_zone) if owner.spec.time_zone else UTC
        schedule = schedules.parse(owner.spec.schedule)
        moment = self._fast(owner, now).astimezone(zone)
        since = owner.status.last_schedule_time
        since = self._fast(owner, since) if since else _created(owner, now)
        if owner.spec.starting_deadline_seconds is not None:
            since = max(since, moment - timedelta(seconds=owner.spec.starting_deadline_seconds))
        coming = schedule.next_after(moment)
        wait_s = None if coming is None else (coming - moment).total_seconds() / self._speed
        return schedule.latest_before(moment, since.astimezone(zone)), wait_s

    def _fast(self, owner: CronJob, at: datetime) -> datetime:
        created = _created(owner, at)
        return created + (at - created) * self._speed

    def _status(self, owner: CronJob, jobs: list[Job], starts: datetime | None, now: datetime) -> Iterator[Action]:
        ends = [job.status.completion_time for job in jobs if job.status.completion_time]
        active = tuple(_reference(job) for job in jobs if not ended(job))
        status = structs.replace(
            owner.status,
            active=active or None,
            last_schedule_time=_truthful(owner, starts, now, self._speed)
            if starts
            else owner.status.last_schedule_time,
            last_successful_time=max(ends, default=owner.status.last_successful_time),
        )
        if status != owner.status:
            body = {
                "metadata": {"resourceVersion": owner.metadata.resource_version},
                "status": wire(status) | {"active": list(active) or None},
            }
            yield Patch(resource=CRON_JOBS, key=owner.metadata.key, body=body, subresource="status")


def _truthful(owner: CronJob, starts: datetime, now: datetime, speed: float) -> datetime:
    """Tell when a time of the fast clock was on the true one; a second on, so that it is not due again when rounded."""
    created = _created(owner, now)
    at = created + (starts - created) / speed
    return at.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1 if at.microsecond else 0)


def _created(owner: CronJob, default: datetime) -> datetime:
    return owner.metadata.creation_timestamp or default


def _name(owner: CronJob, due: datetime) -> str:
    return f"{owner.metadata.name}-{int(due.timestamp() // ORDER_S)}"


def _make(owner: CronJob, due: datetime) -> Create:
    template = owner.spec.job_template
    body: dict[str, Any] = {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": _name(owner, due),
            "namespace": owner.metadata.namespace,
            "labels": template.metadata.labels or {},
            "annotations": {**(template.metadata.annotations or {}), SCHEDULED_AT: timestamp(due)},
            "ownerReferences": [owner_reference(owner, CRON_JOBS)],
        },
        "spec": template.spec,
    }
    return Create(resource=JOBS, namespace=owner.metadata.namespace, body=body)


def _surplus(owner: CronJob, jobs: list[Job]) -> Iterator[Delete]:
    """Remove the oldest Jobs that have ended, beyond the two history limits."""
    for type_, limit in (
        ("Complete", owner.spec.successful_jobs_history_limit),
        ("Failed", owner.spec.failed_jobs_history_limit),
    ):
        over = [job for job in jobs if any(c.type == type_ and c.status == "True" for c in job.status.conditions or ())]
        over.sort(
            key=lambda job: (job.status.start_time or job.metadata.creation_timestamp or _LONG_AGO, job.metadata.name)
        )
        yield from (_delete(job) for job in over[: max(len(over) - limit, 0)] if not job.metadata.deletion_timestamp)


def _delete(job: Job) -> Delete:
    return Delete(resource=JOBS, key=job.metadata.key, uid=job.metadata.uid, propagation="Background")


def _reference(job: Job) -> dict[str, Any]:
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "namespace": job.metadata.namespace,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "resourceVersion": job.metadata.resource_version,
    }


_LONG_AGO: Final = datetime.fromtimestamp(0, UTC)

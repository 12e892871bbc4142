"""CronJobs: a Job at each time of the schedule (kube-controller-manager cronjob).

With a speed, the clock of a CronJob runs so much faster from its creation on.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import structs

from gangline.contract.timestamps import timestamp
from gangline.sandbox import schedules
from gangline.sandbox.controllers.job import ended
from gangline.sandbox.controllers.ownership import controlled, create_child, owner_reference
from gangline.sandbox.objects.batch import CronJob, CronJobStatus, Job
from gangline.sandbox.objects.podstate import EPOCH
from gangline.sandbox.reconciling.actions import Action, Create, Decision, Delete, Note, delete, set_status
from gangline.sandbox.reconciling.world import World

SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
ORDER_S: Final = 60.0
"""Two times of a schedule are never nearer: a Job's name is its minute."""

LONGEST_S: Final = 10**9
"""A deadline that is longer reaches back to before there were any CronJobs."""

ALREADY_ACTIVE: Final = Note(
    "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid"
)


def decide(owner: CronJob, world: World) -> Decision:
    """Say which Jobs to start and which to remove, and what the status is. Raises ValueError for a schedule or a zone."""
    if owner.metadata.deletion_timestamp:
        return Decision()
    jobs = controlled(owner, world.all(Job))
    running = [job for job in jobs if not ended(job)]
    due, next_s = (None, None) if owner.spec.suspend else _times(owner, world)
    waits = owner.spec.concurrency_policy == "Forbid" and running
    notes = list(_notes(owner, jobs))
    if due is not None and waits:
        notes.append(ALREADY_ACTIVE)
    if due is not None and (waits or any(job.metadata.name == _name(owner, due) for job in jobs)):
        due = None
    actions: list[Action] = [*_surplus(owner, jobs), *set_status(owner, _status(owner, jobs, due, world))]
    if due is not None:
        actions += [_remove(job) for job in running if owner.spec.concurrency_policy == "Replace"]
        actions.append(_make(owner, due))
    return Decision(actions=tuple(actions), notes=tuple(notes), again_in_s=next_s)


def _notes(owner: CronJob, jobs: list[Job]) -> Iterator[Note]:
    """Say which Jobs have ended since the status was written."""
    active = {each["uid"] for each in owner.status.active or ()}
    for job in jobs:
        if job.metadata.uid in active and ended(job):
            end = "Complete" if ended(job, "Complete") else "Failed"
            yield Note("SawCompletedJob", f"Saw completed job: {job.metadata.name}, condition: {end}")


def _times(owner: CronJob, world: World) -> tuple[datetime | None, float | None]:
    """Find the time that is due, and how long it is to the next."""
    zone, schedule = schedules.zone(owner.spec.time_zone), owner.spec.schedule
    moment = _fast(owner, world.now, world).astimezone(zone)
    since = owner.status.last_schedule_time
    since = _fast(owner, since, world) if since else _created(owner, world.now)
    if owner.spec.starting_deadline_seconds is not None:
        since = max(since, moment - timedelta(seconds=min(owner.spec.starting_deadline_seconds, LONGEST_S)))
    coming = schedules.next_after(schedule, moment)
    wait_s = None if coming is None else (coming - moment).total_seconds() / world.pace.speed
    return schedules.latest_before(schedule, moment, since), wait_s


def _fast(owner: CronJob, at: datetime, world: World) -> datetime:
    """Tell what the fast clock shows at a time of the true one."""
    created = _created(owner, at)
    return created + (at - created) * world.pace.speed


def _status(owner: CronJob, jobs: list[Job], starts: datetime | None, world: World) -> CronJobStatus:
    ends = [job.status.completion_time for job in jobs if job.status.completion_time]
    return structs.replace(
        owner.status,
        active=tuple(_reference(job) for job in jobs if not ended(job)) or None,
        last_schedule_time=_truthful(owner, starts, world) if starts else owner.status.last_schedule_time,
        last_successful_time=max(ends, default=owner.status.last_successful_time),
    )


def _truthful(owner: CronJob, starts: datetime, world: World) -> datetime:
    """Tell when a time of the fast clock was on the true one; a second on, so that it is not due again when rounded."""
    created = _created(owner, world.now)
    at = created + (starts - created) / world.pace.speed
    return at.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1 if at.microsecond else 0)


def _created(owner: CronJob, default: datetime) -> datetime:
    return owner.metadata.creation_timestamp or default


def _name(owner: CronJob, due: datetime) -> str:
    return f"{owner.metadata.name}-{int(due.timestamp() // ORDER_S)}"


def _make(owner: CronJob, due: datetime) -> Create:
    template = owner.spec.job_template
    metadata = {
        "name": _name(owner, due),
        "labels": template.metadata.labels or {},
        "annotations": {**(template.metadata.annotations or {}), SCHEDULED_AT: timestamp(due)},
    }
    return create_child(owner, Job, metadata, template.spec)


def _surplus(owner: CronJob, jobs: list[Job]) -> Iterator[Delete]:
    """Remove the oldest Jobs that have ended, beyond the two history limits."""
    for type_, limit in (
        ("Complete", owner.spec.successful_jobs_history_limit),
        ("Failed", owner.spec.failed_jobs_history_limit),
    ):
        over = [job for job in jobs if ended(job, type_)]
        over.sort(key=lambda job: (job.status.start_time or job.metadata.creation_timestamp or EPOCH, job.metadata.key))
        yield from (_remove(job) for job in over[: max(len(over) - limit, 0)] if not job.metadata.deletion_timestamp)


def _remove(job: Job) -> Delete:
    return delete(job, propagation="Background")


def _reference(job: Job) -> dict[str, Any]:
    reference = owner_reference(job)
    fields = {field: reference[field] for field in ("apiVersion", "kind", "name", "uid")}
    return fields | {"namespace": job.metadata.namespace, "resourceVersion": job.metadata.resource_version}

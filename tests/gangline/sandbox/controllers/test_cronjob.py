"""What the CronJob controller decides."""

from typing import Any

import msgspec
import pytest

from gangline.contract.timestamps import timestamp
from gangline.sandbox.controllers import cronjob
from gangline.sandbox.objects.batch import CronJob, Job
from gangline.sandbox.reconciling.actions import Decision
from gangline.sandbox.reconciling.world import Pace
from tests.support.workloads import (
    created,
    deleted,
    later,
    metadata,
    owned_by,
    status_of,
    template,
    world_of,
)


def cron_job(*, status: dict[str, Any] | None = None, **spec: Any) -> CronJob:
    job = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": template("tick")}}
    body = {"schedule": "*/10 * * * *", "jobTemplate": job, **spec}
    return msgspec.convert({"metadata": metadata("tick"), "spec": body, "status": status or {}}, CronJob)


def job(name: str, ended: str | None = None, started: float = 0.0) -> Job:
    conditions = [{"type": ended, "status": "True"}] if ended else []
    status: dict[str, Any] = {"startTime": timestamp(later(started)), "conditions": conditions}
    if ended == "Complete":
        status["completionTime"] = timestamp(later(started + 5))
    owners = [owned_by(cron_job(), "CronJob")]
    return msgspec.convert({"metadata": metadata(name, ownerReferences=owners), "status": status}, Job)


def decided(owner: CronJob, *jobs: Job, seconds: float = 601.0, speed: float = 1.0) -> Decision:
    return cronjob.decide(owner, world_of(owner, *jobs, now=later(seconds), pace=Pace(speed=speed)))


DUE = int(later(600).timestamp() // 60)


def test_job_is_started_when_it_is_due() -> None:
    decision = decided(cron_job())
    (body,) = created(decision)

    assert body["metadata"]["name"] == f"tick-{DUE}"
    assert body["metadata"]["labels"] == {"a": "b"}
    assert body["metadata"]["annotations"] == {"batch.kubernetes.io/cronjob-scheduled-timestamp": timestamp(later(600))}
    assert body["spec"] == cron_job().spec.job_template.spec
    assert status_of(decision.actions)["lastScheduleTime"] == timestamp(later(600))
    assert decision.again_in_s == 599


@pytest.mark.parametrize(
    ("owner", "jobs", "seconds"),
    [
        pytest.param(cron_job(), (), 599, id="not yet"),
        pytest.param(cron_job(suspend=True), (), 601, id="suspended"),
        pytest.param(cron_job(status={"lastScheduleTime": timestamp(later(600))}), (), 601, id="started already"),
        pytest.param(cron_job(), (job(f"tick-{DUE}"),), 601, id="it is there already"),
        pytest.param(cron_job(concurrencyPolicy="Forbid"), (job("tick-1"),), 601, id="the last one still runs"),
        pytest.param(cron_job(startingDeadlineSeconds=30), (), 640, id="too late"),
    ],
)
def test_no_job_is_started(owner: CronJob, jobs: tuple[Job, ...], seconds: float) -> None:
    assert created(decided(owner, *jobs, seconds=seconds)) == []


def test_a_new_job_replaces_the_one_that_runs() -> None:
    decision = decided(cron_job(concurrencyPolicy="Replace"), job("tick-1"))

    assert len(created(decision)) == 1
    assert deleted(decision) == ["tick-1"]


def test_only_so_many_ended_jobs_are_kept() -> None:
    jobs = [job(f"good-{n}", "Complete", n) for n in range(4)] + [job(f"bad-{n}", "Failed", n) for n in range(3)]

    assert deleted(decided(cron_job(suspend=True), *jobs)) == ["good-0", "bad-0", "bad-1"]


def test_status_names_what_runs_and_the_last_success() -> None:
    status = status_of(decided(cron_job(suspend=True), job("tick-1"), job("tick-0", "Complete", 10)).actions)

    assert [each["name"] for each in status["active"]] == ["tick-1"]
    assert status["lastSuccessfulTime"] == timestamp(later(15))


def test_speed_makes_its_clock_run_faster() -> None:
    decision = decided(cron_job(), seconds=11, speed=60)
    (body,) = created(decision)

    assert body["metadata"]["name"] == f"tick-{DUE}"
    assert decision.again_in_s == 9
    assert status_of(decision.actions)["lastScheduleTime"] == timestamp(later(10))


def test_what_is_no_schedule_is_an_error() -> None:
    with pytest.raises(ValueError, match="fields"):
        decided(cron_job(schedule="often"))


def test_a_deadline_as_long_as_can_be_is_none() -> None:
    assert created(decided(cron_job(startingDeadlineSeconds=2**63 - 1))) == created(decided(cron_job()))


def test_it_tells_which_jobs_have_ended_and_why_none_is_started() -> None:
    active = {"active": [{"uid": "uid-tick-1"}, {"uid": "uid-tick-2"}]}
    jobs = (job("tick-1", "Failed"), job("tick-2"), job("tick-3", "Complete"))

    notes = decided(cron_job(concurrencyPolicy="Forbid", status=active), *jobs).notes

    assert [(note.reason, note.message.split(":")[0]) for note in notes] == [
        ("SawCompletedJob", "Saw completed job"),
        ("JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid"),
    ]

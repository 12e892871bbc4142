"""Workloads: what is refused of them."""

from typing import Any

import pytest

from tests.support.rest import Rest

CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"


def cron_job(**fields: Any) -> dict[str, Any]:
    pod_spec = {"containers": [{"name": "main", "image": "image:1"}], "restartPolicy": "Never"}
    spec = {"schedule": "@hourly", "jobTemplate": {"spec": {"template": {"spec": pod_spec}}}, **fields}
    return {"metadata": {"name": "c"}, "spec": spec}


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({}, []),
        ({"schedule": "0 0 ? * mon-FRI", "timeZone": "Europe/Berlin"}, []),
        ({"schedule": ""}, ["spec.schedule"]),
        ({"schedule": "often"}, ["spec.schedule"]),
        ({"schedule": "60 * * * *"}, ["spec.schedule"]),
        ({"schedule": "@every 1h"}, ["spec.schedule"]),
        ({"timeZone": ""}, ["spec.timeZone"]),
        ({"timeZone": "Mars/Olympus"}, ["spec.timeZone"]),
        ({"schedule": "often", "timeZone": "../x"}, ["spec.schedule", "spec.timeZone"]),
    ],
)
async def test_a_cron_job_is_due_some_time(rest: Rest, fields: dict[str, Any], refused: list[str]) -> None:
    reply = await rest.post(CRON_JOBS, cron_job(**fields))

    assert reply.status == (422 if refused else 201)
    assert [cause["field"] for cause in reply.body.get("details", {}).get("causes", [])] == refused


async def test_a_schedule_is_not_changed_to_none(rest: Rest) -> None:
    await rest.post(CRON_JOBS, cron_job())
    changed = await rest.patch(f"{CRON_JOBS}/c", {"spec": {"schedule": "* *"}})

    assert changed.status == 422

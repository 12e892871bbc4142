"""What is sent, and what each kind of answer means."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from controller.metrics import Metrics, Outcome
from controller.writer import StatusWriter
from gangline.contract.podgroup import PodGroupStatus
from gangline.kube.client import Client
from tests.controller.builders import group
from tests.controller.scripted import ScriptedServer, scripted

WANTED = PodGroupStatus(phase="Running", scheduled=2, running=2)

Script = tuple[ScriptedServer, StatusWriter]


@pytest.fixture
async def script(tmp_path: Path) -> AsyncIterator[Script]:
    async with scripted(tmp_path) as (server, client):
        server.may_list["podgroups"].set()
        yield server, writer_of(client)


def writer_of(client: Client) -> StatusWriter:
    return StatusWriter(client, Metrics(CollectorRegistry()))


async def test_only_what_differs_is_sent_and_only_at_the_version_that_was_looked_at(script: Script) -> None:
    server, writer = script
    stored = PodGroupStatus(phase="Running", running=1, failed=1, occupied_by="ns/a")
    written = await writer.write(group(status=stored), PodGroupStatus(phase="Running", running=2, occupied_by="ns/a"))
    assert server.patches == [
        {"metadata": {"uid": "ns-pg", "resourceVersion": "1"}, "status": {"running": 2, "failed": None}}
    ]
    assert written.outcome is Outcome.WRITTEN
    assert written.stored is not None
    assert written.stored.metadata.resource_version == "2"


async def test_nothing_is_sent_when_nothing_differs(script: Script) -> None:
    server, writer = script
    assert (await writer.write(group(status=WANTED), WANTED)).outcome is Outcome.UNCHANGED
    assert server.patches == []


async def test_a_field_that_did_not_come_back_is_not_sent_again(script: Script) -> None:
    server, writer = script
    server.dropped_fields = {"scheduled"}
    first = await writer.write(group(), WANTED)
    assert first.stored is not None
    assert (await writer.write(first.stored, WANTED)).outcome is Outcome.UNCHANGED
    assert len(server.patches) == 1


ANSWERS = [
    (400, Outcome.REFUSED, False),
    (401, Outcome.REFUSED, True),
    (403, Outcome.REFUSED, True),
    (404, Outcome.LOST, False),
    (409, Outcome.CONFLICT, False),
    (422, Outcome.REFUSED, False),
    (429, Outcome.UNANSWERED, False),
    (500, Outcome.UNANSWERED, False),
    (503, Outcome.UNANSWERED, False),
]


@pytest.mark.parametrize(("status", "outcome", "is_problem"), ANSWERS, ids=[str(row[0]) for row in ANSWERS])
async def test_answers(script: Script, status: int, outcome: Outcome, is_problem: bool) -> None:
    server, writer = script
    server.answers = [(status, {"Retry-After": "7"})] * 2
    written = await writer.write(group(), WANTED)
    assert (written.outcome, written.stored, written.retry_after_s) == (outcome, None, 7.0)
    assert (writer.problem is not None) == is_problem


@pytest.mark.parametrize(
    ("stored_uid", "outcome", "is_problem"),
    [
        pytest.param("ns-pg", Outcome.REFUSED, True, id="no-status-subresource"),
        pytest.param("another", Outcome.LOST, False, id="recreated-meanwhile"),
    ],
)
async def test_a_status_that_is_not_found_although_its_group_is(
    script: Script, stored_uid: str, outcome: Outcome, is_problem: bool
) -> None:
    server, writer = script
    server.answers = [(404, {})]
    server.lists["podgroups"] = [{"metadata": {"namespace": "ns", "name": "pg", "uid": stored_uid}}]
    assert (await writer.write(group(), WANTED)).outcome is outcome
    assert ("no status subresource" in (writer.problem or "")) == is_problem
    await writer.write(group(), WANTED)
    assert writer.problem is None


async def test_a_right_that_comes_back_ends_the_problem(script: Script) -> None:
    server, writer = script
    server.answers = [(403, {}), (200, {})]
    await writer.write(group(), WANTED)
    assert "403" in (writer.problem or "")
    await writer.write(group(), WANTED)
    assert writer.problem is None


async def test_no_api_server_is_no_answer(tmp_path: Path) -> None:
    async with scripted(tmp_path) as (_, client):
        writer = writer_of(client)
    async with client:
        assert (await writer.write(group(), WANTED)).outcome is Outcome.UNANSWERED

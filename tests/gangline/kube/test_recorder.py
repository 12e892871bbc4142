"""The recorder: never in the way, bounded, and counted."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from gangline.kube.client import Client, connect
from gangline.kube.recorder import NAMESPACES_REMEMBERED, EventRecorder, ObjectReference
from tests.support.clock import ManualClock
from tests.support.scripted_server import Exchange, ScriptedServer, write_kubeconfig

POD = ObjectReference.of("Pod", "team", "a", "uid-a")
DEADLINE_S = 60.0


class EventServer:
    """Takes Events; `status` is what it answers."""

    def __init__(self) -> None:
        self.status = 201
        self.notes: list[str] = []
        self.came = asyncio.Event()

    async def handle(self, exchange: Exchange) -> None:
        if self.status == 0:
            await exchange.stay_silent()
        body: dict[str, Any] = json.loads(exchange.request.body)
        self.notes.append(body.get("note", "series"))
        self.came.set()
        reason = "AlreadyExists" if self.status == 409 else ""
        await exchange.answer(self.status, {"kind": "Status", "code": self.status, "reason": reason})

    async def until_came(self, count: int) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while len(self.notes) < count:
                self.came.clear()
                await self.came.wait()


class Counted:
    """What became of the Events."""

    def __init__(self) -> None:
        self.fates: Counter[str] = Counter()

    def written(self) -> None:
        self.fates["written"] += 1

    def dropped(self) -> None:
        self.fates["dropped"] += 1


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
async def server() -> EventServer:
    return EventServer()


@pytest.fixture
async def client(server: EventServer, tmp_path: Path) -> AsyncIterator[Client]:
    async with ScriptedServer(server.handle) as listening:
        kubeconfig = write_kubeconfig(tmp_path / "config", listening.url)
        async with connect(kubeconfig, user_agent="test/1") as client:
            yield client


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run(), name="recorder")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def recorder_of(client: Client, **options: Any) -> EventRecorder:
    return EventRecorder(client, component="gangline.io/scheduler", instance="host-1", **options)


def record(recorder: EventRecorder, note: str, name: str | None = None) -> None:
    recorder.record(POD, "Normal", "Scheduled", note, "Binding", name=name)


async def test_events_are_written_in_order_while_it_runs(client: Client, server: EventServer, counted: Counted) -> None:
    recorder = recorder_of(client, observer=counted)
    async with running(recorder):
        record(recorder, "one")
        record(recorder, "two")
        await server.until_came(2)
        record(recorder, "three")
        await server.until_came(3)

    assert server.notes == ["one", "two", "three"]
    assert not counted.fates["dropped"]


async def test_flush_writes_what_waits_also_what_is_not_due(
    client: Client, server: EventServer, counted: Counted
) -> None:
    recorder = recorder_of(client, observer=counted)
    record(recorder, "one")
    await recorder.flush(DEADLINE_S)
    record(recorder, "one")

    assert await recorder.flush(DEADLINE_S)
    assert server.notes == ["one", "series"]
    assert (counted.fates, len(recorder)) == ({"written": 2}, 0)


async def test_flush_gives_up_at_its_deadline(client: Client, server: EventServer) -> None:
    server.status = 0
    recorder = recorder_of(client)
    record(recorder, "one")

    assert not await recorder.flush(0.05)


async def test_a_second_create_under_one_name_is_harmless(
    client: Client, server: EventServer, counted: Counted
) -> None:
    server.status = 409
    recorder = recorder_of(client, observer=counted)
    record(recorder, "timed out", name="timeout-uid-1")

    assert await recorder.flush(DEADLINE_S)
    assert (counted.fates, len(recorder)) == ({}, 0)


@pytest.mark.parametrize("status", [403, 422, 503], ids=["forbidden", "invalid", "never-well"])
async def test_what_is_refused_or_given_up_is_counted(
    client: Client, server: EventServer, status: int, counted: Counted
) -> None:
    server.status = status
    recorder = recorder_of(client, observer=counted)
    record(recorder, "one")

    await recorder.flush(DEADLINE_S)

    assert (counted.fates, len(recorder)) == ({"dropped": 1}, 0)
    assert len(server.notes) == (5 if status == 503 else 1)


async def test_one_warning_stands_for_all_that_are_refused_alike(client: Client, server: EventServer) -> None:
    recorder = recorder_of(client)
    with capture_logs() as logs:
        for status in (403, 403, 422, 403, 201, 403, 403):
            server.status = status
            record(recorder, f"number {len(server.notes)}")
            await recorder.flush(DEADLINE_S)

    assert len(server.notes) == 7
    assert [entry["error"][:3] for entry in logs if entry["log_level"] == "warning"] == ["403", "422", "403"]


async def test_namespaces_that_were_warned_of_do_not_pile_up(client: Client, server: EventServer) -> None:
    server.status = 403
    recorder = recorder_of(client)
    namespaces = [f"team-{number}" for number in range(NAMESPACES_REMEMBERED + 1)]
    with capture_logs() as logs:
        for namespace in [*namespaces, namespaces[-1], namespaces[0]]:
            recorder.record(
                replace(POD, namespace=namespace), "Normal", "Scheduled", f"in {len(server.notes)}", "Binding"
            )
            await recorder.flush(DEADLINE_S)

    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert len(warnings) == len(namespaces) + 1, "the first is forgotten, the last is not"


async def test_what_has_no_room_is_dropped_and_counted(client: Client, counted: Counted) -> None:
    recorder = recorder_of(client, observer=counted, limit=10)

    for number in range(25):
        record(recorder, str(number))

    assert (len(recorder), counted.fates) == (10, {"dropped": 15})


async def test_writes_keep_to_the_rate(client: Client, server: EventServer) -> None:
    clock = ManualClock()
    times: list[float] = []

    async def wait(seconds: float) -> None:
        times.append(seconds)
        clock.advance(seconds)

    recorder = recorder_of(client, rate=0.1, burst=3, clock=clock, wait=wait)
    async with running(recorder):
        for number in range(5):
            record(recorder, str(number))
        await server.until_came(5)

    assert times == [10.0, 10.0]

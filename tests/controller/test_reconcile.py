"""Keyed, gathered, bounded; failures stay with the group that has them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from controller.announcer import Announcer
from controller.core.index import Index
from controller.core.rivals import Rivals
from controller.metrics import Metrics
from controller.reconcile import Reconciler
from controller.writer import StatusWriter
from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.clock import MonotonicClock
from gangline.kube.recorder import EventRecorder
from gangline.kube.wire.changes import Unreadable
from tests.controller.builders import group, pods
from tests.controller.scripted import ScriptedServer, scripted

DEADLINE_S = 60.0


class Bench:
    """A reconciler on a scripted server."""

    def __init__(self, server: ScriptedServer, client: Client, wall_time: Callable[[], float]) -> None:
        self.recorder = EventRecorder(client, component="test", instance="test")
        self.server = server
        self.registry = CollectorRegistry()
        self.index = Index(["gangline"])
        self.stop = asyncio.Event()
        metrics = Metrics(self.registry)
        self.reconciler = Reconciler(
            self.index,
            Rivals(),
            StatusWriter(client, metrics),
            Announcer(self.recorder),
            metrics,
            clock=MonotonicClock(),
            wall_time=wall_time,
            coalesce_s=0.0,
        )

    def add_group(self, name: str) -> Key:
        podgroup = group(1, name=name)
        self.index.observe_group(podgroup)
        return podgroup.metadata.key

    def count(self, result: str) -> float:
        return self.registry.get_sample_value("gangline_controller_reconciles_total", {"result": result}) or 0.0

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait for a patch after which it is true."""
        async with asyncio.timeout(DEADLINE_S):
            while not is_true():
                self.server.arrived.clear()
                await self.server.arrived.wait()

    @asynccontextmanager
    async def working(self, workers: int = 1) -> AsyncIterator[None]:
        async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as tasks:
            for number in range(workers):
                tasks.create_task(self.reconciler.work(self.stop), name=f"worker {number}")
            yield
            self.stop.set()
            self.reconciler.wake()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with scripted(tmp_path) as (server, client):
        server.may_list["podgroups"].set()
        yield Bench(server, client, time.time)


async def test_many_changes_of_one_group_are_one_reconcile(bench: Bench) -> None:
    key = bench.add_group("pg")
    for number in range(100):
        for member in pods("R" * number):
            bench.index.observe_pod(member, time.time())
        bench.reconciler.ask(key)
    async with bench.working(workers=4):
        await bench.until(lambda: bool(bench.server.patches))
    assert bench.count("Written") == 1
    assert bench.server.patches[0]["status"]["running"] == 99


async def test_writes_under_way_are_finished_when_stopped(bench: Bench) -> None:
    bench.server.may_answer.clear()
    bench.reconciler.ask(bench.add_group("pg"))
    async with bench.working():
        await bench.until(lambda: bool(bench.server.patches))
        bench.stop.set()
        bench.server.may_answer.set()
    assert bench.count("Written") == 1


async def test_no_more_writes_than_workers_are_under_way(bench: Bench) -> None:
    bench.server.may_answer.clear()
    for number in range(5):
        bench.reconciler.ask(bench.add_group(f"pg-{number}"))
    async with bench.working(workers=2):
        await bench.until(lambda: len(bench.server.patches) == 2)
        assert bench.reconciler.depth == 3
        bench.server.may_answer.set()
        await bench.until(lambda: len(bench.server.patches) == 5)


@pytest.mark.parametrize(("status", "result"), [(409, "Conflict"), (500, "Unanswered"), (422, "Refused")])
async def test_a_failed_write_is_tried_again_later_and_others_go_first(bench: Bench, status: int, result: str) -> None:
    bench.server.answers = [(status, {})]
    bench.reconciler.ask(bench.add_group("first"))
    bench.reconciler.ask(bench.add_group("second"))
    async with bench.working():
        await bench.until(lambda: len(bench.server.patches) == 3)
    assert [patch["metadata"]["uid"] for patch in bench.server.patches] == ["ns-first", "ns-second", "ns-first"]
    assert (bench.count(result), bench.count("Written")) == (1, 2)


async def test_changes_do_not_shorten_the_delay_after_a_failure(bench: Bench) -> None:
    bench.server.answers = [(500, {"Retry-After": "3"})]
    first = bench.add_group("first")
    bench.reconciler.ask(first)
    async with bench.working():
        await bench.until(lambda: len(bench.server.patches) == 1)
        bench.reconciler.ask(bench.add_group("second"))
        await bench.until(lambda: len(bench.server.patches) == 2)
        bench.reconciler.ask(first)
        bench.reconciler.ask(bench.add_group("third"))
        await bench.until(lambda: len(bench.server.patches) == 4)
    order = [patch["metadata"]["uid"] for patch in bench.server.patches]
    assert order == ["ns-first", "ns-second", "ns-third", "ns-first"]


async def test_a_group_deleted_before_the_write_costs_one_attempt(bench: Bench) -> None:
    bench.server.answers = [(404, {})]
    key = bench.add_group("pg")
    bench.reconciler.ask(key)
    async with bench.working():
        await bench.until(lambda: len(bench.server.patches) == 1)
        bench.index.remove_group(key, "ns-pg")
        bench.reconciler.ask(key)
        bench.reconciler.ask(bench.add_group("other"))
        await bench.until(lambda: len(bench.server.patches) == 2)
    assert (bench.count("Lost"), bench.count("Gone"), bench.count("Written")) == (1, 1, 1)


async def test_a_defect_in_one_reconcile_stays_with_its_group(tmp_path: Path) -> None:
    looks = iter([False])

    def broken_at_first() -> float:
        return time.time() if next(looks, True) else float("broken")

    async with scripted(tmp_path) as (server, client):
        bench = Bench(server, client, broken_at_first)
        bench.reconciler.ask(bench.add_group("first"))
        bench.reconciler.ask(bench.add_group("second"))
        async with bench.working():
            await bench.until(lambda: len(server.patches) == 2)
    assert [patch["metadata"]["uid"] for patch in server.patches] == ["ns-second", "ns-first"]
    assert bench.count("Broken") == 1


async def test_a_version_that_cannot_be_read_is_announced_and_nothing_is_written(bench: Bench) -> None:
    key = bench.add_group("pg")
    bench.index.lose_group(Unreadable(key, "ns-pg", "2", "", "is no object"))
    bench.reconciler.ask(key)
    bench.reconciler.ask(bench.add_group("next"))
    async with bench.working():
        await bench.until(lambda: len(bench.server.patches) == 1)
    assert bench.server.patches[0]["metadata"]["uid"] == "ns-next"
    assert (bench.count("Unreadable"), len(bench.recorder)) == (1, 1)


async def test_a_group_is_looked_at_again_when_its_finishes_have_settled(tmp_path: Path) -> None:
    seen_s = time.time()
    looks: list[float] = []

    def since_the_first_look() -> float:
        looks.append(time.monotonic())
        return seen_s + looks[-1] - looks[0]

    async with scripted(tmp_path) as (server, client):
        bench = Bench(server, client, since_the_first_look)
        key = bench.add_group("pg")
        bench.index.observe_pod(pods("S", ended_s=seen_s - 4.5)[0], seen_s)
        bench.reconciler.ask(key)
        async with bench.working():
            await bench.until(lambda: any(patch["status"].get("phase") == "Finished" for patch in server.patches))
    assert [patch["status"].get("phase") for patch in bench.server.patches] == ["Running", "Finished"]

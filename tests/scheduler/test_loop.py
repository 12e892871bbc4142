"""How the loop paces the scheduler, and that it decides nothing once it was told to stop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from gangline.contract.meta import ObjectMeta
from gangline.contract.pod import Pod, PodSpec
from gangline.kube.client import connect
from gangline.kube.clock import MonotonicClock
from gangline.kube.recorder import EventRecorder
from scheduler.binder import Binder
from scheduler.core.events import ConditionAnswered, ConditionOutcome, KindSynced, PodObserved, SettingsGiven
from scheduler.core.instructions import Bind, BindGang, WriteCondition
from scheduler.core.machine import Scheduler
from scheduler.inbox import Inbox
from scheduler.loop import STEP_S, Executor, Loop, Pace
from scheduler.metrics import Metrics
from scheduler.statuswriter import StatusWriter
from tests.support.scripted_api import Answer, ScriptedApi


class Harness:
    def __init__(
        self, scheduler: Scheduler, inbox: Inbox, executor: Executor, loop: Loop, metrics: CollectorRegistry
    ) -> None:
        self.scheduler = scheduler
        self.inbox = inbox
        self.executor = executor
        self.loop = loop
        self._metrics = metrics

    @property
    def unplaced(self) -> float:
        return self._metrics.get_sample_value("gangline_scheduler_decisions_total", {"outcome": "unplaced"}) or 0.0

    def observe_pod(self, name: str) -> None:
        metadata = ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}")
        self.inbox.observe(PodObserved(pod=Pod(metadata=metadata, spec=PodSpec(scheduler_name="gangline"))))


@asynccontextmanager
async def looping(directory: Path) -> AsyncIterator[Harness]:
    registry, clock, scheduler = CollectorRegistry(), MonotonicClock(), Scheduler()
    metrics = Metrics(registry)
    inbox = Inbox(clock, metrics)
    async with (
        ScriptedApi(lambda _: Answer(200)) as api,
        connect(api.kubeconfig(directory), user_agent="test") as client,
    ):
        binder = Binder(
            client,
            inbox.answer,
            metrics,
            workers=1,
            time_to_bind_s=lambda: 60.0,
            plan_overtaken=scheduler.overtaken.plan,
            bind_overtaken=scheduler.overtaken.bind,
        )
        recorder = EventRecorder(client, component="gangline", instance="test")
        writer = StatusWriter(client, recorder, inbox.answer, metrics, clock=clock, rate=1.0, binds_wait=binder.is_busy)
        executor = Executor(binder, writer)
        loop = Loop(scheduler, inbox, executor, metrics, clock=clock)
        yield Harness(scheduler, inbox, executor, loop, registry)


async def test_nothing_is_decided_after_it_was_told_to_stop(tmp_path: Path) -> None:
    settings = SettingsGiven(scheduler_names=("gangline",))
    async with looping(tmp_path) as harness, asyncio.timeout(60):
        running = asyncio.create_task(harness.loop.run(settings))
        for kind in settings.kinds:
            harness.inbox.observe(KindSynced(kind=kind))
        harness.observe_pod("a")
        while not harness.unplaced:  # noqa: ASYNC110 - a step of the loop under test tells nobody
            await asyncio.sleep(0)

        harness.loop.stop()
        harness.observe_pod("b")
        await running

        assert harness.unplaced == 1
        assert harness.scheduler.sizes().cached["pods"] == 1


async def test_a_bind_drops_what_was_to_be_said_of_its_pod(tmp_path: Path) -> None:
    says = WriteCondition(
        uid="u", namespace="ns", name="p", resource_version="1", attempt=3, reason="Unschedulable", message="why"
    )
    bind = Bind(uid="u", namespace="ns", name="p", node="n", attempt=4)
    async with looping(tmp_path) as harness:
        harness.executor.submit([says], 1)
        assert harness.inbox.take(9) == []

        harness.executor.submit([BindGang(gang="ns/Pod/p", binds=(bind,), nothing_bound=True)], 2)

        assert harness.inbox.take(9) == [ConditionAnswered(uid="u", attempt=3, outcome=ConditionOutcome.DROPPED)]


@pytest.mark.parametrize(
    ("seconds", "events_full", "rows_spent", "events", "rows"),
    [
        pytest.param(STEP_S * 2, True, True, 0.5, 0.5, id="too-long-halves-both"),
        pytest.param(STEP_S / 4, True, False, 2, 1, id="quick-and-full-takes-more-events"),
        pytest.param(STEP_S / 4, False, True, 1, 2, id="quick-and-unfinished-looks-at-more-rows"),
        pytest.param(STEP_S / 4, False, False, 1, 1, id="quick-with-nothing-more-to-do-stays"),
        pytest.param(STEP_S * 0.75, True, True, 1, 1, id="about-right-stays"),
    ],
)
def test_pace_follows_the_time_of_a_step(
    seconds: float, events_full: bool, rows_spent: bool, events: float, rows: float
) -> None:
    pace = Pace()
    before = (pace.events, pace.rows)

    changed = pace.adapt(seconds, events_full=events_full, rows_spent=rows_spent)

    assert (pace.events, pace.rows) == (before[0] * events, before[1] * rows)
    assert changed == (rows != 1)


def test_pace_has_bounds() -> None:
    pace = Pace()
    for _ in range(100):
        pace.adapt(STEP_S * 2, events_full=True, rows_spent=True)
    low = (pace.events, pace.rows)
    for _ in range(100):
        pace.adapt(0.0, events_full=True, rows_spent=True)

    assert low == (16, 10_000)
    assert (pace.events, pace.rows) == (4096, 4_000_000)

"""The loop that owns the scheduler: events in, one step, instructions out."""

from collections.abc import Iterable
from itertools import count
from time import perf_counter
from typing import assert_never

import structlog

from gangline.base.clock import Clock
from scheduler.binder import Binder
from scheduler.core.events import Event, RowBudgetGiven, SettingsGiven
from scheduler.core.instructions import Announce, BindGang, Instruction, ReadPod, WriteCondition
from scheduler.core.machine import ROWS_PER_STEP, Decision, Scheduler, Step
from scheduler.inbox import Inbox
from scheduler.metrics import Metrics
from scheduler.statuswriter import StatusWriter

log = structlog.get_logger()

STEP_S = 0.02
"""How long one step may keep the event loop from everything else."""
_EVENTS_AT_LEAST = 16
_EVENTS_AT_MOST = 4096
_ROWS_AT_LEAST = 10_000
_ROWS_AT_MOST = 4_000_000


class Executor:
    """Hands each instruction to the shell that carries it out; never blocks."""

    def __init__(self, binder: Binder, status_writer: StatusWriter) -> None:
        self._binder = binder
        self._status_writer = status_writer

    def submit(self, instructions: Iterable[Instruction], step: int) -> None:
        """Start carrying out the instructions of a step, in order; its number stands in whatever is logged of them."""
        for instruction in instructions:
            match instruction:
                case BindGang():
                    self._status_writer.drop(bind.uid for bind in instruction.binds)
                    self._binder.submit(instruction, step)
                    say = log.info if len(instruction.binds) > 1 else log.debug
                    say("gang_planned", gang=instruction.gang, members=len(instruction.binds), step=step)
                case ReadPod():
                    self._binder.submit(instruction, step)
                case WriteCondition():
                    self._status_writer.write(instruction, step)
                case Announce():
                    self._status_writer.announce(instruction)
                case _:
                    assert_never(instruction)


class Pace:
    """How much one step may do, so that it keeps the event loop for about `STEP_S`: halved above, doubled below half."""

    def __init__(self) -> None:
        self.events = 256
        self.rows = ROWS_PER_STEP

    def adapt(self, seconds: float, *, events_full: bool, rows_spent: bool) -> bool:
        """Learn from one step; True when the budget of node rows has changed."""
        rows = self.rows
        if seconds > STEP_S:
            self.events = max(_EVENTS_AT_LEAST, self.events // 2)
            self.rows = max(_ROWS_AT_LEAST, self.rows // 2)
        elif seconds < STEP_S / 2:
            if events_full:
                self.events = min(_EVENTS_AT_MOST, self.events * 2)
            if rows_spent:
                self.rows = min(_ROWS_AT_MOST, self.rows * 2)
        return self.rows != rows


class Loop:
    """Steps the scheduler until it is told to stop."""

    def __init__(
        self, scheduler: Scheduler, inbox: Inbox, executor: Executor, metrics: Metrics, *, clock: Clock
    ) -> None:
        self._scheduler = scheduler
        self._inbox = inbox
        self._executor = executor
        self._metrics = metrics
        self._clock = clock
        self._pace = Pace()
        self._stopping = False

    def stop(self) -> None:
        """Decide and order nothing more."""
        self._stopping = True
        self._inbox.ring()

    async def run(self, settings: SettingsGiven) -> None:
        """Decide until `stop`; what is told afterwards is not looked at."""
        events: list[Event] = [settings]
        for number in count(1):
            if self._stopping:
                return
            step = self._step(events)
            self._executor.submit(step.instructions, number)
            await self._inbox.wait(self._clock.now() if step.more else step.wake_at)
            events = self._inbox.take(self._pace.events)

    def _step(self, events: list[Event]) -> Step:
        started = perf_counter()
        step = self._scheduler.handle(events, self._clock.now())
        seconds = perf_counter() - started
        self._metrics.step_seconds.observe(seconds)
        if self._pace.adapt(seconds, events_full=len(events) >= self._pace.events, rows_spent=step.more):
            self._inbox.answer(RowBudgetGiven(rows=self._pace.rows))
        for decision in step.decisions:
            self._count(decision)
        return step

    def _count(self, decision: Decision) -> None:
        outcome = "placed" if decision.placed else "unplaced"
        self._metrics.decisions.labels(outcome).inc()
        self._metrics.decided_members.labels(outcome).inc(decision.members)
        if decision.placed:
            self._metrics.gang_wait.observe(max(0.0, decision.waited_s))

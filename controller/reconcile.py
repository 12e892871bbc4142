"""Reconciles PodGroups one by one: each once at a time, changes gathered, failures with a growing delay of their own."""

import asyncio
import random
from collections.abc import Callable
from typing import Final

import structlog
from msgspec import Struct

from controller.announcer import Announcer
from controller.core.index import Index
from controller.core.rivals import Rivals, Verdict
from controller.core.status import Assessment, assess, is_ours
from controller.metrics import Metrics, Outcome
from controller.writer import StatusWriter
from gangline.base.backoff import Backoff
from gangline.base.clock import Clock
from gangline.base.key_queue import KeyQueue
from gangline.contract.meta import Key
from gangline.contract.podgroup import PodGroup

DELAYED: Final = frozenset({Outcome.REFUSED, Outcome.UNANSWERED, Outcome.BROKEN})
"""Failures whose delay holds whatever changes meanwhile; after a conflict the next version is tried at once."""
RETRIED: Final = DELAYED | {Outcome.CONFLICT}
BACKOFF: Final = Backoff(initial_s=0.1, limit_s=60.0)

log = structlog.get_logger()


class _Reconciled(Struct, frozen=True, kw_only=True):
    """What became of a reconcile, and when to look again at the earliest (seconds from now)."""

    outcome: Outcome
    again_s: float | None = None


class Reconciler:
    """Brings the status of each PodGroup that was asked for to what its pods say.

    `clock` is for whatever lasts; `wall_time` is what objects are stamped with, seconds since the epoch.
    """

    def __init__(
        self,
        index: Index,
        rivals: Rivals,
        writer: StatusWriter,
        announcer: Announcer,
        metrics: Metrics,
        *,
        clock: Clock,
        wall_time: Callable[[], float],
        coalesce_s: float,
    ) -> None:
        self._index = index
        self._rivals = rivals
        self._writer = writer
        self._announcer = announcer
        self._metrics = metrics
        self._clock = clock
        self._wall_time = wall_time
        self._coalesce_s = coalesce_s
        self._queue: KeyQueue[Key] = KeyQueue()
        self._asked_at: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}
        self._retry_at: dict[Key, float] = {}
        self._wake = asyncio.Event()

    def ask(self, key: Key) -> None:
        """Ask for a PodGroup to be reconciled soon; what happens to it meanwhile is gathered."""
        now = self._clock.now()
        self._asked_at.setdefault(key, now)
        self._queue.add(key, max(now + self._coalesce_s, self._retry_at.get(key, now)))
        self._wake.set()

    def wake(self) -> None:
        """Let waiting workers see that they are to stop."""
        self._wake.set()

    @property
    def depth(self) -> int:
        """How many PodGroups wait, also those that wait for a deadline."""
        return len(self._queue)

    def oldest_age_s(self) -> float:
        """For how long the oldest change waits to be reconciled."""
        oldest = next(iter(self._asked_at.values()), None)
        return 0.0 if oldest is None else self._clock.now() - oldest

    async def work(self, stop: asyncio.Event) -> None:
        """Reconcile what is asked for until `stop`; several workers may run."""
        while not stop.is_set():
            key = self._queue.take(self._clock.now())
            if key is None:
                await self._until_ready()
                continue
            try:
                await self._reconcile(key)
            finally:
                self._queue.done(key)
            await asyncio.sleep(0)

    async def _until_ready(self) -> None:
        self._wake.clear()
        now = self._clock.now()
        ready_at = self._queue.next_ready(now)
        try:
            async with asyncio.timeout(None if ready_at is None else ready_at - now):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _reconcile(self, key: Key) -> None:
        started = self._clock.now()
        asked_at = self._asked_at.pop(key, None)
        with structlog.contextvars.bound_contextvars(group=str(key)):
            try:
                reconciled = await self._step(key)
            except Exception:
                # The one guard: whatever is wrong with this PodGroup must not stop the others.
                log.exception("reconcile_broken")
                reconciled = _Reconciled(outcome=Outcome.BROKEN)
        self._again(key, reconciled)
        ended = self._clock.now()
        self._metrics.reconciles.labels(reconciled.outcome).inc()
        self._metrics.reconcile_seconds.observe(ended - started)
        if asked_at is not None:
            self._metrics.status_lag.observe(ended - asked_at)

    def _again(self, key: Key, reconciled: _Reconciled) -> None:
        again_s, now = reconciled.again_s, self._clock.now()
        self._retry_at.pop(key, None)
        if reconciled.outcome in RETRIED:
            self._failures[key] = self._failures.get(key, 0) + 1
            again_s = max(BACKOFF.delay(self._failures[key], random.random()), again_s or 0.0)  # noqa: S311 not a secret
        else:
            self._failures.pop(key, None)
        if reconciled.outcome in DELAYED:
            self._retry_at[key] = now + (again_s or 0.0)
        if again_s is not None:
            self._queue.add(key, now + again_s)

    async def _step(self, key: Key) -> _Reconciled:
        unreadable = self._index.unreadable(key)
        if unreadable is not None:
            self._announcer.unreadable(unreadable)
            return _Reconciled(outcome=Outcome.UNREADABLE)
        group, members = self._index.group(key), self._index.members(key)
        if group is None:
            return _Reconciled(outcome=Outcome.GONE)
        if not is_ours(members.values()):
            return _Reconciled(outcome=Outcome.NOT_OURS)
        quiet_s = self._rivals.quiet_s(group.metadata.uid, self._clock.now())
        if quiet_s > 0:
            return _Reconciled(outcome=Outcome.GIVEN_WAY, again_s=quiet_s)
        now = self._wall_time()
        with structlog.contextvars.bound_contextvars(uid=group.metadata.uid):
            return await self._write(group, assess(group, members, now), now)

    async def _write(self, group: PodGroup, assessment: Assessment, now: float) -> _Reconciled:
        uid, status = group.metadata.uid, assessment.status
        verdict = Verdict.of(status)
        self._announce(group, assessment)
        self._rivals.sends(uid, verdict)
        written = await self._writer.write(group, status)
        if written.stored is not None:
            version = written.stored.metadata.resource_version
            self._rivals.wrote(uid, verdict, resource_version=version)
            self._index.replace_group(group, written.stored)
        if written.outcome in RETRIED:
            return _Reconciled(outcome=written.outcome, again_s=written.retry_after_s)
        again_s = None if assessment.look_again_at is None else assessment.look_again_at - now
        return _Reconciled(outcome=written.outcome, again_s=again_s)

    def _announce(self, group: PodGroup, assessment: Assessment) -> None:
        timeout_s = assessment.overdue_timeout_s
        if timeout_s is not None and self._announcer.timed_out(group, assessment.status, timeout_s):
            self._metrics.schedule_timeouts.inc()
            log.info("schedule_timed_out", timeout_s=timeout_s)

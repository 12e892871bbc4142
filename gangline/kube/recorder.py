"""Writes Kubernetes Events behind everything else: bounded, counted, and never in anybody's way."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, Protocol

import structlog

from gangline.base.clock import Clock
from gangline.base.token_bucket import TokenBucket
from gangline.kube.client import Client
from gangline.kube.clock import MonotonicClock, utc_now
from gangline.kube.wire.errors import AlreadyExists, ApiError, is_ending
from gangline.kube.wire.events import EventLog, EventType, ObjectReference, Occurrence
from gangline.kube.wire.requests import Request

__all__ = ["EventObserver", "EventRecorder", "ObjectReference"]

QUEUE_LIMIT: Final = 1000
NAMESPACES_REMEMBERED: Final = 100
"""Of how many namespaces it is remembered what was warned of; then all may be warned of once more."""

log = structlog.get_logger()


class EventObserver(Protocol):
    """Is told what becomes of each Event."""

    def written(self) -> None:
        """Count an Event, or its repeats, that the API server has."""
        ...

    def dropped(self) -> None:
        """Count one that is lost: no room, refused, or given up."""
        ...


class IgnoredEvents:
    """The observer of those who do not count."""

    def written(self) -> None:
        """Do nothing."""

    def dropped(self) -> None:
        """Do nothing."""


class EventRecorder:
    """Records Events of one component. `rate` and `burst` bound the writes per second; what does not fit is dropped.

    `component` is the reportingController (e.g. `gangline.io/scheduler`), `instance` the process, both at most 128
    characters.
    """

    def __init__(  # noqa: PLR0913 - seams with good defaults
        self,
        client: Client,
        *,
        component: str,
        instance: str,
        observer: EventObserver | None = None,
        clock: Clock | None = None,
        utc: Callable[[], datetime] = utc_now,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        rate: float = 50.0,
        burst: int = 100,
        limit: int = QUEUE_LIMIT,
    ) -> None:
        self._client = client
        self._clock = clock or MonotonicClock()
        self._utc = utc
        self._wait = wait
        self._jitter = jitter
        self._bucket = TokenBucket(rate, burst)
        self._log = EventLog(component=component, instance=instance, limit=limit)
        self._recorded = asyncio.Event()
        self._writing = asyncio.Lock()
        self._observer = observer or IgnoredEvents()
        self._told: dict[str, set[type[ApiError]]] = {}

    def __len__(self) -> int:
        """Return how many Events wait to be written."""
        return len(self._log)

    def record(
        self,
        regarding: ObjectReference,
        type_: EventType,
        reason: str,
        note: str,
        action: str,
        name: str | None = None,
    ) -> None:
        """Record an Event and return at once; `name` makes it a single one, of which a second create is harmless."""
        occurrence = Occurrence(
            regarding=regarding,
            type=type_,
            reason=reason,
            action=action,
            note=note,
            name=name or "",
        )
        if self._log.record(occurrence, self._clock.now(), self._utc()):
            self._recorded.set()
        else:
            self._observer.dropped()

    async def run(self) -> None:
        """Write for ever."""
        while True:
            await self._until_due()
            while (delay_s := self._bucket.take(self._clock.now())) > 0:
                await self._wait(delay_s)
            await self._write_next(self._clock.now())

    async def flush(self, deadline_s: float) -> bool:
        """Write everything that waits, also what is not due yet; True when that was done in time."""
        try:
            async with asyncio.timeout(deadline_s):
                while await self._write_next(float("inf")):
                    pass
        except TimeoutError:
            return False
        return True

    async def _until_due(self) -> None:
        while True:
            self._recorded.clear()
            now = self._clock.now()
            due = self._log.next_ready(now)
            if due is not None and due <= now:
                return
            try:
                async with asyncio.timeout(None if due is None else due - now):
                    await self._recorded.wait()
            except TimeoutError:
                return

    async def _write_next(self, until: float) -> bool:
        """Write one Event that is due by then; False when there was none."""
        async with self._writing:
            taken = self._log.take(until)
            if taken is None:
                return False
            await self._write(*taken)
            return True

    async def _write(self, occurrence: Occurrence, request: Request) -> None:
        try:
            await self._client.send(request)
        except AlreadyExists:
            self._log.written(occurrence, self._clock.now())
        except ApiError as error:
            if not self._log.failed(occurrence, error, self._clock.now(), self._jitter()):
                self._observer.dropped()
                if not is_ending(error):
                    self._complain(occurrence, error)
        else:
            self._observer.written()
            self._told.pop(occurrence.regarding.namespace, None)
            self._log.written(occurrence, self._clock.now())

    def _complain(self, occurrence: Occurrence, error: ApiError) -> None:
        """Warn of the first of a kind, until one is written in the namespace: rights that lack are lacking for all."""
        namespace = occurrence.regarding.namespace
        if namespace not in self._told and len(self._told) >= NAMESPACES_REMEMBERED:
            self._told.clear()
        told = self._told.setdefault(namespace, set())
        say = log.debug if type(error) in told else log.warning
        told.add(type(error))
        say("event_not_written", reason=occurrence.reason, error=str(error))

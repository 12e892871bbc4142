"""Follows one kind of object for ever and tells every change; `wire.watch` decides, this does."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Generic, TypeVar, assert_never

import structlog

from gangline.base.backoff import Backoff
from gangline.base.clock import Clock
from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.clock import MonotonicClock
from gangline.kube.connection import Lines
from gangline.kube.wire import requests
from gangline.kube.wire.changes import Change, Observed, Progress, Removed, Synced, T, Unreadable
from gangline.kube.wire.errors import ApiError, Gone
from gangline.kube.wire.resources import Resource
from gangline.kube.wire.watch import Confirm, ListPage, OpenWatch, Wait, WatchMachine

__all__ = ["Change", "Observed", "Progress", "Reflector", "Removed", "Synced", "Unreadable"]

SILENCE_S: Final = 75.0
"""The server sends a bookmark about once a minute."""
LINES_AT_ONCE: Final = 100
"""After so many lines the rest of the process gets its turn, however many more have come already."""
RETRY_BACKOFF: Final = Backoff(initial_s=0.25, limit_s=30.0)

K = TypeVar("K", bound=str)

log = structlog.get_logger()


class Reflector(Generic[T]):
    """Lists, then watches, then lists again whenever the watch cannot go on; keeps no object.

    `sink` gets every change in order, from inside `run`, and must not block. `watch_seconds` are the bounds of a
    watch's length (also of how long we may see what we are no longer allowed to see), `silence_s` the time without
    any line after which a watch counts as dead.
    """

    def __init__(  # noqa: PLR0913 - seams with good defaults
        self,
        client: Client,
        resource: Resource,
        type_: type[T],
        sink: Callable[[Change[T]], None],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        watch_seconds: tuple[int, int] = (300, 600),
        silence_s: float = SILENCE_S,
        backoff: Backoff = RETRY_BACKOFF,
        clock: Clock | None = None,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._resource = resource
        self._sink = sink
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._silence_s = silence_s
        self._clock = clock or MonotonicClock()
        self._wait = wait
        self._jitter = jitter
        self._machine = WatchMachine(type_, watch_seconds=watch_seconds, backoff=backoff, resource=resource)

    @property
    def synced(self) -> bool:
        """Whether all that exists has been told once."""
        return self._machine.synced

    @property
    def problem(self) -> str | None:
        """Why what was told may no longer be fresh, e.g. `403 Forbidden: ...`; None while all is well."""
        return self._machine.problem

    def obstacle(self, stale_after_s: float) -> str | None:
        """Why nobody should rely on what was told, in words for /readyz; see `WatchMachine.obstacle`."""
        return self._machine.obstacle(self._clock.now(), stale_after_s)

    def staleness_s(self) -> float:
        """Seconds since the server last gave a sign of life; infinite before the first."""
        return self._machine.staleness_s(self._clock.now())

    async def run(self) -> None:
        """Follow until cancelled; no answer of the server ends it."""
        while True:
            order = self._machine.next(self._jitter())
            try:
                match order:
                    case ListPage():
                        await self._list(order)
                    case Confirm():
                        await self._confirm()
                    case OpenWatch():
                        await self._watch(order)
                    case Wait(seconds):
                        await self._wait(seconds)
                    case _:
                        assert_never(order)
            except ApiError as error:
                self._machine.failed(error, self._clock.now())
                passes = error.transient or isinstance(error, Gone)
                say = log.info if passes else log.warning
                say("watch_interrupted", resource=self._resource.plural, error=str(error))

    async def _list(self, order: ListPage) -> None:
        request = requests.list_page(
            self._resource,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            limit=order.limit,
            continue_token=order.continue_token,
        )
        self._tell(self._machine.page(await self._client.send(request), self._clock.now()))

    async def _confirm(self) -> None:
        """Read one object, and select none, so that the answer costs the server the same however many there are."""
        request = requests.list_page(self._resource, namespace=self._namespace, limit=1)
        self._machine.confirmed(await self._client.send(request))

    async def _watch(self, order: OpenWatch) -> None:
        request = requests.watch(
            self._resource,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=order.resource_version,
            seconds=order.seconds,
            silence_s=self._silence_s,
        )
        async with self._client.stream(request) as lines:
            self._machine.opened(self._clock.now())
            await self._follow(lines)
        self._machine.ended(self._clock.now())

    async def _follow(self, lines: Lines) -> None:
        told = 0
        async for line in lines:
            self._tell(self._machine.line(line, self._clock.now()))
            told += 1
            if told % LINES_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _tell(self, changes: list[Change[T]]) -> None:
        for change in changes:
            self._sink(change)


def obstacles(reflectors: Mapping[K, Reflector[Any]], stale_after_s: float) -> list[str]:
    """Say of which kinds nobody should rely on what was told, and why, in words for /readyz."""
    found = ((kind, reflector.obstacle(stale_after_s)) for kind, reflector in reflectors.items())
    return [f"{kind}: {obstacle}" for kind, obstacle in found if obstacle is not None]


def kept_in(seen: dict[Key, T], tell: Callable[[], object]) -> Callable[[Change[T]], None]:
    """Return a sink that keeps the newest version of each object by its key, and tells after each change."""

    def take(change: Change[T]) -> None:
        match change:
            case Observed(object=object_):
                seen[object_.metadata.key] = object_
            case Removed(key=key):
                seen.pop(key, None)
            case _:
                pass
        tell()

    return take

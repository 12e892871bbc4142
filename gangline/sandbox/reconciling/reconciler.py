"""The one shell of all kubelets and controllers: keys wait in a queue, workers reconcile them, failures come back."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar, assert_never

import structlog
from msgspec import convert

from gangline.base.backoff import Backoff
from gangline.base.key_queue import KeyQueue
from gangline.contract.meta import Key, ObjectMeta
from gangline.kube.client import Client
from gangline.kube.clock import utc_now
from gangline.kube.wire.errors import ApiError, Conflict, NotFound, is_another, is_ending
from gangline.kube.wire.resources import Resource
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.actions import Action, Create, Decision, Delete, Note, Patch
from gangline.sandbox.reconciling.announcements import note_of
from gangline.sandbox.reconciling.cache import Cache
from gangline.sandbox.reconciling.world import Pace, World

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Identified)
Seen = Callable[[], bool]
"""Tells whether the cache shows what was written."""

PATIENCE_S: Final = 5.0
"""How long a decision waits for its own writes to come back; then the cache is believed as it is."""
LOOK_AGAIN_S: Final = 1.0
CONCURRENT_WRITES: Final = 16
FIELD_MANAGER: Final = "gangline-sandbox"
RETRY: Final = Backoff(initial_s=0.05, limit_s=15.0)

log = structlog.get_logger()


class Reconciler(Generic[K]):
    """Calls `reconcile` for each key that is enqueued, never twice at once for one key.

    `reconcile` returns seconds until it wants to be called again, or None; a failed key comes back, ever later.
    """

    def __init__(self, name: str, reconcile: Callable[[K], Awaitable[float | None]], *, workers: int = 4) -> None:
        self._name = name
        self._reconcile = reconcile
        self._workers = workers
        self._queue: KeyQueue[K] = KeyQueue()
        self._added = asyncio.Event()
        self._failures: dict[K, int] = {}

    def enqueue(self, key: K, after_s: float = 0.0) -> None:
        """Ask for a key to be reconciled."""
        self._queue.add(key, time.monotonic() + after_s if after_s else 0.0)
        self._added.set()

    async def run(self, synced: Iterable[asyncio.Event]) -> None:
        """Work for ever, once everything that decisions rest on is known."""
        for event in synced:
            await event.wait()
        async with asyncio.TaskGroup() as group:
            for index in range(self._workers):
                group.create_task(self._work(), name=f"{self._name}-{index}")

    async def _work(self) -> None:
        while True:
            key = await self._next()
            try:
                again_in_s = await self._reconcile(key)
                self._failures.pop(key, None)
            except (ApiError, ValueError, ArithmeticError, LookupError) as error:  # odd figures and shapes
                again_in_s = self._retry_in(key, error)
            self._queue.done(key)
            if again_in_s is not None:
                self.enqueue(key, again_in_s)

    async def _next(self) -> K:
        while (key := self._queue.take(time.monotonic())) is None:
            self._added.clear()
            ready_at = self._queue.next_ready(time.monotonic())
            try:
                async with asyncio.timeout(None if ready_at is None else max(ready_at - time.monotonic(), 0.0)):
                    await self._added.wait()
            except TimeoutError:
                continue
        return key

    def _retry_in(self, key: K, error: Exception) -> float:
        attempt = self._failures.get(key, 0) + 1
        self._failures[key] = attempt
        if not isinstance(error, Conflict):
            log.warning("reconcile_failed", reconciler=self._name, key=str(key), attempt=attempt, error=str(error))
        return RETRY.delay(attempt, random.random())  # noqa: S311 - jitter


class Decider(Generic[T]):
    """Carries out what a pure function decides for an object, and asks it again only once the caches show the result."""

    def __init__(
        self,
        client: Client,
        type_: type[T],
        decide: Callable[[T, World], Decision],
        caches: Mapping[Resource, Cache[Any]],
        *,
        pace: Pace,
        tell: Callable[[T, Note], None],
    ) -> None:
        self._client = client
        self._things: Cache[T] = caches[RESOURCES[type_]]
        self._decide = decide
        self._caches = caches
        self._pace = pace
        self._tell = tell
        self._writes = asyncio.Semaphore(CONCURRENT_WRITES)
        self._unseen: dict[Key, tuple[float, list[Seen]]] = {}

    async def reconcile(self, key: Key) -> float | None:
        """Decide and write; raise the first error, after everything has been tried."""
        thing = self._things.get(key)
        if self._waits(key):
            return LOOK_AGAIN_S
        if thing is None:
            return None
        decision = self._decide(thing, World(self._caches, utc_now(), self._pace))
        if decision.actions:
            results = await self._perform(thing, decision.actions)
            seen = [result for result in results if not isinstance(result, ApiError)]
            self._unseen[key] = (time.monotonic() + PATIENCE_S, seen)
            for result in results:
                if isinstance(result, ApiError):
                    raise result
        for note in decision.notes:
            self._tell(thing, note)
        return decision.again_in_s

    def _waits(self, key: Key) -> bool:
        until, unseen = self._unseen.pop(key, (0.0, []))
        unseen = [seen for seen in unseen if not seen()]
        if not unseen or time.monotonic() >= until:
            return False
        self._unseen[key] = (until, unseen)
        return True

    async def _perform(self, thing: T, actions: tuple[Action, ...]) -> list[Seen | ApiError]:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._attempt(thing, action), name=f"{type(action).__name__}-{index}")
                for index, action in enumerate(actions)
            ]
        return [task.result() for task in tasks]

    async def _attempt(self, thing: T, action: Action) -> Seen | ApiError:
        async with self._writes:
            try:
                return await self._write(thing, action)
            except ApiError as error:
                is_settled = isinstance(error, NotFound) and not isinstance(action, Create)
                if is_settled or is_ending(error) or is_another(error):
                    return _at_once
                self._announce(thing, action, "", error)
                return error

    async def _write(self, thing: T, action: Action) -> Seen:
        cache = self._caches.get(action.resource)
        before = None if isinstance(action, Create) else _version(cache, action.key)
        reply = await perform(self._client, action)
        key = reply.key if isinstance(action, Create) else action.key
        self._announce(thing, action, key.name)
        if cache is None or reply.resource_version == before:
            return _at_once
        return lambda: _version(cache, key) != before

    def _announce(self, thing: T, action: Action, name: str, error: ApiError | None = None) -> None:
        note = note_of(thing, action, name, error)
        if note is not None:
            self._tell(thing, note)


async def perform(client: Client, action: Action) -> ObjectMeta:
    """Carry one action out and return the metadata that the object has then, empty if deleted. Raises ApiError."""
    match action:
        case Create():
            reply = await client.create(action.resource, action.namespace, action.body)
        case Patch():
            reply = await client.patch(
                action.resource,
                action.key,
                action.body,
                subresource=action.subresource,
                content_type=action.content_type,
                field_manager=FIELD_MANAGER,
            )
        case Delete():
            await client.delete(
                action.resource,
                action.key,
                uid=action.uid,
                grace_period_s=action.grace_period_s,
                propagation=action.propagation,
            )
            return ObjectMeta()
        case _:
            assert_never(action)
    return convert(reply["metadata"], ObjectMeta)


def _at_once() -> bool:
    return True


def _version(cache: Cache[Any] | None, key: Key) -> str | None:
    thing = cache.get(key) if cache is not None else None
    return None if thing is None else thing.metadata.resource_version

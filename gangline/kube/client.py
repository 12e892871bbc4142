"""The API server as both services use it: typed reads, patches, bindings, and one hook for every request."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

from gangline.base.backoff import Backoff
from gangline.base.clock import Clock
from gangline.contract.meta import Key
from gangline.kube.clock import MonotonicClock
from gangline.kube.connection import Connection, Lines, read_body
from gangline.kube.denials import Denials
from gangline.kube.transport import AccessSource
from gangline.kube.wire import requests
from gangline.kube.wire.changes import T, Unreadable
from gangline.kube.wire.decode import ObjectDecoder, decoded
from gangline.kube.wire.errors import ApiError, Conflict, Undecodable
from gangline.kube.wire.patches import merge_patch
from gangline.kube.wire.requests import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    WRITE_TIMEOUT_S,
    Request,
)
from gangline.kube.wire.resources import Resource

__all__ = [
    "APPLY_PATCH",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_PATCH",
    "Client",
    "RequestObserver",
    "connect",
]

DEFAULT_CONCURRENCY: Final = 64
CALLS_BESIDE_WRITES: Final = 32
"""Connections that a service needs beside those for its own writes: for lists, Events, and above all the lease."""
UPDATE_ATTEMPTS: Final = 5
UPDATE_BACKOFF: Final = Backoff(initial_s=0.05, limit_s=1.0)

Decodable = TypeVar("Decodable")
Edit = Callable[[dict[str, Any]], dict[str, Any] | None]


class RequestObserver(Protocol):
    """Is told of every request: `code` is the status, or the name of the error where there was none."""

    def observe(self, verb: str, resource: str, code: str, seconds: float) -> None:
        """Count one request."""
        ...


class Listing(NamedTuple, Generic[T]):
    """A collection as it was at a resourceVersion, with the envelopes of what does not decode."""

    items: list[T]
    unreadable: list[Unreadable]
    resource_version: str


class IgnoredRequests:
    """The observer of those who do not count."""

    def observe(self, verb: str, resource: str, code: str, seconds: float) -> None:
        """Do nothing."""


class Client:
    """One API server for one process; enter it inside the running loop, leave it last.

    Every method raises `ApiError` (see `wire.errors`) and none retries, except `update_retrying` on conflicts.
    """

    def __init__(self, connection: Connection, *, observer: RequestObserver, clock: Clock) -> None:
        self._connection = connection
        self._observer = observer
        self._clock = clock
        self._denials = Denials(clock)

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._connection.__aexit__(kind, error, traceback)

    def denials(self) -> list[str]:
        """Say what we may not do but list and watch, of which Reflectors tell; in words for /readyz."""
        return self._denials.problems()

    async def get(self, resource: Resource, key: Key, type_: type[Decodable]) -> Decodable:
        """Read one object."""
        return decoded(await self.send(requests.get(resource, key)), type_)

    async def list(
        self,
        resource: Resource,
        type_: type[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> tuple[list[T], str]:
        """Read a collection, page by page, and the resourceVersion it was read at.

        Raises Undecodable for the first object that does not decode, Gone when the list takes too long.
        """
        listing = await self.list_readable(
            resource, type_, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        for item in listing.unreadable:
            raise Undecodable(f"{resource.plural} {item.key}: {item.message}", status=200)
        return listing.items, listing.resource_version

    async def list_readable(
        self,
        resource: Resource,
        type_: type[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Listing[T]:
        """Read a collection as `list` does, with what does not decode apart."""
        decoder = ObjectDecoder(type_, resource)
        items: list[T] = []
        unreadable: list[Unreadable] = []
        token = ""
        while True:
            body = await self.send(
                requests.list_page(
                    resource,
                    namespace=namespace,
                    label_selector=label_selector,
                    field_selector=field_selector,
                    continue_token=token,
                )
            )
            page = decoder.page(body)
            for item in page.items:
                if isinstance(item, Unreadable):
                    unreadable.append(item)
                else:
                    items.append(item)
            token = page.continue_token
            if not token:
                return Listing(items, unreadable, page.resource_version)

    async def create(self, resource: Resource, namespace: str, body: object) -> dict[str, Any]:
        """Create an object from a dict or a Struct; `namespace` is ignored for cluster-scoped kinds."""
        return await self._write(requests.create(resource, namespace, body))

    async def patch(
        self,
        resource: Resource,
        key: Key,
        patch: object,
        *,
        subresource: str | None = None,
        content_type: str = MERGE_PATCH,
        field_manager: str | None = None,
    ) -> dict[str, Any]:
        """Change an object, with metadata.resourceVersion in the patch only if it is still at that version (409).

        Another metadata.uid than the object's is Invalid (`wire.errors.is_another`), but ignored in the status of
        custom resources.
        """
        return await self._write(
            requests.patch(
                resource, key, patch, subresource=subresource, content_type=content_type, field_manager=field_manager
            )
        )

    async def delete(
        self,
        resource: Resource,
        key: Key,
        *,
        uid: str | None = None,
        grace_period_s: int | None = None,
        propagation: str | None = None,
    ) -> None:
        """Delete an object, and only the one with this UID where given."""
        await self.send(requests.delete(resource, key, uid=uid, grace_period_s=grace_period_s, propagation=propagation))

    async def bind(self, key: Key, uid: str, node: str, *, within_s: float = WRITE_TIMEOUT_S) -> None:
        """Bind the pod with this UID to a node, in this time; whatever a success carries is not looked at."""
        await self.send(requests.bind(key, uid, node, within_s=within_s))

    async def evict(self, key: Key, *, uid: str | None = None) -> None:
        """Evict a pod; TooManyRequests means that a disruption budget forbids it now."""
        await self.send(requests.evict(key, uid=uid))

    async def update_retrying(
        self,
        resource: Resource,
        key: Key,
        change: Edit,
        *,
        subresource: str | None = None,
        attempts: int = UPDATE_ATTEMPTS,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> dict[str, Any]:
        """Read, change, and patch what differs, on the condition that nobody else wrote in between.

        `change` gets a copy of its own and returns what should be, or None for no change; it is called again after
        each Conflict, of which the last is raised. Returns the object as it is now.
        """
        for attempt in range(1, attempts + 1):
            body = await self.send(requests.get(resource, key))
            before = decoded(body, dict[str, Any])
            after = change(decoded(body, dict[str, Any]))
            difference = {} if after is None else merge_patch(before, after)
            if not difference:
                return before
            metadata = difference.setdefault("metadata", {})
            metadata["resourceVersion"] = before.get("metadata", {}).get("resourceVersion")
            try:
                return await self.patch(resource, key, difference, subresource=subresource)
            except Conflict:
                if attempt == attempts:
                    raise
                await wait(UPDATE_BACKOFF.delay(attempt, random.random()))  # noqa: S311 - spreads retries
        raise ValueError(f"attempts={attempts}: wanted at least 1")

    async def send(self, request: Request) -> bytes:
        """Send any request and return the body of its success."""
        started = self._clock.now()
        try:
            async with await self._connection.open(request) as response:
                body = await read_body(response)
                self._observe(request, str(response.status), started)
                self._denials.answered(request, None)
                return body
        except ApiError as error:
            self._observe(request, error.code, started)
            self._denials.answered(request, error)
            raise

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Lines]:
        """Open a watch; its lines come with their ends, and raise ApiError when the stream breaks.

        The time observed is the time until the server accepts the watch.
        """
        started = self._clock.now()
        try:
            response = await self._connection.open(request)
        except ApiError as error:
            self._observe(request, error.code, started)
            raise
        self._observe(request, str(response.status), started)
        async with response:
            yield Lines(response)

    async def _write(self, request: Request) -> dict[str, Any]:
        return decoded(await self.send(request), dict[str, Any])

    def _observe(self, request: Request, code: str, started: float) -> None:
        self._observer.observe(request.verb, request.resource, code, self._clock.now() - started)


def connect(
    kubeconfig: str | None,
    context: str | None = None,
    *,
    user_agent: str,
    observer: RequestObserver | None = None,
    clock: Clock | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    call_limit_s: float | None = None,
) -> Client:
    """Return a client, not yet entered, of a kubeconfig, else of the cluster we run in, else of the usual file.

    `concurrency` bounds the connections for calls; watches have their own. No call takes longer than `call_limit_s`.
    Entering raises ConfigurationError.
    """
    clock = clock or MonotonicClock()
    source = AccessSource(kubeconfig, context)
    connection = Connection(
        source, user_agent=user_agent, clock=clock, concurrency=concurrency, call_limit_s=call_limit_s
    )
    return Client(connection, observer=observer or IgnoredRequests(), clock=clock)

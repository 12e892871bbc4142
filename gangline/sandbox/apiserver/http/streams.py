"""Open watches: sends the log to each watcher as chunked JSON lines, with bookmarks, deadlines and faults."""

import asyncio
from contextlib import suppress

from aiohttp import web
from msgspec import Struct

from gangline.sandbox.apiserver.faults import DropWatch, Fault, StallWatch
from gangline.sandbox.apiserver.kinds import GroupResource
from gangline.sandbox.apiserver.store import Store
from gangline.sandbox.apiserver.verbs.watches import Watch

_HEADERS = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}


class _Stream(Struct, eq=False):
    """One open watch; setting `is_closing` and waking it ends it."""

    resource: GroupResource
    wake: asyncio.Event
    transport: asyncio.BaseTransport | None
    is_closing: bool = False


class Streams:
    """All open watches of a server."""

    def __init__(self, store: Store, *, bookmark_s: float) -> None:
        self._store = store
        self._bookmark_s = bookmark_s
        self._open: set[_Stream] = set()

    def close(self) -> None:
        """End all watches cleanly."""
        for stream in self._open:
            stream.is_closing = True
            stream.wake.set()

    def drop(self, resource: str | None = None) -> int:
        """Cut the connections of all watches, or of one resource's; returns how many."""
        dropped = [stream for stream in self._open if resource in (None, stream.resource.plural)]
        for stream in dropped:
            stream.is_closing = True
            stream.wake.set()
            if isinstance(stream.transport, asyncio.Transport):
                stream.transport.abort()
        return len(dropped)

    async def serve(
        self, request: web.BaseRequest, watch: Watch, *, timeout_s: float, fault: Fault | None
    ) -> web.StreamResponse:
        """Answer a watch until its time is over, its client leaves or it is cut."""
        response = web.StreamResponse(headers=_HEADERS)
        response.enable_chunked_encoding()
        await response.prepare(request)
        stream = _Stream(watch.resource, asyncio.Event(), request.transport)
        self._open.add(stream)
        try:
            await self._run(stream, watch, response, timeout_s=timeout_s, fault=fault)
            await response.write_eof()
        except ConnectionError:
            pass  # the client has left
        finally:
            self._open.discard(stream)
        return response

    async def _run(
        self, stream: _Stream, watch: Watch, response: web.StreamResponse, *, timeout_s: float, fault: Fault | None
    ) -> None:
        loop = asyncio.get_running_loop()
        ends_at, bookmark_at = loop.time() + timeout_s, loop.time() + self._bookmark_s
        writes = 0
        with watch.subscribed(stream.wake.set):
            lines = watch.opening()
            while True:
                if _strikes(fault, writes) and await _struck(fault, stream, response, lines, ends_at):
                    return
                if lines:
                    await response.write(lines)
                    writes += 1
                if watch.is_over or stream.is_closing or loop.time() >= ends_at:
                    return
                await _wait(stream.wake, min(ends_at, bookmark_at))
                lines = watch.news()
                if watch.bookmarks and loop.time() >= min(bookmark_at, ends_at):
                    lines += watch.bookmark()
                if loop.time() >= bookmark_at:
                    bookmark_at = loop.time() + self._bookmark_s


async def _wait(wake: asyncio.Event, until: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            await wake.wait()
    wake.clear()


def _strikes(fault: Fault | None, writes: int) -> bool:
    return isinstance(fault, (DropWatch, StallWatch)) and writes >= fault.after_writes


async def _struck(
    fault: Fault | None, stream: _Stream, response: web.StreamResponse, lines: bytes, ends_at: float
) -> bool:
    """Let the fault act; says whether the watch is over."""
    if isinstance(fault, DropWatch):
        if lines:
            await response.write(lines[: len(lines) // 2 + 1])
        if isinstance(stream.transport, asyncio.Transport):
            stream.transport.abort()
        return True
    loop = asyncio.get_running_loop()
    while not stream.is_closing and loop.time() < ends_at:
        await _wait(stream.wake, ends_at)
    return True

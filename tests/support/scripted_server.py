"""An HTTP server that does exactly what a test says, down to the bytes and the cuts between them."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import Struct


class Received(Struct, frozen=True):
    """A request as it came; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, request: Received, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._writer = writer

    async def answer(self, status: int, body: bytes | dict[str, Any] = b"", **headers: str) -> None:
        """Answer in one piece; underscores in header names stand for dashes."""
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        await self.raw(head(status, {"content-length": str(len(content))} | headers) + content)

    async def start(self, status: int = 200) -> None:
        """Begin a chunked answer."""
        await self.raw(head(status, {"transfer-encoding": "chunked", "content-type": "application/json"}))

    async def chunk(self, data: bytes) -> None:
        await self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def stay_silent(self) -> None:
        """Say nothing more, for ever, and keep the connection."""
        await asyncio.Event().wait()

    def cut(self) -> None:
        """End the connection in the middle of whatever it is."""
        self._writer.transport.abort()


Handler = Callable[[Exchange], Awaitable[None]]


def head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class ScriptedServer:
    """Listens on a free port of 127.0.0.1, hands every request to `handler` and keeps it in `received`."""

    def __init__(self, handler: Handler, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._port = port
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.received: list[Received] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while (request := await _read(reader)) is not None:
                self.received.append(request)
                await self._handler(Exchange(request, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            # The server is being left; asyncio would report a cancelled connection as an error.
            return
        finally:
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> Received | None:
    first = await reader.readline()
    if not first:
        return None
    method, target, _ = first.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := (await reader.readline()).decode().strip()) != "":
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body)


def write_kubeconfig(
    path: Path, server: str, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None
) -> str:
    """Write a kubeconfig (JSON is YAML) and return its path."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "me", "user": user or {}}],
    }
    path.write_text(json.dumps(config))
    return str(path)

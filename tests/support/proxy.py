"""A TCP relay in front of an API server, which a test can shut and open again: the server goes away and comes back.

It can also hold what is sent to the server, while what the server says still comes through.
"""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import yaml

from tests.support.ports import LOOPBACK, free_port


class Proxy:
    """Relays to `url`; an async context manager. While shut, connections are refused; those that were open are cut."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._host, self._target = parts.hostname, parts.port
        self._port = free_port()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_shut = False
        self._sends = asyncio.Event()
        self._sends.set()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.shut()

    async def open(self) -> None:
        """Listen, on the same port as before."""
        self._is_shut = False
        self._server = await asyncio.start_server(self._relay, LOOPBACK, self._port)

    async def shut(self) -> None:
        """Stop listening, and cut every connection."""
        if self._server is None:
            return
        self._is_shut = True
        self.let_go()
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._server = None

    def hold(self) -> None:
        """Send nothing on to the server until `let_go`."""
        self._sends.clear()

    def let_go(self) -> None:
        """Send on what was held, and all that follows."""
        self._sends.set()

    def kubeconfig(self, original: Path) -> Path:
        """Write a kubeconfig that leads here, beside the one that leads to the server."""
        config = yaml.safe_load(original.read_text())
        cluster = config["clusters"][0]["cluster"]
        cluster["server"] = f"{urlsplit(cluster['server']).scheme}://{LOOPBACK}:{self._port}"
        if self._host != LOOPBACK:
            cluster["tls-server-name"] = self._host
        path = original.with_name("kubeconfig-proxy")
        path.write_text(yaml.safe_dump(config))
        return path

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there_reader, there_writer = await asyncio.open_connection(self._host, self._target)
            if self._is_shut:  # meanwhile
                writer.transport.abort()
                there_writer.transport.abort()
                return
            self._writers |= {writer, there_writer}
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, there_writer, self._sends), name="to the server")
                group.create_task(_pump(there_reader, writer), name="from the server")
            self._writers -= {writer, there_writer}
        finally:
            self._tasks.discard(task)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, may: asyncio.Event | None = None) -> None:
    try:
        while data := await source.read(65536):
            if may is not None:
                await may.wait()
            sink.write(data)
            await sink.drain()
    except ConnectionError:
        pass
    finally:
        sink.close()

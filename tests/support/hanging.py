"""An API server on which every write hangs, to see that reads are answered all the same."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.client import Client
from gangline.kube.wire.resources import PODS
from tests.support.scripted_server import Exchange, ScriptedServer, write_kubeconfig


class HangingWrites:
    """Counts the writes that hang."""

    def __init__(self) -> None:
        self._hanging: set[str] = set()
        self._changed = asyncio.Event()
        self.kubeconfig = ""

    async def handle(self, exchange: Exchange) -> None:
        if exchange.request.method == "GET":
            await exchange.answer(200, {"metadata": {"name": "a"}})
            return
        self._hanging.add(exchange.request.path)
        self._changed.set()
        await exchange.stay_silent()

    async def read_beside(self, client: Client, writes: Sequence[Coroutine[Any, Any, object]]) -> None:
        """Let all of these writes, each to a path of its own, hang at once, and read meanwhile."""
        tasks = [asyncio.create_task(write) for write in writes]
        try:
            async with asyncio.timeout(60):
                while len(self._hanging) < len(writes):
                    self._changed.clear()
                    await self._changed.wait()
                await client.get(PODS, Key("ns", "a"), Pod)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def hanging_writes(directory: Path) -> AsyncIterator[HangingWrites]:
    """Serve on loopback."""
    hanging = HangingWrites()
    async with ScriptedServer(hanging.handle) as server:
        hanging.kubeconfig = write_kubeconfig(directory / "config", server.url)
        yield hanging

"""An HTTP server that answers as a test says, and remembers the patches that it got."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from gangline.kube.client import Client, connect
from tests.support.scripted_server import write_kubeconfig


class ScriptedServer:
    """Answers each patch with the next of `answers`: a status, headers, or what to leave out of an echoed status."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.lists: dict[str, list[dict[str, Any]]] = {"pods": [], "podgroups": []}
        self.may_list = {"pods": asyncio.Event(), "podgroups": asyncio.Event()}
        self.watched = {"pods": asyncio.Event(), "podgroups": asyncio.Event()}
        self.dropped_fields: set[str] = set()
        self.patches: list[dict[str, Any]] = []
        self.arrived = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def handle(self, request: web.Request) -> web.Response:
        if request.method == "GET":
            return await self._list(request)
        patch = json.loads(await request.read())
        self.patches.append(patch)
        self.arrived.set()
        await self.may_answer.wait()
        status, headers = self.answers.pop(0) if self.answers else (200, {})
        if status != 200:
            return web.json_response(
                {"kind": "Status", "code": status, "message": "scripted"}, status=status, headers=headers
            )
        namespace, name = request.path.split("/")[5], request.path.split("/")[7]
        metadata = {"namespace": namespace, "name": name, **patch["metadata"], "resourceVersion": "2"}
        kept = {field: value for field, value in patch["status"].items() if field not in self.dropped_fields and value}
        return web.json_response({"metadata": metadata, "status": kept})

    async def _list(self, request: web.Request) -> web.Response:
        plural = request.path.rpartition("/")[2]
        if "watch" in request.query:
            self.watched[plural].set()
            await asyncio.Event().wait()
        await self.may_list[plural].wait()
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": self.lists[plural]})


@asynccontextmanager
async def scripted(scratch: Path) -> AsyncIterator[tuple[ScriptedServer, Client]]:
    server = ScriptedServer()
    runner = web.ServerRunner(web.Server(server.handle, handler_cancellation=True), shutdown_timeout=0.1)  # type: ignore[arg-type] # BaseRequest has all that is used
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        kubeconfig = write_kubeconfig(scratch / "config", f"http://127.0.0.1:{runner.addresses[0][1]}")
        async with connect(kubeconfig, user_agent="test") as client:
            yield server, client
    finally:
        await runner.cleanup()

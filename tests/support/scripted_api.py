"""An API server that answers by script and remembers what it was asked."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from aiohttp import web

from tests.support.scripted_server import write_kubeconfig


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    body: Any
    query: dict[str, str]


class Answer(NamedTuple):
    """One answer: a status with a JSON body; `hang_up` cuts the connection instead."""

    status: int
    body: Any = None
    hang_up: bool = False


Script = Callable[[Asked], Answer]


class ScriptedApi:
    """Serves on loopback while entered."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._runner: web.ServerRunner | None = None
        self.asked: list[Asked] = []
        self.url = ""

    def kubeconfig(self, directory: Path) -> str:
        """Write a kubeconfig that leads here."""
        return write_kubeconfig(directory / "kubeconfig", self.url)

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        asked = Asked(request.method, request.path, json.loads(body) if body else None, dict(request.query))
        self.asked.append(asked)
        answer = self._script(asked)
        if answer.hang_up:
            assert request.transport is not None
            request.transport.close()
        return web.json_response(answer.body or {}, status=answer.status)


def status(code: int, reason: str = "", message: str = "", *, fields: Sequence[str] = ()) -> Answer:
    """Return a Status body as an API server sends it; `fields` are what a 422 finds wrong."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}
    details = {"causes": [{"reason": "FieldValueInvalid", "field": field} for field in fields]}
    return Answer(code, body | {"code": code, "details": details})

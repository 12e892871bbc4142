"""The API server's socket: HTTP in front of `http.requests`, faults in between, watches as streams.

It listens on 127.0.0.1 only.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog
import yaml
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from gangline.sandbox.apiserver.failures import Failure
from gangline.sandbox.apiserver.faults import Cut, Fault, Faults, LostReply, Occasion, Refuse
from gangline.sandbox.apiserver.http import answers, requests
from gangline.sandbox.apiserver.http.admin import Admin
from gangline.sandbox.apiserver.http.answers import Answer
from gangline.sandbox.apiserver.http.calls import Call
from gangline.sandbox.apiserver.http.streams import Streams
from gangline.sandbox.apiserver.http.views import view_of
from gangline.sandbox.apiserver.registry import Registry
from gangline.sandbox.apiserver.store import Store
from gangline.sandbox.apiserver.strategies import events
from gangline.sandbox.apiserver.strategies.first_objects import FIRST_OBJECTS
from gangline.sandbox.apiserver.strategies.strategy import ClusterState
from gangline.sandbox.apiserver.verbs.paths import Target, target_of
from gangline.sandbox.apiserver.verbs.updates import copied
from gangline.sandbox.apiserver.verbs.verbs import Verbs
from gangline.sandbox.apiserver.verbs.watches import Watch

_log = structlog.get_logger()

_BODY_LIMIT_BYTES = 3 * 1024 * 1024
_EXPIRY_S = 60.0
_COLLECTION_VERBS = {"GET": "list", "DELETE": "deletecollection", "POST": "create"}
_OBJECT_VERBS = {"GET": "get", "DELETE": "delete", "PUT": "update", "PATCH": "patch", "POST": "create"}


class ApiServer:
    """One API server; an async context manager. `port=0` takes a free port.

    `bookmark_s` is the time between bookmarks in seconds.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        bookmark_s: float = 60.0,
    ) -> None:
        self._port = port
        self.url = ""
        self._state = ClusterState(
            store=Store(),
            registry=Registry(),
            now=lambda: datetime.now(UTC),
        )
        self._verbs = Verbs(self._state)
        self._faults = Faults()
        self._streams = Streams(self._state.store, bookmark_s=bookmark_s)
        self._admin = Admin(self._state, self._faults, self._streams)
        web_server = web.Server(self._handle, request_factory=_request, handler_cancellation=True)
        self._runner = web.ServerRunner(web_server, shutdown_timeout=0.5)
        self._expiry: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        for kind, namespace, item in FIRST_OBJECTS:
            self._verbs.create(Target(kind=kind, namespace=namespace, name=""), copied(item))
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        self._expire_events()
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        self._streams.close()
        await self._runner.cleanup()

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for this server and return its path."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "gangline", "cluster": {"server": self.url}}],
            "users": [{"name": "gangline", "user": {}}],
            "contexts": [{"name": "gangline", "context": {"cluster": "gangline", "user": "gangline"}}],
            "current-context": "gangline",
        }
        path.write_text(yaml.safe_dump(config, sort_keys=False))
        return path

    def _expire_events(self) -> None:
        events.expire(self._state)
        self._expiry = asyncio.get_running_loop().call_later(_EXPIRY_S, self._expire_events)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        call = Call(
            method=request.method,
            path=request.rel_url.raw_path,
            query=request.query,
            body=await request.read() if request.can_read_body else b"",
            content_type=request.headers.get("Content-Type", ""),
            accept=request.headers.get("Accept", ""),
            user_agent=request.headers.get("User-Agent", ""),
        )
        if call.path.startswith("/sandbox/"):
            return _response(_answered(lambda: self._admin.answer(call)))
        occasion = self._occasion(call)
        delay_s, fault = self._faults.strike(occasion)
        if delay_s:
            await asyncio.sleep(delay_s)
        return await self._act(request, call, occasion, fault)

    async def _act(
        self, request: web.BaseRequest, call: Call, occasion: Occasion, fault: Fault | None
    ) -> web.StreamResponse:
        if isinstance(fault, Cut):
            return _cut(request)
        if isinstance(fault, Refuse):
            answer = answers.failure(
                Failure(fault.code, f"injected fault {fault.code}", retry_after_s=fault.retry_after_s)
            )
        elif call.is_watch and not occasion.name:
            try:
                return await self._watch(request, call, fault)
            except Failure as failure:
                answer = answers.failure(failure)
        else:
            answer = _answered(lambda: requests.answer(call, self._verbs))
        return _cut(request) if isinstance(fault, LostReply) else _response(answer)

    async def _watch(self, request: web.BaseRequest, call: Call, fault: Fault | None) -> web.StreamResponse:
        target = target_of(call.path, self._state.registry)
        view = view_of(
            call.accept, target.kind, self._state.now, whole_rows=call.query.get("includeObject") == "Object"
        )
        watch = Watch(self._state.store, target, call.query, view.event)
        timeout_s = watch.timeout_s or random.uniform(1800, 3600)  # noqa: S311 - spreads reconnects
        return await self._streams.serve(request, watch, timeout_s=timeout_s, fault=fault)

    def _occasion(self, call: Call) -> Occasion:
        try:
            target = target_of(call.path, self._state.registry)
        except Failure:
            return Occasion(method=call.method)
        verbs = _OBJECT_VERBS if target.name else _COLLECTION_VERBS
        return Occasion(
            method=call.method,
            verb="watch" if call.is_watch and not target.name else verbs.get(call.method, ""),
            resource=target.kind.plural,
            subresource=target.subresource,
            namespace=target.namespace,
            name=target.name,
        )


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    """Make a request whose body may be as long as that server lets it be, and longer than aiohttp does."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_BODY_LIMIT_BYTES)


def _cut(request: web.BaseRequest) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _response(answer: Answer) -> web.Response:
    headers = [("Content-Type", answer.content_type), ("Cache-Control", "no-cache, private")]
    if answer.retry_after_s is not None:
        headers.append(("Retry-After", str(answer.retry_after_s)))
    headers.extend(("Warning", f'299 - "{escaped}"') for escaped in map(_escaped, answer.warnings))
    response = web.Response(body=answer.body, status=answer.code)
    response.headers.clear()
    response.headers.extend(headers)
    return response


def _escaped(warning: str) -> str:
    return warning.replace("\\", "\\\\").replace('"', '\\"')


def _answered(act: Callable[[], Answer]) -> Answer:
    try:
        return act()
    except Failure as failure:
        return answers.failure(failure)
    except Exception as error:  # noqa: BLE001 - the one guard: a defect, or an object put past validation, costs one request
        _log.exception("request_failed")
        return answers.failure(Failure(500, f"{type(error).__name__}: {error}"))

"""The API server's socket: HTTP in front of `requests.answer`, and watches as chunked streams.

It listens on 127.0.0.1 only. New nodes get no automatic not-ready taint.
"""

import asyncio
import random
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml
from aiohttp import web

from gangline.sandbox import answers, forms, requests, watches
from gangline.sandbox.answers import Answer
from gangline.sandbox.failures import Failure
from gangline.sandbox.kinds import NAMESPACES, SERVICE_ACCOUNTS, GroupResource
from gangline.sandbox.paths import target_of
from gangline.sandbox.registry import Registry
from gangline.sandbox.requests import Call
from gangline.sandbox.store import Store
from gangline.sandbox.strategies.choice import strategy_of
from gangline.sandbox.strategies.strategy import ClusterState
from gangline.sandbox.verbs import Target, Verbs

_BODY_LIMIT_BYTES = 3 * 1024 * 1024
_FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class ApiServer:
    """One API server; an async context manager. `port=0` takes a free port."""

    def __init__(self, *, port: int = 0, bookmark_s: float = 60.0, history_limit: int = 200_000) -> None:
        self._port = port
        self._bookmark_s = bookmark_s
        self.store = Store(history_limit=history_limit)
        self._verbs = Verbs(ClusterState(self.store, Registry(), lambda: datetime.now(UTC)), strategy_of)
        self._is_closing = False
        self._wakes: set[asyncio.Event] = set()
        self._runner: web.ServerRunner | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._populate()
        server = web.Server(self._handle, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._is_closing = True
        for wake in self._wakes:
            wake.set()
        if self._runner is not None:
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

    def _populate(self) -> None:
        for name in _FIRST_NAMESPACES:
            self._verbs.create(Target(kind=NAMESPACES, namespace="", name=""), {"metadata": {"name": name}})
        self._verbs.create(
            Target(kind=SERVICE_ACCOUNTS, namespace="default", name=""), {"metadata": {"name": "default"}}
        )

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
        try:
            if call.is_watch:
                return await self._watch(request, call)
            return _response(requests.answer(call, self._verbs))
        except Failure as failure:
            return _response(answers.failure(failure))

    async def _watch(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        target = target_of(call.path, self._verbs.state.registry)
        kind, convert = target.kind, forms.reader(target.kind)
        watch = watches.Watch(
            self.store,
            kind,
            target.namespace,
            call.query,
            lambda version: version.json(kind.api_version, convert),
        )
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        await response.prepare(request)
        await self._stream(watch, kind.resource, call, response)
        with suppress(ConnectionError):
            await response.write_eof()
        return response

    async def _stream(
        self, watch: watches.Watch, resource: GroupResource, call: Call, response: web.StreamResponse
    ) -> None:
        wake = asyncio.Event()
        self._wakes.add(wake)
        subscription = self.store.subscribe(resource, wake.set)
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + (float(call.query.get("timeoutSeconds") or 0) or random.uniform(1800, 3600))
        next_bookmark_at = loop.time() + self._bookmark_s
        try:
            lines = watch.opening()
            while True:
                if lines:
                    await response.write(lines)
                if lines.startswith(b'{"type":"ERROR"') or subscription.overrun or self._is_closing:
                    return
                now = loop.time()
                if now >= ends_at:
                    return
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(min(ends_at, next_bookmark_at)):
                        await wake.wait()
                wake.clear()
                lines = watch.lines(subscription.take())
                if watch.bookmarks and loop.time() >= next_bookmark_at:
                    lines += watch.bookmark()
                    next_bookmark_at = loop.time() + self._bookmark_s
        finally:
            self._wakes.discard(wake)
            self.store.unsubscribe(resource, subscription)


def _response(answer: Answer) -> web.Response:
    headers = {"Content-Type": answer.content_type, "Cache-Control": "no-cache, private"}
    if answer.retry_after_s is not None:
        headers["Retry-After"] = str(answer.retry_after_s)
    return web.Response(body=answer.body, status=answer.code, headers=headers)

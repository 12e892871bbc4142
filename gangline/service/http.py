"""The HTTP endpoints of a service: /healthz, /readyz, /metrics and /debug/<name>."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from gangline.base.fatal import StartError
from gangline.service.setting_values import split_address

Problems = Callable[[], Sequence[str]]
Debug = Callable[[web.Request], Awaitable[object]]

PAGE_LIMIT: Final = 1000
"""How many objects a debug page shows unless it is asked for more."""
_LONGEST_NUMBER: Final = 18
SHUTDOWN_S: Final = 2.0
"""How long open requests may take when the server stops; aiohttp's default is a minute."""


_SERVER_LOG: Final = logging.getLogger("aiohttp.server")


def _is_our_fault(record: logging.LogRecord) -> bool:
    """Keep quiet of what is no HTTP: whoever scans ports would fill the log with tracebacks. The answer is 400."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


class HttpServer:
    """Serves while entered.

    `/healthz` and `/readyz` answer 200, or 503 with the problems that `healthy` or `ready` lists. `/metrics` renders
    `registry`. `/debug/<name>` answers with the JSON of what the function of that name returns.
    Raises StartError where the address cannot be had.
    """

    def __init__(
        self,
        address: str,
        *,
        registry: CollectorRegistry,
        ready: Problems,
        healthy: Problems,
        debug: Mapping[str, Debug],
    ) -> None:
        self._address = address
        application = web.Application()
        application.router.add_get("/healthz", _probe(healthy))
        application.router.add_get("/readyz", _probe(ready))
        application.router.add_get("/metrics", make_aiohttp_handler(registry))
        for name, answer in debug.items():
            application.router.add_get(f"/debug/{name}", _debug(answer))
        _SERVER_LOG.addFilter(_is_our_fault)
        self._runner = web.AppRunner(application, access_log=None, logger=_SERVER_LOG, shutdown_timeout=SHUTDOWN_S)

    @property
    def port(self) -> int:
        """The port that is served, also where the address left the choice to the system (port 0)."""
        return int(self._runner.addresses[0][1])

    async def __aenter__(self) -> Self:
        host, port = split_address(self._address)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise StartError(
                f"cannot serve on {self._address}: {error.strerror or error}; choose another --http-address"
            ) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runner.cleanup()


class Page(Struct, frozen=True, kw_only=True):
    """Which objects a debug page is asked for, at most `limit` of them."""

    namespace: str | None = None
    name: str | None = None
    limit: int = PAGE_LIMIT


def page_of(request: web.Request) -> Page:
    """Read `?namespace=&name=&limit=`. Raises HTTPBadRequest for a limit that is none."""
    query = request.query
    limit = query.get("limit", str(PAGE_LIMIT))
    if not (limit.isdecimal() and len(limit) <= _LONGEST_NUMBER and int(limit)):
        raise web.HTTPBadRequest(text=f"limit={limit}: wanted a number from 1\n")
    return Page(namespace=query.get("namespace"), name=query.get("name"), limit=int(limit))


def _json(value: object, status: int = 200) -> web.Response:
    body = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2)
    return web.Response(body=body + b"\n", status=status, content_type="application/json")


def _probe(problems: Problems) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_request: web.Request) -> web.Response:
        found = list(problems())
        return _json({"problems": found}, 503 if found else 200)

    return answer


def _debug(describe: Debug) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        return _json(await describe(request))

    return answer

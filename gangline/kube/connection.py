"""The HTTP side: connection pools, TLS, credentials that change, and what a broken exchange means."""

import asyncio
import math
import socket
import ssl
from types import TracebackType
from typing import Final, Self

import aiohttp
import structlog
from aiohttp.http_exceptions import LineTooLong
from yarl import URL

from gangline.base.clock import Clock
from gangline.kube.transport import Access, AccessSource, ConfigurationError, Tls
from gangline.kube.wire.errors import ApiError, Interrupted, Silent, Unauthorized, Undecodable, Unreachable, classify
from gangline.kube.wire.requests import Request

CONNECT_TIMEOUT_S: Final = 10.0
FILE_CHECK_INTERVAL_S: Final = 10.0
IDLE_CONNECTION_S: Final = 60.0
LINE_LIMIT_BYTES: Final = 4 * 2**20
"""etcd takes objects up to 1.5 MiB."""
ERROR_LIMIT_BYTES: Final = 2**20
KEEPALIVE_IDLE_S: Final = 30
KEEPALIVE_INTERVAL_S: Final = 10
KEEPALIVE_PROBES: Final = 3
UNACKNOWLEDGED_LIMIT_MS: Final = 30_000

log = structlog.get_logger()


class CertificateRefused(Unreachable):
    """The TLS handshake failed: a certificate may have been rotated."""


class Connection:
    """Sessions with one API server: a pool for calls, another for watches, so that neither waits for the other.

    `call_limit_s`, where given, shortens the time of every call, and of no watch.
    """

    def __init__(
        self,
        source: AccessSource,
        *,
        user_agent: str,
        clock: Clock,
        concurrency: int,
        call_limit_s: float | None = None,
    ) -> None:
        self._call_limit_s = math.inf if call_limit_s is None else call_limit_s
        self._source = source
        self._user_agent = user_agent
        self._clock = clock
        self._concurrency = concurrency
        self._renewal = asyncio.Lock()
        self._check_files_at = 0.0

    async def __aenter__(self) -> Self:
        self._access = await self._source.read()
        self._stamp = self._source.stamp()
        self._tls_context = (self._access.tls, _ssl_context(self._access.tls))
        self._calls = _session(self._concurrency)
        self._watches = _session(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._calls.close()
        await self._watches.close()

    async def open(self, request: Request) -> aiohttp.ClientResponse:
        """Send the request and return the answer, of which only the head has been read.

        Raises ApiError for everything outside 2xx. A 401 or a failed handshake has the credentials and certificates
        read again and the request sent once more, within its time: neither can have been acted on.
        """
        deadline = self._clock.now() + self._time_of(request)
        access = await self._current()
        try:
            return await self._attempt(request, access, deadline)
        except (Unauthorized, CertificateRefused):
            return await self._attempt(request, await self._renewed(access), deadline)

    def _time_of(self, request: Request) -> float:
        is_watch = request.silence_s is not None
        return request.timeout_s if is_watch else min(request.timeout_s, self._call_limit_s)

    async def _attempt(self, request: Request, access: Access, deadline: float) -> aiohttp.ClientResponse:
        left_s = deadline - self._clock.now()
        if left_s <= 0:
            raise Unreachable("no time left to send it: reading the credentials took too long")
        session = self._calls if request.silence_s is None else self._watches
        timeout = aiohttp.ClientTimeout(
            total=left_s,
            sock_connect=min(CONNECT_TIMEOUT_S, left_s),
            sock_read=request.silence_s,
        )
        try:
            response = await session.request(
                request.method,
                URL(access.server + request.target, encoded=True),
                data=request.body,
                headers=self._headers(request, access),
                timeout=timeout,
                ssl=self._context_for(access.tls),
                server_hostname=access.tls.server_name if access.tls else None,
                proxy=access.proxy,
                allow_redirects=False,
            )
            if 200 <= response.status < 300:
                return response
            async with response:
                raise classify(response.status, await _beginning(response), response.headers)
        except (aiohttp.ClientError, OSError) as error:
            raise broken(error) from error

    def _headers(self, request: Request, access: Access) -> dict[str, str]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": self._user_agent}
        if access.authorization:
            headers["Authorization"] = access.authorization
        if request.content_type:
            headers["Content-Type"] = request.content_type
        return headers

    def _context_for(self, tls: Tls | None) -> ssl.SSLContext | bool:
        """Return the TLS context; a new one makes new connections, while open ones live on with the old."""
        if self._tls_context[0] != tls:
            self._tls_context = (tls, _ssl_context(tls))
        return self._tls_context[1]

    async def _current(self) -> Access:
        """Return the credentials, read again when one of their files has been replaced."""
        now = self._clock.now()
        if now >= self._check_files_at:
            self._check_files_at = now + FILE_CHECK_INTERVAL_S
            if self._source.stamp() != self._stamp:
                return await self._renewed(self._access)
        return self._access

    async def _renewed(self, used: Access) -> Access:
        """Read the credentials again, once for all the requests that failed with the same ones."""
        async with self._renewal:
            if self._access is used:
                self._stamp = self._source.stamp()
                try:
                    access = await self._source.read()
                    self._context_for(access.tls)
                    self._access = access
                except ConfigurationError as error:
                    log.warning("credentials_not_read", error=str(error))
            return self._access


class Lines:
    """The lines of a streamed answer, each with its end; the last has none if the stream was cut.

    They end without an error when the server ends them and when the request's time is over.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            line = await self._content.readline()
        except aiohttp.SocketTimeoutError as error:
            raise broken(error) from error
        except TimeoutError:
            raise StopAsyncIteration from None
        except (LineTooLong, ValueError) as error:
            raise Undecodable(f"a line of more than {LINE_LIMIT_BYTES} bytes", status=200) from error
        except (aiohttp.ClientError, OSError) as error:
            raise broken(error) from error
        if not line:
            raise StopAsyncIteration
        return line


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """Read the rest of an answer. Raises Interrupted when it breaks off."""
    try:
        return await response.read()
    except (aiohttp.ClientError, OSError) as error:
        raise broken(error) from error


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """Read an error's body, of which no more is looked at than a Status can hold."""
    try:
        return await response.content.readexactly(ERROR_LIMIT_BYTES)
    except asyncio.IncompleteReadError as short:
        return short.partial


def broken(error: Exception) -> ApiError:
    """Tell what an exchange that broke means: never sent, or of unknown outcome."""
    text = str(error) or type(error).__name__
    match error:
        case aiohttp.ClientSSLError():
            return CertificateRefused(text)
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError() | aiohttp.InvalidURL():
            return Unreachable(text)
        case aiohttp.SocketTimeoutError():
            return Silent("nothing heard for too long")
        case TimeoutError():
            return Interrupted("no answer in time")
        case _:
            return Interrupted(text)


def _session(limit: int) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        limit=limit, keepalive_timeout=IDLE_CONNECTION_S, ttl_dns_cache=30, socket_factory=_socket
    )
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=LINE_LIMIT_BYTES // 2
    )


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices a peer which is gone without a word."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE_S),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL_S),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
        ("TCP_USER_TIMEOUT", UNACKNOWLEDGED_LIMIT_MS),
    ):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


def _ssl_context(tls: Tls | None) -> ssl.SSLContext | bool:
    if tls is None:
        return True
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if not tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if tls.cert_file:
            context.load_cert_chain(tls.cert_file, tls.key_file)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"certificates {tls.ca_file}, {tls.cert_file}: {error}") from error
    return context

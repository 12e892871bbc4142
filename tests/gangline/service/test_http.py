import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from prometheus_client import CollectorRegistry, Gauge
from yarl import URL

from gangline.base.fatal import StartError
from gangline.service.http import HttpServer, Page, page_of


class Process:
    """The state that the endpoints report."""

    def __init__(self) -> None:
        self.not_ready: list[str] = []
        self.unhealthy: list[str] = []
        self.registry = CollectorRegistry()

    def server(self, address: str = "127.0.0.1:0") -> HttpServer:
        return HttpServer(
            address,
            registry=self.registry,
            ready=lambda: self.not_ready,
            healthy=lambda: self.unhealthy,
            debug={"gangs": self.gangs, "broken": self.broken},
        )

    async def gangs(self, request: aiohttp.web.Request) -> object:
        return {"asked": dict(request.query), "odd": {1, 2} - {2}, "error": ValueError("x")}

    async def broken(self, _request: aiohttp.web.Request) -> object:
        raise ValueError("broken")


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
async def url(process: Process) -> AsyncIterator[str]:
    async with process.server() as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:
        yield session


async def test_probes_pass_while_there_is_no_problem(url: str, session: aiohttp.ClientSession) -> None:
    for path in ("/healthz", "/readyz"):
        async with session.get(url + path) as answer:
            assert (answer.status, await answer.json()) == (200, {"problems": []})


async def test_a_probe_fails_with_its_own_problems(process: Process, url: str, session: aiohttp.ClientSession) -> None:
    process.not_ready = ["pods: not synced", "lease: held by another"]

    async with session.get(f"{url}/readyz") as answer:
        assert (answer.status, await answer.json()) == (503, {"problems": process.not_ready})
    async with session.get(f"{url}/healthz") as answer:
        assert answer.status == 200
    process.unhealthy = ["the loop stands"]
    async with session.get(f"{url}/healthz") as answer:
        assert (answer.status, await answer.json()) == (503, {"problems": ["the loop stands"]})


async def test_metrics_are_those_of_the_given_registry_alone(
    process: Process, url: str, session: aiohttp.ClientSession
) -> None:
    Gauge("answer", "The answer.", registry=process.registry).set(42)

    async with session.get(f"{url}/metrics") as answer:
        lines = (await answer.text()).splitlines()

    assert [line for line in lines if not line.startswith("#")] == ["answer 42.0"]


async def test_debug_answers_with_json_whatever_the_objects_are(url: str, session: aiohttp.ClientSession) -> None:
    async with session.get(f"{url}/debug/gangs", params={"namespace": "a"}) as answer:
        assert await answer.json() == {"asked": {"namespace": "a"}, "odd": [1], "error": "x"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, Page()),
        ({"namespace": "a", "name": "b", "limit": "7"}, Page(namespace="a", name="b", limit=7)),
    ],
    ids=["nothing-asked", "all-asked"],
)
def test_a_debug_page_is_asked_for_some_objects(query: dict[str, str], expected: Page) -> None:
    assert page_of(make_mocked_request("GET", str(URL("/debug/gangs").with_query(query)))) == expected


@pytest.mark.parametrize("limit", ["", "0", "-1", "many", "1.5", "9" * 5000], ids=lambda limit: limit[:9])
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(web.HTTPBadRequest) as refused:
        page_of(make_mocked_request("GET", f"/debug/gangs?limit={limit}"))
    assert refused.value.text == f"limit={limit}: wanted a number from 1\n"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/debug/other", 404), ("GET", "/", 404), ("POST", "/debug/gangs", 405), ("GET", "/debug/broken", 500)],
)
async def test_what_is_not_served(
    url: str, session: aiohttp.ClientSession, method: str, path: str, status: int
) -> None:
    async with session.request(method, url + path) as answer:
        assert answer.status == status


@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02", b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n"],
    ids=["version", "TLS", "long"],
)
async def test_what_is_no_http_is_answered_and_not_logged(
    process: Process, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    async with process.server() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert answer.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 "))
    assert not caplog.records


async def test_what_goes_wrong_in_an_answer_is_logged(
    url: str, session: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    async with session.get(f"{url}/debug/broken") as answer:
        await answer.read()

    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["broken"]


async def test_a_taken_port_is_one_clear_error(process: Process) -> None:
    async with process.server() as first:
        with pytest.raises(
            StartError, match=rf"cannot serve on 127\.0\.0\.1:{first.port}: .*; choose another --http-address"
        ):
            async with process.server(f"127.0.0.1:{first.port}"):
                pass


async def test_a_port_is_free_again_after_the_server_has_stopped(process: Process) -> None:
    async with process.server() as first:
        port = first.port
    async with process.server(f"127.0.0.1:{port}") as second:
        assert second.port == port


async def test_an_unknown_host_is_one_clear_error(process: Process) -> None:
    with pytest.raises(StartError, match=r"cannot serve on 192\.0\.2\.1:0"):
        async with process.server("192.0.2.1:0"):
            pass

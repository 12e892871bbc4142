"""The client against a server that does as it is told, over real sockets."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.client import Client, connect
from gangline.kube.transport import ConfigurationError
from gangline.kube.wire import requests
from gangline.kube.wire.errors import (
    ApiError,
    Conflict,
    Gone,
    Interrupted,
    ServerError,
    Unauthorized,
    Undecodable,
    Unreachable,
)
from gangline.kube.wire.requests import Request
from gangline.kube.wire.resources import NODES, PODS
from tests.support.clock import ManualClock
from tests.support.scripted_server import Exchange, Handler, ScriptedServer, write_kubeconfig

POD = Key("team", "a")


class Observations:
    """Remembers what the observer hook was told."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def observe(self, verb: str, resource: str, code: str, seconds: float) -> None:
        assert seconds >= 0
        self.seen.append((verb, resource, code))


Connect = Callable[..., Any]


@pytest.fixture
def serving(tmp_path: Path) -> Connect:
    """Return a context manager of a server with this handler and a client of it."""

    @asynccontextmanager
    async def both(
        handler: Handler, *, observer: Observations | None = None, **user: str
    ) -> AsyncIterator[tuple[ScriptedServer, Client]]:
        async with ScriptedServer(handler) as server:
            kubeconfig = write_kubeconfig(tmp_path / "config", server.url, user=user)
            async with connect(kubeconfig, user_agent="test/1", observer=observer) as client:
                yield server, client

    return both


def answering(*answers: tuple[int, bytes | dict[str, Any]]) -> Handler:
    """Return a handler that gives these answers in turn and the last one from then on."""
    waiting = list(answers)

    async def handle(exchange: Exchange) -> None:
        status, body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        await exchange.answer(status, body)

    return handle


async def test_reads_an_object_as_a_struct(serving: Connect) -> None:
    async with serving(answering((200, {"metadata": {"name": "a"}, "spec": {"nodeName": "n1"}}))) as (server, client):
        pod = await client.get(PODS, POD, Pod)

    assert pod.spec.node_name == "n1"
    [request] = server.received
    assert (request.method, request.target) == ("GET", "/api/v1/namespaces/team/pods/a")
    assert request.headers["user-agent"] == "test/1"
    assert request.headers["accept-encoding"] == "identity"


async def test_lists_all_pages(serving: Connect) -> None:
    first = {
        "metadata": {"resourceVersion": "7", "continue": "t"},
        "items": [{"metadata": {"namespace": "team", "name": "a", "uid": "u"}}],
    }
    second = {
        "metadata": {"resourceVersion": "7"},
        "items": [{"metadata": {"namespace": "team", "name": "b", "uid": "v"}}],
    }

    async with serving(answering((200, first), (200, second))) as (server, client):
        pods, version = await client.list(PODS, Pod, namespace="team", label_selector="x=y")

    assert ([pod.metadata.name for pod in pods], version) == (["a", "b"], "7")
    assert [request.target for request in server.received] == [
        "/api/v1/namespaces/team/pods?labelSelector=x%3Dy&limit=500",
        "/api/v1/namespaces/team/pods?labelSelector=x%3Dy&limit=500&continue=t",
    ]


async def test_a_list_names_the_object_that_does_not_decode(serving: Connect) -> None:
    body = {"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "a"}, "spec": {"priority": "x"}}]}

    async with serving(answering((200, body))) as (_, client):
        with pytest.raises(Undecodable, match=r"pods a: .*priority"):
            await client.list(PODS, Pod)


@pytest.mark.parametrize(
    ("status", "body"),
    [(201, {"kind": "Status", "status": "Success"}), (200, b""), (202, b"<html>fine</html>")],
    ids=["status", "empty", "html"],
)
async def test_any_2xx_to_a_binding_is_a_success(serving: Connect, status: int, body: Any) -> None:
    async with serving(answering((status, body))) as (server, client):
        await client.bind(POD, "uid-a", "n1")

    assert json.loads(server.received[0].body)["metadata"]["uid"] == "uid-a"


async def test_a_broken_post_is_of_unknown_outcome_and_is_not_sent_again(serving: Connect) -> None:
    async def cut(exchange: Exchange) -> None:
        exchange.cut()

    async with serving(cut) as (server, client):
        with pytest.raises(Interrupted):
            await client.bind(POD, "uid-a", "n1")

    assert len(server.received) == 1


async def test_a_body_that_breaks_off_is_of_unknown_outcome(serving: Connect) -> None:
    async def half(exchange: Exchange) -> None:
        await exchange.raw(b"HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{")
        exchange.cut()

    async with serving(half) as (_, client):
        with pytest.raises(Interrupted):
            await client.create(PODS, "team", {})


async def test_no_answer_in_time_is_of_unknown_outcome(serving: Connect) -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.stay_silent()

    observer = Observations()
    request = Request(verb="bind", resource="pods/binding", method="POST", path="/x", body=b"{}", timeout_s=0.05)
    async with serving(hang, observer=observer) as (_, client):
        with pytest.raises(Interrupted, match="no answer in time"):
            await client.send(request)

    assert observer.seen == [("bind", "pods/binding", "Interrupted")]


async def test_refused_connections_are_unreachable(serving: Connect) -> None:
    observer = Observations()
    async with serving(answering((200, {})), observer=observer) as (server, client):
        await server.__aexit__(None, None, None)
        with pytest.raises(Unreachable):
            await client.bind(POD, "uid-a", "n1")

    assert observer.seen == [("bind", "pods/binding", "Unreachable")]


async def test_every_request_is_observed(serving: Connect) -> None:
    observer = Observations()
    answers = answering((201, {}), (409, {"kind": "Status", "reason": "Conflict", "code": 409}), (200, {}))
    async with serving(answers, observer=observer) as (_, client):
        await client.create(PODS, "team", {})
        with pytest.raises(Conflict):
            await client.patch(PODS, POD, {}, subresource="status")
        await client.delete(PODS, POD)

    assert observer.seen == [("create", "pods", "201"), ("patch", "pods/status", "409"), ("delete", "pods", "200")]


async def test_a_success_that_is_not_json(serving: Connect) -> None:
    async with serving(answering((200, b"<html>hello</html>"))) as (_, client):
        with pytest.raises(Undecodable):
            await client.get(PODS, POD, Pod)


async def test_an_error_is_told_with_its_retry_after(serving: Connect) -> None:
    async def busy(exchange: Exchange) -> None:
        await exchange.answer(429, b"busy", Retry_After="7")

    async with serving(busy) as (_, client):
        with pytest.raises(ApiError) as raised:
            await client.get(PODS, POD, Pod)

    assert raised.value.retry_after_s == 7.0


async def test_an_error_page_without_end_is_cut(serving: Connect) -> None:
    sent: list[int] = []

    async def handler(exchange: Exchange) -> None:
        await exchange.start(503)
        for _ in range(64):
            await exchange.chunk(b"x" * 2**20)
            sent.append(2**20)

    async with serving(handler) as (_, client):
        with pytest.raises(ServerError):
            await client.get(PODS, POD, Pod)

    assert sum(sent) < 32 * 2**20


async def no_wait(_: float) -> None:
    pass


def pod(version: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "a", "resourceVersion": version, "labels": labels, "annotations": {"theirs": "kept"}}}


def label(item: dict[str, Any]) -> dict[str, Any]:
    item["metadata"]["labels"]["ours"] = "1"
    return item


async def test_an_update_is_a_patch_of_what_changed_on_the_version_that_was_read(serving: Connect) -> None:
    conflict = (409, {"kind": "Status", "reason": "Conflict", "code": 409})
    async with serving(answering((200, pod("5")), conflict, (200, pod("6")), (200, pod("7", ours="1")))) as both:
        server, client = both
        result = await client.update_retrying(PODS, POD, label, wait=no_wait)

    assert result["metadata"]["resourceVersion"] == "7"
    bodies = [json.loads(request.body) for request in server.received if request.method == "PATCH"]
    assert bodies == [{"metadata": {"labels": {"ours": "1"}, "resourceVersion": version}} for version in ("5", "6")]


@pytest.mark.parametrize("change", [lambda _: None, lambda item: item], ids=["none", "same"])
async def test_an_update_that_changes_nothing_writes_nothing(serving: Connect, change: Any) -> None:
    async with serving(answering((200, pod("5")))) as (server, client):
        result = await client.update_retrying(PODS, POD, change)

    assert result == pod("5")
    assert [request.method for request in server.received] == ["GET"]


async def test_an_update_gives_up_after_some_conflicts(serving: Connect) -> None:
    async def handle(exchange: Exchange) -> None:
        if exchange.request.method == "GET":
            await exchange.answer(200, pod("5"))
        else:
            await exchange.answer(409, b"")

    async with serving(handle) as (server, client):
        with pytest.raises(Conflict):
            await client.update_retrying(PODS, POD, label, attempts=3, wait=no_wait)

    assert len(server.received) == 6


async def test_a_rotated_token_is_read_again_after_a_401(serving: Connect, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")

    async def handle(exchange: Exchange) -> None:
        accepted = exchange.request.headers["authorization"] == f"Bearer {token.read_text().strip()}"
        await exchange.answer(201 if accepted else 401, {})

    observer = Observations()
    async with serving(handle, observer=observer, tokenFile=str(token)) as (server, client):
        await client.bind(POD, "uid-a", "n1")
        token.write_text("new\n")
        await asyncio.gather(*(client.bind(POD, "uid-a", "n1") for _ in range(5)))

    tokens = [request.headers["authorization"] for request in server.received]
    assert tokens == ["Bearer old"] * 6 + ["Bearer new"] * 5
    assert {code for _, _, code in observer.seen} == {"201"}


async def test_a_token_that_is_never_accepted_is_tried_twice(serving: Connect) -> None:
    async with serving(answering((401, b"")), token="stale") as (server, client):
        with pytest.raises(Unauthorized):
            await client.get(PODS, POD, Pod)

    assert len(server.received) == 2


async def test_a_second_try_with_new_credentials_has_what_is_left_of_the_time(tmp_path: Path) -> None:
    clock = ManualClock(100.0)

    async def handle(exchange: Exchange) -> None:
        clock.advance(20.0)
        await exchange.answer(401, b"")

    async with ScriptedServer(handle) as server:
        kubeconfig = write_kubeconfig(tmp_path / "config", server.url, user={"token": "stale"})
        async with connect(kubeconfig, user_agent="test/1", clock=clock) as client:
            with pytest.raises(Unreachable, match="no time left"):
                await client.bind(POD, "uid-a", "n1", within_s=15.0)

    assert len(server.received) == 1


async def test_a_replaced_file_is_noticed_before_anything_fails(tmp_path: Path) -> None:
    async with ScriptedServer(answering((200, {}))) as server:
        kubeconfig = write_kubeconfig(tmp_path / "config", server.url, user={"token": "old"})
        clock = ManualClock(100.0)
        async with connect(kubeconfig, user_agent="test/1", clock=clock) as client:
            await client.get(PODS, POD, Pod)
            write_kubeconfig(tmp_path / "config", server.url, user={"token": "newer"})
            clock.advance(11.0)
            await client.get(PODS, POD, Pod)

    assert [request.headers["authorization"] for request in server.received] == ["Bearer old", "Bearer newer"]


async def test_a_broken_replacement_leaves_the_old_credentials_in_force(tmp_path: Path) -> None:
    async with ScriptedServer(answering((200, {}))) as server:
        kubeconfig = write_kubeconfig(tmp_path / "config", server.url, user={"token": "old"})
        clock = ManualClock(100.0)
        async with connect(kubeconfig, user_agent="test/1", clock=clock) as client:
            (tmp_path / "config").write_text("{half")
            clock.advance(11.0)
            await client.get(PODS, POD, Pod)

    assert [request.headers["authorization"] for request in server.received] == ["Bearer old"]


def server_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def test_a_changed_certificate_bundle_is_read_again_after_a_failed_handshake(tmp_path: Path) -> None:
    before, after = trustme.CA(), trustme.CA()
    bundle = tmp_path / "ca.crt"
    before.cert_pem.write_to_path(bundle)
    async with ScriptedServer(answering((200, {})), tls=server_context(before)) as server:
        cluster = {"certificate-authority": str(bundle)}
        kubeconfig = write_kubeconfig(tmp_path / "config", server.url, cluster=cluster)
        async with connect(kubeconfig, user_agent="test/1") as client:
            await client.get(PODS, POD, Pod)
            await server.__aexit__(None, None, None)
            async with ScriptedServer(answering((201, {})), port=server.port, tls=server_context(after)) as renewed:
                with pytest.raises(Unreachable):
                    await client.bind(POD, "uid-a", "n1")
                after.cert_pem.write_to_path(bundle)
                await client.bind(POD, "uid-a", "n1")

    assert len(renewed.received) == 1


async def test_client_certificates(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = server_context(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    mine = authority.issue_cert("me@example.org")
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    mine.cert_chain_pems[0].write_to_path(tmp_path / "me.crt")
    mine.private_key_pem.write_to_path(tmp_path / "me.key")
    async with ScriptedServer(answering((200, {})), tls=context) as server:
        cluster = {"certificate-authority": "ca.crt"}
        user = {"client-certificate": "me.crt", "client-key": "me.key"}
        kubeconfig = write_kubeconfig(tmp_path / "config", server.url, cluster=cluster, user=user)
        async with connect(kubeconfig, user_agent="test/1") as client:
            await client.get(PODS, POD, Pod)

    assert len(server.received) == 1


async def test_a_stream_gives_lines_however_the_bytes_are_cut(serving: Connect) -> None:
    async def handle(exchange: Exchange) -> None:
        await exchange.start()
        for piece in (b'{"a"', b":1}\n{", b'"b":2}\n', b"{}\n{}\n", b"{cut"):
            await exchange.chunk(piece)
        await exchange.end()

    observer = Observations()
    async with serving(handle, observer=observer) as (_, client):
        request = requests.watch(PODS, resource_version="1", seconds=5, silence_s=5)
        async with client.stream(request) as lines:
            got = [line async for line in lines]

    assert got == [b'{"a":1}\n', b'{"b":2}\n', b"{}\n", b"{}\n", b"{cut"]
    assert observer.seen == [("watch", "pods", "200")]


async def test_a_refused_stream_is_observed_too(serving: Connect) -> None:
    observer = Observations()
    async with serving(answering((410, b"gone")), observer=observer) as (_, client):
        with pytest.raises(Gone):
            async with client.stream(requests.watch(PODS, resource_version="1", seconds=5, silence_s=5)):
                pass

    assert observer.seen == [("watch", "pods", "410")]


async def test_a_line_of_five_megabytes_breaks_the_stream_and_nothing_else(serving: Connect) -> None:
    async def handle(exchange: Exchange) -> None:
        await exchange.start()
        for _ in range(5):
            await exchange.chunk(b"x" * 2**20)
        await exchange.stay_silent()

    request = requests.watch(PODS, resource_version="1", seconds=5, silence_s=5)
    async with serving(handle) as (_, client), client.stream(request) as lines:
        with pytest.raises(Undecodable, match="more than 4194304 bytes"):
            await anext(lines)


async def test_a_watch_ends_by_itself_when_the_server_does_not_end_it(serving: Connect) -> None:
    async def handle(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(b"{}\n")
        await exchange.stay_silent()

    request = Request(verb="watch", resource="pods", method="GET", path="/x", timeout_s=0.05, silence_s=5.0)
    async with serving(handle) as (_, client), client.stream(request) as lines:
        assert [line async for line in lines] == [b"{}\n"]


async def test_a_limit_of_calls_shortens_every_call_and_no_watch(tmp_path: Path) -> None:
    async with ScriptedServer(answering((200, b"{}\n"))) as server:
        config = write_kubeconfig(tmp_path / "config", server.url)
        async with connect(config, user_agent="test/1", call_limit_s=0.0) as client:
            with pytest.raises(Unreachable, match="no time left"):
                await client.get(PODS, POD, Pod)
            async with client.stream(requests.watch(PODS, resource_version="1", seconds=60, silence_s=60)) as lines:
                assert [line async for line in lines] == [b"{}\n"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "no such file", id="missing"),
        pytest.param("", "kubeconfig .*config", id="empty"),
        pytest.param("{half", "kubeconfig .*config", id="not-yaml"),
        pytest.param("[]", "kubeconfig .*config", id="a-list"),
        pytest.param('{"current-context": "x", "contexts": []}', "x", id="context-unknown"),
    ],
)
async def test_a_kubeconfig_that_is_none(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "config").write_text(content)

    with pytest.raises(ConfigurationError, match=message):
        async with connect(str(tmp_path / "config"), user_agent="test/1"):
            pass


async def test_nodes_are_created_in_no_namespace(serving: Connect) -> None:
    async with serving(answering((201, {}))) as (server, client):
        await client.create(NODES, "", {"metadata": {"name": "n1"}})

    assert server.received[0].path == "/api/v1/nodes"

"""The reflector over real sockets: what only a socket can do to a watch."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gangline.contract.meta import Key, ObjectMeta
from gangline.contract.pod import Pod
from gangline.kube.client import connect
from gangline.kube.reflector import Change, Observed, Progress, Reflector, Removed, Synced, Unreadable, kept_in
from gangline.kube.wire.resources import PODS
from tests.support.clock import ManualClock
from tests.support.ports import free_port
from tests.support.scripted_server import Exchange, ScriptedServer, write_kubeconfig

DEADLINE_S = 60.0

Step = Callable[[Exchange], Awaitable[None]]


class Followed:
    """A reflector that runs, what it has told as short words, and how long it has waited."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.waits: list[float] = []
        self.clock = ManualClock(1000.0)
        self.problems: list[str | None] = []
        self.reflector: Reflector[Pod]
        self._changed = asyncio.Event()

    def tell(self, change: Change[Pod]) -> None:
        match change:
            case Observed(item):
                self.words.append(f"+{item.metadata.name}")
            case Removed(key, _, _):
                self.words.append(f"-{key.name}")
            case Unreadable(key=key):
                self.words.append(f"?{key.name}")
            case Synced():
                self.words.append("=")
            case Progress(version):
                self.words.append(f">{version}")
        self._changed.set()

    async def wait(self, seconds: float) -> None:
        """Stand in for the wait between two attempts: only the manual clock passes."""
        self.problems.append(self.reflector.problem)
        self.waits.append(seconds)
        self.clock.advance(seconds)
        self._changed.set()
        await asyncio.sleep(0)

    async def until(self, predicate: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not predicate():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def following(tmp_path: Path, server: ScriptedServer, *, silence_s: float = 10.0) -> AsyncIterator[Followed]:
    kubeconfig = write_kubeconfig(tmp_path / "config", server.url)
    followed = Followed()
    async with connect(kubeconfig, user_agent="test/1") as client:
        followed.reflector = Reflector(
            client,
            PODS,
            Pod,
            followed.tell,
            silence_s=silence_s,
            clock=followed.clock,
            wait=followed.wait,
            jitter=lambda: 0.5,
        )
        task = asyncio.create_task(followed.reflector.run(), name="reflector")
        try:
            yield followed
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def script(*steps: Step) -> Step:
    """Return a handler that takes one step for each request and stays silent after the last."""
    waiting = list(steps)

    async def handle(exchange: Exchange) -> None:
        if waiting:
            await waiting.pop(0)(exchange)
        else:
            await exchange.start()
            await exchange.stay_silent()

    return handle


def listing(version: int, *names: str) -> Step:
    async def step(exchange: Exchange) -> None:
        assert "watch=true" not in exchange.request.target
        items = [{"metadata": {"namespace": "team", "name": name, "uid": f"uid-{name}"}} for name in names]
        await exchange.answer(200, {"metadata": {"resourceVersion": str(version)}, "items": items})

    return step


def reaching(version: int) -> Step:
    """Answer how far the server is."""

    async def step(exchange: Exchange) -> None:
        assert "limit=1" in exchange.request.target.partition("?")[2].split("&")
        await listing(version)(exchange)

    return step


def refusing(status: int, reason: str) -> Step:
    async def step(exchange: Exchange) -> None:
        await exchange.answer(status, {"kind": "Status", "code": status, "reason": reason, "message": "no"})

    return step


def streaming(*pieces: bytes, then: str = "silence") -> Step:
    async def step(exchange: Exchange) -> None:
        assert "watch=true" in exchange.request.target
        await exchange.start()
        for piece in pieces:
            await exchange.chunk(piece)
        match then:
            case "silence":
                await exchange.stay_silent()
            case "end":
                await exchange.end()
            case "cut":
                exchange.cut()

    return step


def line(kind: str, name: str, version: int) -> bytes:
    metadata = {"namespace": "team", "name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return json.dumps({"type": kind, "object": {"metadata": metadata}}).encode() + b"\n"


EXPIRED = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'


def targets(server: ScriptedServer) -> list[str]:
    """Return `list` or the version that was watched from, for each request."""
    found = []
    for request in server.received:
        query = request.target.partition("?")[2]
        versions = [part for part in query.split("&") if part.startswith("resourceVersion=")]
        found.append(versions[0].partition("=")[2] if versions else "list")
    return found


async def test_410_in_the_stream_lists_again_and_tells_what_has_gone(tmp_path: Path) -> None:
    steps = script(listing(7, "a", "b"), streaming(line("ADDED", "c", 8), EXPIRED), listing(20, "b"))
    async with ScriptedServer(steps) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: followed.words[-1:] == [">20"])

    assert followed.words == ["+a", "+b", "=", ">7", "+c", "+b", "-a", "-c", "=", ">20"]
    assert targets(server)[:3] == ["list", "7", "list"]
    assert followed.problems == ["410 Expired: too old"]


async def test_410_as_a_status_lists_again(tmp_path: Path) -> None:
    steps = script(listing(7, "a"), refusing(410, "Gone"), listing(20))
    async with ScriptedServer(steps) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: followed.words[-1:] == [">20"])

    assert followed.words == ["+a", "=", ">7", "-a", "=", ">20"]


async def test_a_line_in_two_parts_is_one_event(tmp_path: Path) -> None:
    whole = line("ADDED", "a", 8)
    steps = script(listing(7), streaming(whole[:25], whole[25:] + line("ADDED", "b", 9)))
    async with ScriptedServer(steps) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: followed.words[-1:] == ["+b"])

    assert followed.words == ["=", ">7", "+a", "+b"]


@pytest.mark.parametrize("then", ["end", "cut"])
async def test_a_line_that_is_cut_off_comes_again_from_the_version_before(tmp_path: Path, then: str) -> None:
    whole = line("ADDED", "b", 9)
    steps = script(listing(7), streaming(line("ADDED", "a", 8), whole[:40], then=then), reaching(9), streaming(whole))
    async with ScriptedServer(steps) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: followed.words[-1:] == ["+b"])

    assert followed.words == ["=", ">7", "+a", "+b"]
    assert targets(server)[:4] == ["list", "7", "list", "8"]
    assert len(followed.waits) == 1


async def test_connection_refused_for_minutes(tmp_path: Path) -> None:
    steps = script(listing(7, "a"), streaming(then="cut"))
    async with ScriptedServer(steps, port=free_port()) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: ">7" in followed.words)
        await server.__aexit__(None, None, None)
        await followed.until(lambda: followed.clock.now() >= 1600.0)
        problem = followed.problems[-1]
        async with ScriptedServer(script(listing(30, "b")), port=server.port) as back:
            await followed.until(lambda: followed.words[-1:] == [">30"])

    assert problem is not None
    assert problem.startswith("Unreachable: ")
    assert len(followed.waits) < 60
    assert max(followed.waits) <= 30.0
    assert followed.words == ["+a", "=", ">7", "+b", "-a", "=", ">30"]
    assert targets(back)[0] == "list"


async def test_a_half_open_connection_is_given_up_and_listed_anew(tmp_path: Path) -> None:
    steps = script(listing(7), streaming(line("ADDED", "a", 8)), listing(9, "a", "b"))
    async with ScriptedServer(steps) as server, following(tmp_path, server, silence_s=1.0) as followed:
        await followed.until(lambda: followed.words[-1:] == [">9"])

    assert followed.words == ["=", ">7", "+a", "+a", "+b", "=", ">9"]
    assert followed.problems[0] == "Silent: nothing heard for too long"


async def test_a_server_that_is_back_from_an_older_backup_is_listed_anew(tmp_path: Path) -> None:
    """It would accept a watch from 8, and be silent."""
    steps = script(listing(7), streaming(line("ADDED", "a", 8), then="cut"), reaching(5), listing(5, "b"))
    async with ScriptedServer(steps) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: followed.words[-1:] == [">5"])

    assert followed.words == ["=", ">7", "+a", "+b", "-a", "=", ">5"]
    assert [problem is not None and "went back from 8 to 5" in problem for problem in followed.problems] == [
        False,
        True,
    ]


async def test_permission_lost_and_regained(tmp_path: Path) -> None:
    forbidden = refusing(403, "Forbidden")
    steps = script(listing(7, "a"), refusing(410, "Gone"), forbidden, forbidden, listing(20, "a"))
    async with ScriptedServer(steps) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: followed.words[-1:] == [">20"])
        synced = followed.reflector.synced

    assert followed.problems == ["410 Gone: no", "403 Forbidden: no", "403 Forbidden: no"]
    assert followed.words == ["+a", "=", ">7", "+a", "=", ">20"]
    assert synced


@pytest.mark.parametrize(
    ("step", "warns"),
    [
        pytest.param(refusing(403, "Forbidden"), True, id="forbidden"),
        pytest.param(refusing(404, "NotFound"), True, id="kind-not-installed"),
        pytest.param(refusing(503, "ServiceUnavailable"), False, id="away"),
        pytest.param(refusing(410, "Expired"), False, id="expired"),
    ],
)
async def test_what_does_not_pass_by_itself_is_a_warning(tmp_path: Path, step: Step, *, warns: bool) -> None:
    with capture_logs() as lines:
        async with (
            ScriptedServer(script(step, listing(5, "a"))) as server,
            following(tmp_path, server) as followed,
        ):
            await followed.until(lambda: followed.words == ["+a", "=", ">5"])

    assert any(entry["log_level"] == "warning" for entry in lines) == warns


async def test_a_web_page_instead_of_a_list_is_no_list(tmp_path: Path) -> None:
    async def web_page(exchange: Exchange) -> None:
        await exchange.answer(200, b"<html>Sign in</html>")

    async with ScriptedServer(script(web_page, listing(7))) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: followed.words[-1:] == [">7"])

    assert followed.words == ["=", ">7"]
    assert followed.problems[0] is not None
    assert followed.problems[0].startswith("200 Undecodable: not a list")


async def test_staleness_is_the_time_since_the_last_line(tmp_path: Path) -> None:
    async with ScriptedServer(script(listing(7))) as server, following(tmp_path, server) as followed:
        await followed.until(lambda: ">7" in followed.words)
        followed.clock.advance(42.0)

        assert followed.reflector.staleness_s() == 42.0


async def test_a_full_stream_leaves_the_rest_of_the_process_its_turn(tmp_path: Path) -> None:
    lines = b"".join(line("ADDED", f"p{number}", 100 + number) for number in range(2000))
    turns: list[int] = []

    async def count_turns(followed: Followed) -> None:
        while True:
            turns.append(len(followed.words))
            await asyncio.sleep(0)

    steps = script(listing(7), streaming(lines))
    async with ScriptedServer(steps) as server, following(tmp_path, server) as followed:
        counter = asyncio.create_task(count_turns(followed), name="turns")
        await followed.until(lambda: len(followed.words) == 2002)
        counter.cancel()
        await asyncio.gather(counter, return_exceptions=True)

    assert max(later - earlier for earlier, later in pairwise(turns)) <= 101


def test_what_is_kept_is_the_newest_of_each_key_and_each_change_is_told() -> None:
    seen: dict[Key, Pod] = {}
    told: list[int] = []
    take = kept_in(seen, lambda: told.append(len(seen)))
    old, new = (Pod(metadata=ObjectMeta(name="a", namespace="ns", resource_version=version)) for version in "12")

    changes: list[Change[Pod]] = [Observed(old), Observed(new), Synced(), Removed(old.metadata.key, "uid")]
    for change in changes:
        take(change)

    assert told == [1, 1, 1, 0]
    assert not seen
    take(Observed(new))
    assert seen == {new.metadata.key: new}

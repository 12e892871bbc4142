"""Holding a lease against a server that keeps one, refuses, or hangs."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gangline.contract.meta import Key
from gangline.kube.client import Client, connect
from gangline.kube.lease import LeaseHolder, LeaseLost
from gangline.kube.wire.lease import LeaseTiming
from tests.support.clock import ManualClock
from tests.support.scripted_server import Exchange, ScriptedServer, write_kubeconfig

KEY = Key("system", "gangline")
HANGS = LeaseTiming(duration_s=1, renew_deadline_s=0.2, retry_s=0.02, call_s=0.05)


class LeaseServer:
    """Keeps one lease as an API server does; `mood` makes it misbehave."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.mood = "well"
        self.patches: list[dict[str, Any]] = []
        self.pause = asyncio.Event()
        """Cleared, it keeps answers back."""
        self.pause.set()
        self.paused = asyncio.Event()
        self._version = 0

    async def handle(self, exchange: Exchange) -> None:
        if not self.pause.is_set():
            self.paused.set()
            await self.pause.wait()
        if self.mood == "hanging":
            await exchange.stay_silent()
        elif self.mood == "broken":
            await exchange.answer(503, b"<html>no</html>")
        else:
            await self._serve(exchange)

    async def _serve(self, exchange: Exchange) -> None:
        body = json.loads(exchange.request.body or b"{}")
        match exchange.request.method:
            case "POST" if self.lease is None:
                await exchange.answer(201, self._store(body))
            case "POST":
                await exchange.answer(409, {"kind": "Status", "code": 409, "reason": "AlreadyExists"})
            case _ if self.lease is None:
                await exchange.answer(404, b"")
            case "GET":
                await exchange.answer(200, self.lease)
            case _ if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                await exchange.answer(409, b"")
            case _:
                self.patches.append(body)
                answer = self._store(self.lease | {"spec": self.lease["spec"] | body["spec"]})
                if self.mood == "losing answers":
                    exchange.cut()
                else:
                    await exchange.answer(200, answer)

    def held_by(self, holder: str) -> None:
        """Have somebody else write the lease."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-11-30T10:00:00.000000Z"}
        self._store({"metadata": {"name": "gangline"}, "spec": spec})

    def _store(self, lease: dict[str, Any]) -> dict[str, Any]:
        self._version += 1
        self.lease = lease | {"metadata": lease["metadata"] | {"resourceVersion": str(self._version)}}
        return self.lease

    @property
    def holder(self) -> Any:
        return self.lease["spec"]["holderIdentity"] if self.lease else None


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


@pytest.fixture
async def client(server: LeaseServer, tmp_path: Path) -> AsyncIterator[Client]:
    async with ScriptedServer(server.handle) as listening:
        kubeconfig = write_kubeconfig(tmp_path / "config", listening.url)
        async with connect(kubeconfig, user_agent="test/1") as client:
            yield client


class Time:
    """A manual clock whose waits pass at once; at the given second something happens."""

    def __init__(self) -> None:
        self.clock = ManualClock(100.0)
        self.waits: list[float] = []
        self.agenda: list[tuple[float, Any]] = []

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(seconds)
        while self.agenda and self.agenda[0][0] <= self.clock.now():
            self.agenda.pop(0)[1]()
        await asyncio.sleep(0)


def holder_of(client: Client, time: Time, identity: str = "me") -> LeaseHolder:
    return LeaseHolder(client, KEY, identity, clock=time.clock, wait=time.wait, jitter=lambda: 0.0)


async def test_an_absent_lease_is_created(client: Client, server: LeaseServer) -> None:
    lease = holder_of(client, Time())

    await lease.acquire()

    assert (lease.held, lease.holder, server.holder, lease.problem) == (True, "me", "me", None)


async def test_nobody_else_holds_it_for_a_while_after_it_is_lost(client: Client) -> None:
    time = Time()
    lease = holder_of(client, time)
    assert lease.alone_s == 0.0
    await lease.acquire()
    time.clock.advance(9.5)
    assert (lease.held, lease.alone_s) == (True, 5.5)
    time.clock.advance(0.5)
    assert (lease.held, lease.alone_s) == (False, 0.0)


async def test_a_second_instance_waits_and_says_who_holds_it(client: Client, server: LeaseServer) -> None:
    time = Time()
    server.held_by("other")
    seen: list[tuple[bool, str | None, str | None]] = []
    lease = holder_of(client, time)
    time.agenda = [(110.0, lambda: seen.append((lease.held, lease.holder, lease.obstacle)))]

    await lease.acquire()

    assert seen == [(False, "other", "the lease is held by other")]
    assert lease.obstacle is None
    assert time.clock.now() >= 115.0
    assert server.holder == "me"


async def test_one_that_cannot_be_asked_for_says_why(client: Client, server: LeaseServer) -> None:
    time = Time()
    server.mood = "broken"
    lease = holder_of(client, time)
    seen: list[str | None] = [lease.obstacle]

    def recover() -> None:
        seen.append(lease.obstacle)
        server.mood = "well"

    time.agenda = [(104.0, recover)]

    await lease.acquire()

    assert seen == [
        "the lease is not held: not asked for yet",
        "the lease is not held: 503 ServerError: <html>no</html>",
    ]


async def test_a_released_lease_is_taken_at_once(client: Client, server: LeaseServer) -> None:
    time = Time()
    first, second = holder_of(client, time, "first"), holder_of(client, time, "second")
    await first.acquire()
    await first.release()

    await second.acquire()

    assert (first.held, second.held, server.holder) == (False, True, "second")
    assert time.waits == []
    assert server.patches[0]["spec"]["holderIdentity"] == ""


async def test_it_is_renewed_as_long_as_the_server_answers(client: Client, server: LeaseServer) -> None:
    time = Time()
    lease = holder_of(client, time)
    await lease.acquire()
    time.agenda = [(160.0, lambda: server.held_by("thief"))]

    with pytest.raises(LeaseLost, match="held by thief"):
        await lease.run()

    assert time.clock.now() < 165.0
    assert len(server.patches) >= 29


@pytest.mark.parametrize("mood", ["broken", "losing answers"])
async def test_it_is_lost_when_it_was_not_renewed_in_time(client: Client, server: LeaseServer, mood: str) -> None:
    time = Time()
    lease = holder_of(client, time)
    await lease.acquire()
    server.mood = mood

    with pytest.raises(LeaseLost, match="not renewed in time"):
        await lease.run()

    assert time.clock.now() == 110.0
    assert not lease.held


async def test_a_lost_answer_is_no_loss(client: Client, server: LeaseServer) -> None:
    time = Time()
    lease = holder_of(client, time)
    await lease.acquire()
    server.mood = "losing answers"

    def recover() -> None:
        server.mood = "well"

    time.agenda = [(104.0, recover), (150.0, lambda: server.held_by("thief"))]

    with pytest.raises(LeaseLost, match="held by thief"):
        await lease.run()

    assert time.clock.now() >= 150.0


async def test_a_lease_that_somebody_deleted_is_made_again(client: Client, server: LeaseServer) -> None:
    time = Time()
    lease = holder_of(client, time)
    await lease.acquire()

    def delete() -> None:
        server.lease = None

    holders: list[Any] = []
    time.agenda = [
        (103.0, delete),
        (112.0, lambda: holders.append(server.holder)),
        (120.0, lambda: server.held_by("thief")),
    ]

    with pytest.raises(LeaseLost, match="held by thief"):
        await lease.run()

    assert holders == ["me"]


async def test_a_call_that_hangs_does_not_hold_the_lease(client: Client, server: LeaseServer) -> None:
    lease = LeaseHolder(client, KEY, "me", timing=HANGS)
    await lease.acquire()
    server.mood = "hanging"

    with pytest.raises(LeaseLost):
        await lease.run()

    assert not lease.held
    assert lease.problem == "no answer in time"


async def test_what_the_last_whole_try_was_told_is_what_is_said_at_the_end(client: Client, server: LeaseServer) -> None:
    time = Time()
    lease = holder_of(client, time)
    await lease.acquire()
    server.mood = "broken"

    with pytest.raises(LeaseLost, match=r"last problem: .*503"):
        await lease.run()


async def test_a_release_that_hangs_is_given_up(client: Client, server: LeaseServer) -> None:
    lease = LeaseHolder(client, KEY, "me", timing=HANGS)
    await lease.acquire()
    server.mood = "hanging"

    await lease.release(deadline_s=0.05)

    assert not lease.held


async def test_renewing_ends_quietly_once_the_lease_is_released(client: Client, server: LeaseServer) -> None:
    time, go_on = Time(), asyncio.Event()

    async def pause(_seconds: float) -> None:
        await go_on.wait()

    lease = LeaseHolder(client, KEY, "me", clock=time.clock, wait=pause, jitter=lambda: 0.0)
    await lease.acquire()
    renewing = asyncio.create_task(lease.run())
    await asyncio.sleep(0)

    await lease.release()
    go_on.set()
    await renewing

    assert (lease.held, server.holder) == (False, "")


async def test_a_release_waits_for_a_renewal_under_way(client: Client, server: LeaseServer) -> None:
    time = Time()
    lease = holder_of(client, time)
    await lease.acquire()
    server.pause.clear()
    renewing = asyncio.create_task(lease.run())
    await server.paused.wait()

    releasing = asyncio.create_task(lease.release())
    await asyncio.sleep(0)
    server.pause.set()
    async with asyncio.timeout(60):
        await asyncio.gather(releasing, renewing)

    assert (lease.held, server.holder) == (False, "")

"""Every kind of answer to a bind, and the order in which the binds of gangs go out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from gangline.kube.client import Client, connect
from scheduler.binder import Binder
from scheduler.core.events import Bound, PodRead, PodReadFailed, Refusal, Refused, Result, Unknown
from scheduler.core.instructions import Bind, BindGang, GroupVersion, ReadPod
from scheduler.metrics import Metrics
from tests.support.hanging import hanging_writes
from tests.support.scripted_api import Answer, Asked, Script, ScriptedApi, status

POD = "/api/v1/namespaces/ns/pods/{}"
BINDING = POD + "/binding"
STEP = 12
GROUP = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g"


def binds(*names: str, node: str = "n1") -> tuple[Bind, ...]:
    return tuple(Bind(uid=f"uid-{name}", namespace="ns", name=name, node=node, attempt=7) for name in names)


def pod(name: str, *, uid: str | None = None, node: str = "", deleting: bool = False) -> Answer:
    metadata: dict[str, object] = {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Answer(200, {"metadata": metadata, "spec": {"nodeName": node} if node else {}})


class Harness:
    def __init__(self, binder: Binder, api: ScriptedApi, results: asyncio.Queue[Result]) -> None:
        self.binder = binder
        self.api = api
        self.results = results

    async def outcome(self, instruction: BindGang | ReadPod, results: int) -> list[Result]:
        self.binder.submit(instruction, STEP)
        async with asyncio.timeout(60):
            return [await self.results.get() for _ in range(results)]


@asynccontextmanager
async def binding(
    script: Script,
    directory: Path,
    *,
    workers: int = 4,
    time_to_bind_s: Callable[[], float] = lambda: 60.0,
    plan_overtaken: Callable[[BindGang], str | None] = lambda _: None,
    bind_overtaken: Callable[[Bind, str], str | None] = lambda *_: None,
    registry: CollectorRegistry | None = None,
) -> AsyncIterator[Harness]:
    results: asyncio.Queue[Result] = asyncio.Queue()
    async with (
        ScriptedApi(script) as api,
        connect(api.kubeconfig(directory), user_agent="test") as client,
        working(
            client,
            results,
            workers=workers,
            time_to_bind_s=time_to_bind_s,
            plan_overtaken=plan_overtaken,
            bind_overtaken=bind_overtaken,
            registry=registry,
        ) as binder,
    ):
        yield Harness(binder, api, results)


@asynccontextmanager
async def working(
    client: Client,
    results: asyncio.Queue[Result],
    *,
    workers: int = 1,
    time_to_bind_s: Callable[[], float],
    plan_overtaken: Callable[[BindGang], str | None] = lambda _: None,
    bind_overtaken: Callable[[Bind, str], str | None] = lambda *_: None,
    registry: CollectorRegistry | None = None,
) -> AsyncIterator[Binder]:
    binder = Binder(
        client,
        results.put_nowait,
        Metrics(registry or CollectorRegistry()),
        workers=workers,
        time_to_bind_s=time_to_bind_s,
        plan_overtaken=plan_overtaken,
        bind_overtaken=bind_overtaken,
    )
    running = asyncio.create_task(binder.run())
    try:
        yield binder
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def kinds(results: list[Result]) -> list[str]:
    return [type(result).__name__ for result in results]


def bound(name: str, node: str = "n1") -> Bound:
    return Bound(uid=f"uid-{name}", attempt=7, node=node)


@pytest.mark.parametrize(
    ("answer", "read", "expected"),
    [
        pytest.param(status(201), None, bound("a"), id="201-bound"),
        pytest.param(status(409, "Conflict"), pod("a", node="n1"), bound("a"), id="409-same-node-is-success"),
        pytest.param(status(409, "Conflict"), pod("a", node="n2"), Refusal.FOREIGN, id="409-other-node-is-foreign"),
        pytest.param(status(409, "Conflict"), pod("a", uid="other"), Refusal.LOST, id="409-other-uid-is-lost"),
        pytest.param(status(409, "Conflict"), pod("a", deleting=True), Refusal.LOST, id="409-deleting-is-lost"),
        pytest.param(status(409, "Conflict"), status(404), Refusal.LOST, id="409-then-gone-is-lost"),
        pytest.param(status(409, "Conflict"), pod("a"), Refusal.FORBIDDEN, id="409-unbound-is-kept-apart"),
        pytest.param(status(409, "Conflict"), status(500), Unknown, id="409-then-500-is-unknown"),
        pytest.param(status(404), None, Refusal.LOST, id="404-is-lost"),
        pytest.param(status(403, "Forbidden"), None, Refusal.FORBIDDEN, id="403-is-kept-apart"),
        pytest.param(status(422, "Invalid"), None, Refusal.FORBIDDEN, id="422-is-kept-apart"),
        pytest.param(status(400, "BadRequest"), None, Refusal.FORBIDDEN, id="400-is-kept-apart"),
        pytest.param(status(401, "Unauthorized"), None, Refusal.DROPPED, id="401-says-nothing-of-pod-and-node"),
        pytest.param(Answer(302), None, Refusal.DROPPED, id="302-says-nothing-of-pod-and-node"),
        pytest.param(status(429), None, Unknown, id="429-is-unknown"),
        pytest.param(status(500), None, Unknown, id="500-is-unknown"),
        pytest.param(status(503), None, Unknown, id="503-is-unknown"),
        pytest.param(Answer(0, hang_up=True), None, Unknown, id="lost-reply-is-unknown"),
    ],
)
async def test_every_answer_to_a_bind(
    tmp_path: Path, answer: Answer, read: Answer | None, expected: Bound | Refusal | type[Unknown]
) -> None:
    def script(asked: Asked) -> Answer:
        if asked.method == "POST":
            return answer
        assert read is not None, "the pod was read without need"
        return read

    async with binding(script, tmp_path) as harness:
        [result] = await harness.outcome(BindGang(gang="g", binds=binds("a"), nothing_bound=False), 1)

    if isinstance(expected, Bound):
        assert result == expected
    elif isinstance(expected, Refusal):
        assert isinstance(result, Refused)
        assert (result.uid, result.attempt, result.refusal) == ("uid-a", 7, expected)
    else:
        assert isinstance(result, Unknown)


async def test_a_binding_carries_the_uid_and_the_node(tmp_path: Path) -> None:
    async with binding(lambda _: status(201), tmp_path) as harness:
        await harness.outcome(BindGang(gang="g", binds=binds("a"), nothing_bound=False), 1)

    [asked] = harness.api.asked
    assert asked.path == BINDING.format("a")
    assert asked.body["metadata"]["uid"] == "uid-a"
    assert asked.body["target"]["name"] == "n1"


async def test_a_refused_first_bind_drops_the_plan_and_sends_nothing_more(tmp_path: Path) -> None:
    async with binding(lambda _: status(403, "Forbidden"), tmp_path) as harness:
        results = await harness.outcome(BindGang(gang="g", binds=binds("a", "b", "c"), nothing_bound=True), 3)

    assert [asked.path for asked in harness.api.asked] == [BINDING.format("a")]
    refusals = {result.uid: result.refusal for result in results if isinstance(result, Refused)}
    assert refusals == {"uid-a": Refusal.FORBIDDEN, "uid-b": Refusal.DROPPED, "uid-c": Refusal.DROPPED}


async def test_a_plan_that_is_refused_is_one_warning_that_names_pod_node_and_gang(tmp_path: Path) -> None:
    with capture_logs() as lines:
        async with binding(lambda _: status(403, "Forbidden", "quota"), tmp_path) as harness:
            await harness.outcome(BindGang(gang="ns/g", binds=binds("a", "b", "c"), nothing_bound=True), 3)

    [warning] = [line for line in lines if line["log_level"] == "warning"]
    assert warning == {
        "event": "bind_refused",
        "log_level": "warning",
        "gang": "ns/g",
        "pod": "ns/a",
        "uid": "uid-a",
        "node": "n1",
        "step": STEP,
        "refusal": "Forbidden",
        "message": "403 Forbidden: quota",
    }


async def test_an_unknown_first_bind_does_not_stop_the_rest(tmp_path: Path) -> None:
    def script(asked: Asked) -> Answer:
        return status(503) if asked.path == BINDING.format("a") else status(201)

    async with binding(script, tmp_path) as harness:
        results = await harness.outcome(BindGang(gang="g", binds=binds("a", "b", "c"), nothing_bound=True), 3)

    assert kinds(results) == ["Unknown", "Bound", "Bound"]


@pytest.mark.parametrize(
    ("refused_pod", "observed"), [pytest.param("", 1, id="all-bound"), pytest.param("b", 0, id="in-part")]
)
async def test_only_a_plan_that_was_bound_whole_tells_how_long_that_takes(
    tmp_path: Path, refused_pod: str, observed: int
) -> None:
    registry = CollectorRegistry()

    def script(asked: Asked) -> Answer:
        return status(404) if asked.path == BINDING.format(refused_pod) else status(201)

    async with binding(script, tmp_path, registry=registry) as harness:
        await harness.outcome(BindGang(gang="g", binds=binds("a", "b"), nothing_bound=True), 2)

    assert registry.get_sample_value("gangline_scheduler_gang_bound_seconds_count") == observed


async def test_a_refusal_inside_a_started_gang_stops_nobody(tmp_path: Path) -> None:
    def script(asked: Asked) -> Answer:
        return status(404) if asked.path == BINDING.format("b") else status(201)

    async with binding(script, tmp_path, workers=1) as harness:
        results = await harness.outcome(BindGang(gang="g", binds=binds("a", "b", "c"), nothing_bound=True), 3)

    assert kinds(results) == ["Bound", "Refused", "Bound"]


def versioned(uid: str, version: str, generation: int) -> Answer:
    return Answer(200, {"metadata": {"uid": uid, "resourceVersion": version, "generation": generation}})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(Answer(200, {"metadata": {"uid": "g1", "resourceVersion": "5"}}), Bound, id="same-version"),
        pytest.param(Answer(200, {"metadata": {"uid": "g1", "resourceVersion": "6"}}), Refusal.STALE, id="edited"),
        pytest.param(Answer(200, {"metadata": {"uid": "g2", "resourceVersion": "5"}}), Refusal.STALE, id="made-again"),
        pytest.param(versioned("g1", "6", 2), Bound, id="its-status-written"),
        pytest.param(versioned("g1", "6", 3), Refusal.STALE, id="its-spec-edited"),
        pytest.param(versioned("g2", "6", 2), Refusal.STALE, id="made-again-as-before"),
        pytest.param(status(404), Refusal.STALE, id="deleted"),
        pytest.param(status(500), Refusal.DROPPED, id="unreadable"),
    ],
)
async def test_the_group_is_confirmed_before_the_first_bind(
    tmp_path: Path, answer: Answer, expected: Refusal | type[Bound]
) -> None:
    def script(asked: Asked) -> Answer:
        return answer if asked.path == GROUP else status(201)

    confirm = GroupVersion(namespace="ns", name="g", uid="g1", resource_version="5", generation=2)
    async with binding(script, tmp_path) as harness:
        gang = BindGang(gang="g", binds=binds("a", "b"), nothing_bound=True, confirm=confirm)
        results = await harness.outcome(gang, 2)

    if isinstance(expected, Refusal):
        assert [asked.path for asked in harness.api.asked] == [GROUP]
        assert [result.refusal for result in results if isinstance(result, Refused)] == [expected, expected]
    else:
        assert kinds(results) == ["Bound", "Bound"]


async def test_nothing_is_sent_without_the_lease(tmp_path: Path) -> None:
    async with binding(lambda _: status(201), tmp_path, time_to_bind_s=lambda: 0.0) as harness:
        results = await harness.outcome(BindGang(gang="g", binds=binds("a", "b"), nothing_bound=True), 2)

    assert not harness.api.asked
    assert [result.refusal for result in results if isinstance(result, Refused)] == [Refusal.DROPPED] * 2


@pytest.mark.parametrize(
    ("left_s", "told"),
    [pytest.param(7.5, "7.500s", id="what-the-lease-leaves"), pytest.param(float("inf"), "30.000s", id="no-lease")],
)
async def test_a_bind_may_take_no_longer_than_the_lease_leaves(tmp_path: Path, left_s: float, told: str) -> None:
    async with binding(lambda _: status(201), tmp_path, time_to_bind_s=lambda: left_s) as harness:
        await harness.outcome(BindGang(gang="g", binds=binds("a"), nothing_bound=False), 1)

    assert harness.api.asked[0].query == {"timeout": told}


async def test_a_bind_that_hangs_is_unknown_once_its_time_is_over(tmp_path: Path) -> None:
    async with hanging_writes(tmp_path) as server, connect(server.kubeconfig, user_agent="test") as client:
        results: asyncio.Queue[Result] = asyncio.Queue()
        async with working(client, results, time_to_bind_s=lambda: 0.05) as binder, asyncio.timeout(60):
            binder.submit(BindGang(gang="g", binds=binds("a"), nothing_bound=False), STEP)
            assert isinstance(await results.get(), Unknown)


async def test_nothing_is_sent_of_a_plan_that_was_overtaken_while_it_waited_for_a_worker(tmp_path: Path) -> None:
    overtaken: set[str] = set()

    def script(asked: Asked) -> Answer:
        overtaken.add("two")
        return status(201)

    def plan_overtaken(plan: BindGang) -> str | None:
        return "node n1 has gone" if plan.gang in overtaken else None

    async with binding(script, tmp_path, workers=1, plan_overtaken=plan_overtaken) as harness:
        harness.binder.submit(BindGang(gang="one", binds=binds("a"), nothing_bound=True), STEP)
        results = await harness.outcome(BindGang(gang="two", binds=binds("b", "c"), nothing_bound=True), 3)

    assert [asked.path for asked in harness.api.asked] == [BINDING.format("a")]
    assert [(result.uid, result.refusal, result.message) for result in results if isinstance(result, Refused)] == [
        ("uid-b", Refusal.OVERTAKEN, "node n1 has gone"),
        ("uid-c", Refusal.OVERTAKEN, "node n1 has gone"),
    ]


async def test_a_plan_is_looked_at_after_its_group_was_confirmed(tmp_path: Path) -> None:
    overtaken: list[str] = []

    def script(asked: Asked) -> Answer:
        overtaken.append("a member has gone")
        return Answer(200, {"metadata": {"uid": "g1", "resourceVersion": "5"}})

    confirm = GroupVersion(namespace="ns", name="g", uid="g1", resource_version="5")
    async with binding(script, tmp_path, plan_overtaken=lambda _: overtaken[0] if overtaken else None) as harness:
        gang = BindGang(gang="g", binds=binds("a", "b"), nothing_bound=True, confirm=confirm)
        results = await harness.outcome(gang, 2)

    assert [asked.path for asked in harness.api.asked] == [GROUP]
    assert [result.refusal for result in results if isinstance(result, Refused)] == [Refusal.OVERTAKEN] * 2


async def test_a_bind_of_a_started_gang_that_was_overtaken_stops_nobody_else(tmp_path: Path) -> None:
    def bind_overtaken(bind: Bind, gang: str) -> str | None:
        return f"{bind.name} has left {gang}" if bind.name == "b" else None

    async with binding(lambda _: status(201), tmp_path, workers=1, bind_overtaken=bind_overtaken) as harness:
        results = await harness.outcome(BindGang(gang="g", binds=binds("a", "b", "c"), nothing_bound=True), 3)

    assert results[1] == Refused(uid="uid-b", attempt=7, refusal=Refusal.OVERTAKEN, message="b has left g")
    assert kinds(results) == ["Bound", "Refused", "Bound"]


async def test_a_gang_that_has_begun_is_finished_before_another_begins(tmp_path: Path) -> None:
    async with binding(lambda _: status(201), tmp_path, workers=1) as harness:
        harness.binder.submit(BindGang(gang="one", binds=binds("a1", "a2", "a3"), nothing_bound=True), STEP)
        await harness.outcome(BindGang(gang="two", binds=binds("b1", "b2", "b3"), nothing_bound=True), 6)

    order = [asked.path.split("/")[-2] for asked in harness.api.asked]
    assert order == ["a1", "a2", "a3", "b1", "b2", "b3"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(pod("a", node="n9"), PodRead(uid="uid-a", attempt=3, node="n9"), id="bound"),
        pytest.param(pod("a"), PodRead(uid="uid-a", attempt=3, node=""), id="unbound"),
        pytest.param(pod("a", uid="other"), PodRead(uid="uid-a", attempt=3, node=None), id="another-uid"),
        pytest.param(status(404), PodRead(uid="uid-a", attempt=3, node=None), id="gone"),
        pytest.param(status(500), PodReadFailed, id="no-answer"),
    ],
)
async def test_a_pod_is_read_again(tmp_path: Path, answer: Answer, expected: PodRead | type[PodReadFailed]) -> None:
    async with binding(lambda _: answer, tmp_path) as harness:
        [result] = await harness.outcome(ReadPod(uid="uid-a", namespace="ns", name="a", attempt=3), 1)

    if isinstance(expected, PodRead):
        assert result == expected
    else:
        assert isinstance(result, expected)


async def test_draining_finishes_begun_gangs_and_refuses_the_others(tmp_path: Path) -> None:
    async with binding(lambda _: status(201), tmp_path, workers=1) as harness:
        harness.binder.submit(BindGang(gang="begun", binds=binds("a"), nothing_bound=False), STEP)
        harness.binder.submit(BindGang(gang="fresh", binds=binds("b"), nothing_bound=True), STEP)
        assert await harness.binder.drain(5)
        results = [harness.results.get_nowait() for _ in range(2)]

    assert [asked.path for asked in harness.api.asked] == [BINDING.format("a")]
    assert results[0] == bound("a")
    assert results[1] == Refused(uid="uid-b", attempt=7, refusal=Refusal.DROPPED, message="the scheduler is stopping")

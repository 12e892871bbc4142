"""Bad input: each object is put past validation, and gets what its row says; everybody else is served as before."""

import asyncio
import io
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, assert_never

import aiohttp
import msgspec
import pytest
from msgspec import Struct

from gangline.contract.crd import crd
from gangline.contract.meta import Key
from gangline.contract.names import DEFAULT_SCHEDULER_NAME
from gangline.kube.client import connect
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS
from gangline.sandbox.cluster import Sandbox
from tests.support import bad_pods, bad_rest
from tests.support.backends import ServedSandbox
from tests.support.bad_objects import (
    POOL,
    ROW_LABEL,
    Event,
    Gets,
    GroupShows,
    LeftAlone,
    Logged,
    Manifest,
    NodeTakes,
    NodeTakesNothing,
    PodSays,
    Row,
    Runs,
    group,
    member_of,
    node,
    pod,
)
from tests.support.cluster import NAMESPACE, Cluster, waits_because
from tests.support.services import Process, eventually

pytestmark = pytest.mark.sandbox

WITHIN_S: Final = 45.0
TOO_MANY: Final = 3
"""Rows after which others were not served: then no more are put."""
PROBE: Final = "probe-of-"
HEALTHY: Final = "healthy"
SERVICES: Final = ("scheduler", "controller")
RUNS: Final = {"plain": ((*bad_pods.ROWS, *bad_rest.ROWS), {}), "budgets": (bad_rest.BUDGETS, {"budget_gangs": "true"})}
ROWS: Final = [row for rows, _ in RUNS.values() for row in rows]


class Outcome(Struct):
    """What a run with a set of rows has shown."""

    problems: dict[str, list[str]]
    """By row: what it did not get."""
    afterwards: list[str]
    """What was wrong with the services or with others' pods."""


class Run:
    """One cluster with both services as processes, into which the rows are put one after the other."""

    def __init__(self, cluster: Cluster, processes: Sequence[Process], session: aiohttp.ClientSession) -> None:
        self.cluster = cluster
        self._session = session
        self.processes = {process.service.name: process for process in processes}
        self.problems: dict[str, list[str]] = {}

    async def go(self, rows: Sequence[Row]) -> Outcome:
        """Put all rows, then see what each got and what the others had of it."""
        await self._put(
            node(
                "node",
                {
                    "metadata": {"labels": POOL},
                    "status": {"allocatable": {"cpu": "900", "memory": "900Gi", "pods": "5000"}},
                },
            )
        )
        await self._healthy_gang("first")
        for row in rows:
            await self._put_row(row)
            if sum(map(bool, self.problems.values())) >= TOO_MANY:
                break
        for row, gets in await self._missed([row for row in rows if row.id in self.problems]):
            self.problems[row.id].append(f"{gets}; instead {self._seen(row)}")
        return Outcome(self.problems, await self._afterwards(rows))

    async def _put(self, body: Manifest, key: str = "") -> None:
        url = f"{self.cluster.url}/sandbox/objects"
        data = io.BytesIO(msgspec.json.encode(body))
        async with self._session.post(url, params={"key": key} if key else {}, data=data) as response:
            assert response.status < 300, await response.text()

    async def _put_row(self, row: Row) -> None:
        self.problems[row.id] = []
        for number, body in enumerate(row.objects):
            await self._put(body, row.key if number == 0 else "")
        for gets in row.gets:
            if isinstance(gets, NodeTakes | NodeTakesNothing):
                name = gets.node or row.id
                probe = pod(f"{PROBE}{name.encode().hex()[:60]}")
                probe["spec"]["nodeSelector"] = {ROW_LABEL: name}
                await self._put(probe)
        try:
            await self._healthy_gang(row.id)
        except AssertionError as error:
            self.problems[row.id].append(f"a healthy gang after it: {str(error).splitlines()[0]}")

    async def _healthy_gang(self, after: str) -> None:
        """Create a gang of two and wait until it is placed."""
        name = f"{HEALTHY}-{after.encode().hex()[:100]}"
        await self._put(group(name, {"minMember": 2}))
        for number in range(2):
            await self._put(pod(f"{name}-{number}", member_of(name)))
        keys = [Key(NAMESPACE, f"{name}-{number}") for number in range(2)]
        await self.cluster.until(lambda: all(self._node_of(key) for key in keys), f"{name} is placed", WITHIN_S)

    def _node_of(self, key: Key) -> str:
        found = self.cluster.pods.get(key)
        return (found.spec.node_name or "") if found is not None else ""

    async def _missed(self, rows: Sequence[Row]) -> list[tuple[Row, Gets]]:
        """Return what has not come in time."""
        missed = [(row, gets) for row in rows for gets in row.gets]

        async def nothing() -> bool:
            missed[:] = [(row, gets) for row, gets in missed if not self._is_there(row, gets)]
            return not missed

        try:
            await eventually(nothing, "each row gets what it says", WITHIN_S)
        except AssertionError:
            return missed
        return []

    def _is_there(self, row: Row, gets: Gets) -> bool:
        match gets:
            case PodSays(reason, text, name):
                return self._says(name or row.id, reason, text)
            case Event(kind, reason, text, name):
                return len(self._events(kind, name or row.id, reason, text)) == 1
            case Logged(service, kind, name):
                return len(self._warnings(service, kind, name or row.id)) == 1
            case Runs(name):
                return bool(self._node_of(Key(NAMESPACE, name or row.id)))
            case LeftAlone(name):
                return self._is_left_alone(name or row.id)
            case NodeTakes(name):
                return self._node_of(self._probe(name or row.id)) == (name or row.id)
            case NodeTakesNothing(text, name):
                return self._says(self._probe(name or row.id).name, "Unschedulable", text)
            case GroupShows():
                return self._shows(row, gets)
            case _:
                assert_never(gets)

    def _probe(self, name: str) -> Key:
        return Key(NAMESPACE, f"{PROBE}{name.encode().hex()[:60]}")

    def _says(self, name: str, reason: str, text: str) -> bool:
        found = self.cluster.pods.get(Key(NAMESPACE, name))
        said = waits_because(found) if found is not None else None
        return said is not None and said.reason == reason and text in (said.message or "")

    def _events(self, kind: str, name: str, reason: str, text: str) -> list[str]:
        return [
            event.note
            for event in self.cluster.events.values()
            if (event.regarding.kind, event.regarding.name, event.reason) == (kind, name, reason)
            and event.type == "Warning"
            and text in event.note
        ]

    def _warnings(self, service: str, kind: str, name: str) -> list[Any]:
        return [
            line
            for line in self.processes[service].records()
            if line["event"] == "object_unreadable"
            and line["kind"] == kind
            and (not name or line["object"] in {name, f"{NAMESPACE}/{name}"})
        ]

    def _is_left_alone(self, name: str) -> bool:
        found = self.cluster.pods.get(Key(NAMESPACE, name))
        return found is not None and not found.status.conditions and not self.cluster.said_of("Pod", name)

    def _shows(self, row: Row, gets: GroupShows) -> bool:
        found = self.cluster.group(gets.group or row.id)
        said = next((one for one in found.status.conditions or () if one.type == "Scheduled"), None)
        if found.status.phase != gets.phase or said is None:
            return False
        return gets.reason in {"", said.reason} and gets.text in (said.message or "")

    def _seen(self, row: Row) -> str:
        """What is there to be seen of a row, for a test that fails."""
        cluster, about = self.cluster, row.id
        pods = [
            f"{key.name} on {each.spec.node_name} {waits_because(each)}"
            for key, each in cluster.pods.items()
            if about in key.name
        ]
        events = [f"{event.reason}: {event.note}" for event in cluster.events.values() if about in event.regarding.name]
        groups = [str(each.status) for key, each in cluster.groups.items() if key.name == about]
        return str({"pods": pods, "events": events, "groups": groups})[:3000]

    async def _afterwards(self, rows: Sequence[Row]) -> list[str]:
        found: list[str] = []
        for name, process in self.processes.items():
            found += [f"{name} is not ready: {problem}" for problem in await process.service.problems()]
            found += [f"{name}: {problem}" for problem in await process.service.problems("/debug/validate")]
            found += [
                f"{name}: {line}"
                for line in process.said().splitlines()
                if '"level": "error"' in line or '"level":"error"' in line or "Traceback" in line
            ]
            status, _ = await process.service.get("/debug/gangs" if name == "scheduler" else "/debug/groups")
            found += [] if status == 200 else [f"{name} answers {status} when asked what it knows"]
        found += await self._counts(rows)
        healthy = [key for key in self.cluster.pods if key.name.startswith(HEALTHY)]
        found += [f"{len(healthy)} healthy pods are left"] if len(healthy) != 2 * (len(rows) + 1) else []
        return found

    async def _counts(self, rows: Sequence[Row]) -> list[str]:
        """Compare what was counted as unreadable with the warnings, by service and kind."""
        found = []
        for name, process in self.processes.items():
            samples = await process.service.samples()
            for kind in {
                gets.kind for row in rows for gets in row.gets if isinstance(gets, Logged) and gets.service == name
            }:
                counted = samples[f'gangline_{name}_unreadable_objects_total{{kind="{kind}"}}']
                logged = len(self._warnings(name, kind, ""))
                found += (
                    []
                    if counted == logged
                    else [f"{name} counts {counted} unreadable {kind}, and warned {logged} times"]
                )
        return found


async def run(rows: Sequence[Row], settings: dict[str, str]) -> Outcome:
    """Run both services on a cluster of their own, with nothing else at work on it."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="gangline-e2e-")))
        sandbox = await stack.enter_async_context(Sandbox(bare=True, kubeconfig=directory / "kubeconfig"))
        client = await stack.enter_async_context(connect(str(sandbox.kubeconfig), user_agent="test"))
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, "", crd())
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        cluster = Cluster(ServedSandbox(sandbox), client, tasks, directory, (DEFAULT_SCHEDULER_NAME,))
        watches = [tasks.create_task(each.run(), name="view") for each in cluster.watching()]
        processes = [
            await stack.enter_async_context(cluster.process(name, **(settings if name == "scheduler" else {})))
            for name in SERVICES
        ]
        for process in processes:
            await process.service.until_ready()
        try:
            return await Run(cluster, processes, await stack.enter_async_context(aiohttp.ClientSession())).go(rows)
        finally:
            for watch in watches:
                watch.cancel()


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """The outcome of each run."""
    return {name: asyncio.run(run(rows, settings)) for name, (rows, settings) in RUNS.items()}


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_a_bad_object_gets_what_its_row_says(row: Row, outcomes: dict[str, Outcome]) -> None:
    found = {id_: problems for outcome in outcomes.values() for id_, problems in outcome.problems.items()}
    assert found[row.id] == []


@pytest.mark.parametrize("name", RUNS)
def test_both_services_are_well_afterwards(name: str, outcomes: dict[str, Outcome]) -> None:
    assert outcomes[name].afterwards == []


def test_the_table_is_long_and_has_each_row_once() -> None:
    assert len(ROWS) == len({row.id for row in ROWS}) >= 60

"""Every row of Coscheduling's tables, and every bug report of others: one row, one test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import cast

import pytest

from gangline.kube.wire.resources import NAMESPACES, NODES, POD_GROUPS, PODS
from tests.conformance.lanes import Lane
from tests.conformance.order import CLASSES
from tests.conformance.rows import KNOWN, Report, Row, Stage
from tests.conformance.status import NODE
from tests.conformance.tables import ALL, ON_A_CLUSTER_TOO, REPORTS, ROWS
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import nodes

Outcomes = dict[str, BaseException | None]
ROOMY = nodes(2, cpu="64", memory="64Gi")
LANES = 12
"""So many at a time: where all wait for their turn to be written, what is held for a while is let go meanwhile."""


def on(stage: Stage) -> list[object]:
    marks = {True: [pytest.mark.sandbox], False: []}
    return [pytest.param(one, id=one.id, marks=marks[one.sandbox]) for one in ALL if one.stage is stage]


@pytest.mark.parametrize("one", on(Stage.CORE))
def test_on_the_core(one: Row | Report) -> None:
    check = cast(Callable[[], None], one.check)
    check()


@pytest.mark.parametrize("one", on(Stage.OWN))
async def test_on_a_cluster_of_its_own(one: Row | Report) -> None:
    await cast(Callable[[], Awaitable[None]], one.check)()


@pytest.mark.parametrize("one", on(Stage.SHARED))
def test_beside_others(one: Row | Report, shared: Outcomes) -> None:
    if (error := shared[one.id]) is not None:
        raise error


@pytest.mark.parametrize("one", on(Stage.CONTROLLER))
def test_with_the_controller_alone(one: Row | Report, controlled: Outcomes) -> None:
    if (error := controlled[one.id]) is not None:
        raise error


@pytest.mark.parametrize("id_", ON_A_CLUSTER_TOO)
def test_what_the_core_does_happens_on_a_cluster_too(id_: str, laned: Outcomes) -> None:
    if (error := laned[id_]) is not None:
        raise error


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest) -> Outcomes:
    """What becomes of all chosen rows that share a cluster with both services."""
    return asyncio.run(beside_others(chosen(request, Stage.SHARED)))


@pytest.fixture(scope="module")
def controlled(request: pytest.FixtureRequest) -> Outcomes:
    """What becomes of all chosen rows that need the controller alone."""
    return asyncio.run(with_the_controller_alone(chosen(request, Stage.CONTROLLER)))


@pytest.fixture(scope="module")
def laned(request: pytest.FixtureRequest) -> Outcomes:
    """What becomes of all chosen rows that have a lane each of one cluster."""
    return asyncio.run(in_lanes([id_ for id_ in parameters(request, "id_") if isinstance(id_, str)]))


def chosen(request: pytest.FixtureRequest, stage: Stage) -> list[Row | Report]:
    """What this run asks for of a stage."""
    return [one for one in parameters(request, "one") if isinstance(one, Row | Report) and one.stage is stage]


def parameters(request: pytest.FixtureRequest, name: str) -> list[object]:
    """The values of a parameter in all tests of this run."""
    items = [
        item for item in request.session.items if isinstance(item, pytest.Function) and item.module is request.module
    ]
    return [item.callspec.params.get(name) for item in items if hasattr(item, "callspec")]


async def beside_others(ones: Sequence[Row | Report]) -> Outcomes:
    async with running_cluster(ROOMY) as cluster:
        return await outcomes(ones, [cast(Callable[[Cluster], Awaitable[None]], one.check)(cluster) for one in ones])


async def in_lanes(ids: Sequence[str]) -> Outcomes:
    async with running_cluster() as cluster:
        for name in ("ns1", "ns2"):
            await cluster.client.create(NAMESPACES, "", {"metadata": {"name": name}})
        await cluster.create(*CLASSES)
        turns = asyncio.Semaphore(LANES)

        async def check(id_: str) -> None:
            async with turns:
                await ON_A_CLUSTER_TOO[id_](Lane(cluster, id_))

        return dict(zip(ids, await asyncio.gather(*map(check, ids), return_exceptions=True), strict=True))


async def with_the_controller_alone(ones: Sequence[Row | Report]) -> Outcomes:
    async with running_cluster(services=()) as cluster:
        await cluster.client.create(NODES, "", NODE)
        plays = [cast(Callable[[Cluster], AsyncIterator[None]], one.check)(cluster) for one in ones]
        arranged = await outcomes(ones, [anext(play) for play in plays])
        await cluster.start("controller")
        told = await outcomes(ones, [ended(play) for play in plays])
        await asyncio.gather(*(cluster.client.delete(POD_GROUPS, key) for key in list(cluster.groups)))
        await asyncio.gather(*(cluster.client.delete(PODS, key, grace_period_s=0) for key in list(cluster.pods)))
        return {one.id: arranged[one.id] or told[one.id] for one in ones}


async def ended(play: AsyncIterator[None]) -> None:
    async for _ in play:
        raise AssertionError("one yield is enough")


async def outcomes(ones: Sequence[Row | Report], checks: Sequence[Awaitable[None]]) -> Outcomes:
    found = await asyncio.gather(*checks, return_exceptions=True)
    return {one.id: result for one, result in zip(ones, found, strict=True)}


def test_no_row_is_missing() -> None:
    assert len(KNOWN) == len(set(KNOWN)) == 158
    assert sorted(set(KNOWN) - ROWS.keys()) == []
    assert sorted(ROWS.keys() - set(KNOWN)) == []


def test_enough_reports_are_reproduced() -> None:
    assert len(REPORTS) >= 40


def test_only_what_is_checked_on_the_core_needs_a_cluster_too() -> None:
    assert ON_A_CLUSTER_TOO.keys() - {one.id for one in ALL if one.stage is Stage.CORE} == set()

"""Others place pods on the same nodes at the same time: kube-scheduler, and a second scheduler of ours."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from tests.support.cluster import Cluster, running_cluster
from tests.support.controlplane import ControlPlane
from tests.support.manifests import gang, nodes, pods
from tests.support.outages import decide_unheard
from tests.support.proxy import Proxy
from tests.support.services import Service, eventually

KUBE_SCHEDULER: Final = "default-scheduler"
GANGS: Final = 12
MEMBERS: Final = 4
PATIENCE_S: Final = 120.0


def names(prefix: str) -> list[str]:
    return [f"{prefix}{number}" for number in range(GANGS)]


async def create_gangs(cluster: Cluster, prefix: str, scheduler: str) -> None:
    for name in names(prefix):
        await cluster.create(*gang(name, MEMBERS, scheduler=scheduler))


def lost(cluster: Cluster, name: str) -> int:
    """Members that a kubelet had no room for."""
    return cluster.in_phase(name, "Failed")


def is_settled(cluster: Cluster, name: str) -> bool:
    """Whether a gang runs, or waits as a whole, or says of itself that it has lost members."""
    if cluster.running(name) == MEMBERS:
        return cluster.phase(name) == "Running"
    if cluster.bound(name) == 0:
        return all(cluster.reasons(name))
    return lost(cluster, name) > 0 and cluster.phase(name) == "Failed" and cluster.bound(name) == MEMBERS


async def comes_to_rest(cluster: Cluster, gangs: Sequence[str]) -> None:
    """Wait until each gang is whole or says why not; the judge then looks for overcommitted nodes and partial gangs."""
    for name in gangs:
        await cluster.until(partial(is_settled, cluster, name), f"{name} runs, waits, or says what it lost", PATIENCE_S)


async def failed_groups(service: Service) -> float:
    return (await service.samples())['gangline_controller_pod_groups{phase="Failed"}']


async def test_kube_scheduler_fills_nodes_between_our_decision_and_our_bind(plane: ControlPlane) -> None:
    async with plane.kube_scheduler(), running_cluster(nodes(8, cpu="4")) as cluster:
        rivals = pods(24, "rival", scheduler=KUBE_SCHEDULER)
        async with asyncio.TaskGroup() as group:
            group.create_task(create_gangs(cluster, "g", "gangline"), name="gangs")
            group.create_task(cluster.create(*rivals), name="rivals")
        await cluster.until(
            lambda: cluster.bound("rival") + sum(cluster.bound(name) for name in names("g")) >= 29, "most room is used"
        )
        await comes_to_rest(cluster, names("g"))
        broken = [name for name in names("g") if lost(cluster, name)]
        await eventually(partial(counts, cluster.services["controller"], len(broken)), "the metric counts them")


async def test_kube_scheduler_takes_the_room_of_a_gang_whose_binds_are_on_their_way(plane: ControlPlane) -> None:
    async with (
        plane.kube_scheduler(),
        running_cluster(nodes(1, cpu="4"), services=("controller",)) as cluster,
        Proxy(cluster.url) as proxy,
    ):
        await decide_unheard(cluster, proxy, "g", MEMBERS)
        await cluster.create(*pods(2, "rival", scheduler=KUBE_SCHEDULER))
        await cluster.until(lambda: cluster.running("rival") == 2, "kube-scheduler fills half of the node")
        proxy.let_go()
        await cluster.until(lambda: cluster.phase("g") == "Failed", "the group says what has become of it", PATIENCE_S)
        await comes_to_rest(cluster, ["g"])
        assert (cluster.running("g"), lost(cluster, "g")) == (2, 2)
        await eventually(partial(counts, cluster.services["controller"], 1), "the metric counts it")
        await cluster.judged()
        await cluster.stop_all()


async def counts(service: Service, number: int) -> bool:
    return await failed_groups(service) == number


async def test_two_of_our_schedulers_with_different_names(plane: ControlPlane) -> None:
    both = ("gangline", "second")
    async with running_cluster(nodes(8, cpu="4"), services=("controller",), scheduler_names=both) as cluster:
        await cluster.start("scheduler", scheduler_name=both[:1])
        async with cluster.process("scheduler", scheduler_name="second") as second:
            await second.service.until_ready()
            async with asyncio.TaskGroup() as group:
                group.create_task(create_gangs(cluster, "a", "gangline"), name="gangs of the first")
                group.create_task(create_gangs(cluster, "b", "second"), name="gangs of the second")
            await comes_to_rest(cluster, [*names("a"), *names("b")])
            broken = [name for name in [*names("a"), *names("b")] if lost(cluster, name)]
            await eventually(partial(counts, cluster.services["controller"], len(broken)), "the metric counts them")
            assert await second.service.problems("/debug/validate") == []
            assert await second.terminate() == 0

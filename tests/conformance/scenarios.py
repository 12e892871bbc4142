"""Table D: whole scenarios, with what follows for a gang that is decided whole.

Pods exist before the scheduler starts where the order of creation would otherwise decide who is looked at first: we
do not preempt, so a pod of low priority that is bound stays. Amounts without unit are bytes of memory on a node of 300.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.sandbox.kubelets.nodes import NodeGroup
from scheduler.settings import Settings
from tests.conformance.rows import Stage, row
from tests.support.cluster import NAMESPACE, Cluster, running_cluster
from tests.support.manifests import deployment, gang, job, nodes, pod, pod_group, pods, priority_class, replica_set
from tests.support.outages import decide_unheard
from tests.support.proxy import Proxy
from tests.support.services import eventually

MEMORY_NODE: Final = nodes(1, memory="300", pods="32")
LANE: Final = "lane"
LANES: Final = tuple("abcdefghij")
FEW_TRIES: Final = 10
"""Of a gang that waits: fewer than there are events which could not help it."""
CLASSES: Final = (priority_class("mid", 100), priority_class("high", 1000))


class Scenario(Struct, frozen=True):
    """What is created, how many pods of each name are bound in the end, and what the others say."""

    room: tuple[NodeGroup, ...]
    objects: tuple[Any, ...]
    bound: Mapping[str, int]
    reasons: Mapping[str, str] = {}

    async def play(self) -> None:
        """Create it all, then let the scheduler come."""
        async with running_cluster(*self.room, services=("controller",)) as cluster:
            await cluster.create(*CLASSES, *self.objects)
            await cluster.start("scheduler")
            await cluster.until(lambda: self.has_settled(cluster), f"bound {self.bound}, say {self.reasons}")

    def has_settled(self, cluster: Cluster) -> bool:
        """Whether it has come to what must be."""
        return all(cluster.running(name) == number for name, number in self.bound.items()) and all(
            cluster.reasons(name) and set(cluster.reasons(name)) == {reason} for name, reason in self.reasons.items()
        )


def bytes_(memory: int, priority: str = "mid") -> dict[str, Any]:
    return {"requests": {"memory": memory}, "priority": priority}


async def in_every_lane(does: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    """Do the same on the nodes of each lane, at the same time: what happens once in a hundred times, sooner."""
    async with asyncio.TaskGroup() as group:
        for lane in LANES:
            group.create_task(does(lane), name=lane)


def lane_node(lane: str, *, count: int = 1, **room: str | int) -> NodeGroup:
    """The nodes of a lane, for those who ask for its label."""
    return nodes(count, lane, labels={LANE: lane}, room=room)


def alternating(first: list[Any], second: list[Any]) -> list[Any]:
    return [each for pair in zip(first, second, strict=True) for each in pair]


def scenario(id_: str, given: str, upstream: str, ours: str = "", why: str = "", *, plays: Scenario) -> None:
    """Make a row of a scenario."""
    row(id_, given, upstream, ours, why, stage=Stage.OWN)(plays.play)


scenario(
    "D1",
    "g1 min 3: 3 x 50; g2 min 4: 4 x 100; all of one priority",
    "g1's 3 are bound; g2 waits",
    plays=Scenario(
        (MEMORY_NODE,),
        (*gang("g1", 3, **bytes_(50)), *gang("g2", 4, **bytes_(100))),
        {"g1": 3, "g2": 0},
        {"g2": "Unschedulable"},
    ),
)

scenario(
    "D3",
    "g1 min 4, but only 3 x 50; two plain pods of 100, alternating",
    "both plain pods are bound; g1 waits",
    plays=Scenario(
        (MEMORY_NODE,),
        (pod_group("g1", 4), *pods(3, "g1", "g1", **bytes_(50)), *pods(2, "plain", **bytes_(100))),
        {"g1": 0, "plain": 2},
        {"g1": "GangIncomplete"},
    ),
)

scenario(
    "D4",
    "g1 min 3: 3 x 100; g2 min 3: 3 x 50, of higher priority; g1's pods came first",
    "g2's 3 are bound; g1 waits",
    plays=Scenario(
        (MEMORY_NODE,),
        (*gang("g1", 3, **bytes_(100)), *gang("g2", 3, **bytes_(50, "high"))),
        {"g1": 0, "g2": 3},
        {"g1": "Unschedulable"},
    ),
)


@row(
    "D6",
    "g1 min 3: 3 x 50; three plain pods of 100, of higher priority, alternating; 100 times",
    "the 3 plain pods are bound; g1 waits",
    stage=Stage.OWN,
)
async def high_priority_first() -> None:
    async with running_cluster(*(lane_node(lane, memory="300", pods="32") for lane in LANES)) as cluster:
        await cluster.stop("scheduler")
        await cluster.create(*CLASSES)
        for _ in range(10):
            await in_every_lane(partial(create_both, cluster))
            await cluster.start("scheduler")
            await in_every_lane(partial(high_wins, cluster))
            await cluster.stop("scheduler")
            await in_every_lane(partial(delete_both, cluster))
        await cluster.start("scheduler")


async def create_both(cluster: Cluster, lane: str) -> None:
    await cluster.create(pod_group(f"{lane}g", 3))
    low = pods(3, f"{lane}g", f"{lane}g", nodeSelector={LANE: lane}, **bytes_(50))
    high = pods(3, f"{lane}plain", nodeSelector={LANE: lane}, **bytes_(100, "high"))
    await cluster.create(*alternating(low, high))


async def high_wins(cluster: Cluster, lane: str) -> None:
    await cluster.until(
        lambda: cluster.running(f"{lane}plain") == 3 and cluster.reasons(f"{lane}g") == ["Unschedulable"] * 3,
        f"in {lane} the plain pods run and the gang waits",
    )


async def delete_both(cluster: Cluster, lane: str) -> None:
    await cluster.delete("PodGroup", f"{lane}g")
    for number in range(3):
        for name in (f"{lane}g", f"{lane}plain"):
            await cluster.delete("Pod", f"{name}-{number}", grace_period_s=0)
    await cluster.until(lambda: not cluster.of(f"{lane}g") + cluster.of(f"{lane}plain"), f"nothing is left in {lane}")


scenario(
    "D8",
    "g1 min 3: 3 x 50; g2 and g3 min 4: 4 x 100; minResources 150, 400, 400",
    "g1's 3 are bound; g2 and g3 are refused",
    plays=Scenario(
        (MEMORY_NODE,),
        (
            *gang("g1", 3, spec={"minResources": {"memory": "150"}}, **bytes_(50)),
            *gang("g2", 4, spec={"minResources": {"memory": "400"}}, **bytes_(100)),
            *gang("g3", 4, spec={"minResources": {"memory": "400"}}, **bytes_(100)),
        ),
        {"g1": 3, "g2": 0, "g3": 0},
        {"g2": "Unschedulable", "g3": "Unschedulable"},
    ),
)

scenario(
    "D9",
    "g1 min 3: 3 x 50; g2 min 4: 4 x 100; minResources 150, 400; alternating",
    "g1's 3 are bound; g2 is refused",
    plays=Scenario(
        (MEMORY_NODE,),
        (
            pod_group("g1", 3, minResources={"memory": "150"}),
            pod_group("g2", 4, minResources={"memory": "400"}),
            *alternating(pods(3, "g1", "g1", **bytes_(50)), pods(3, "g2", "g2", **bytes_(100))),
            pod("g2-3", "g2", **bytes_(100)),
        ),
        {"g1": 3, "g2": 0},
        {"g2": "Unschedulable"},
    ),
)

scenario(
    "D12",
    "room for 3 pods of 3 CPU and 500 Mi; a ReplicaSet of 6; min 3",
    "3 run, 3 wait",
    plays=Scenario(
        (nodes(1, cpu="9", memory="1500Mi"),),
        (pod_group("web", 3), replica_set("web", 6, "web", requests={"cpu": 3, "memory": "500Mi"})),
        {"web": 3},
        {"web": "Unschedulable"},
    ),
)

scenario(
    "D13",
    "as D12, with min 4",
    "6 wait, none runs",
    plays=Scenario(
        (nodes(1, cpu="9", memory="1500Mi"),),
        (pod_group("web", 4), replica_set("web", 6, "web", requests={"cpu": 3, "memory": "500Mi"})),
        {"web": 0},
        {"web": "Unschedulable"},
    ),
)

scenario(
    "D20",
    "10 members, min 10, room for 9; another pod needs that room",
    "the other pod runs, after the 9 have let go",
    "the other pod runs at once: nobody holds anything",
    "There is no Permit: a gang that does not fit holds nothing.",
    plays=Scenario(
        (nodes(9, cpu="1"),),
        (*gang("g", 10, requests={"cpu": 1}), pod("other", requests={"cpu": 1})),
        {"g": 0, "other": 1},
        {"g": "Unschedulable"},
    ),
)

scenario(
    "D27",
    "a group of high priority whose selector matches too few nodes; the nodes are full",
    "nobody is evicted",
    plays=Scenario(
        (nodes(1, "gpu", cpu="2", labels={"kind": "gpu"}), nodes(3, "plain", cpu="2")),
        (
            *pods(8, "low", requests={"cpu": 1}),
            *gang("g", 3, requests={"cpu": 2}, priority="high", nodeSelector={"kind": "gpu"}),
        ),
        {"low": 8, "g": 0},
        {"g": "Unschedulable"},
    ),
)


@row(
    "D10",
    "nodes of 6, 2, 2, 2 CPU; g1 min 6: 6 x 4 CPU; then g2 min 1: 2 CPU",
    "g2 is bound; g1 never, and it is not tried over and over",
    stage=Stage.OWN,
)
async def fragments() -> None:
    async with running_cluster(nodes(1, "big", cpu="6"), nodes(3, "small", cpu="2")) as cluster:
        await cluster.create(*gang("g1", 6, requests={"cpu": 4}))
        await cluster.until(lambda: cluster.reasons("g1") == ["Unschedulable"] * 6, "the gang waits")
        await cluster.create(*gang("g2", 1, requests={"cpu": 2}))
        await cluster.until(lambda: cluster.running("g2") == 1, "the single pod runs")
        assert await tries_in_vain(cluster) <= FEW_TRIES


async def tries_in_vain(cluster: Cluster) -> float:
    """How often the scheduler has found no place for a gang."""
    samples = await cluster.services["scheduler"].samples()
    return samples['gangline_scheduler_decisions_total{outcome="unplaced"}']


@row(
    "D18",
    "nodes with 6, 2, 2, 2 GPUs; a group of 3 x 4 GPUs, min 3; plain pods of 1 GPU arrive",
    "the plain pods run; the group waits, and is not tried over and over",
    stage=Stage.OWN,
)
async def fragments_of_devices() -> None:
    big = nodes(1, "big", room={"cpu": "64", "nvidia.com/gpu": 6})
    async with running_cluster(big, nodes(3, "small", room={"cpu": "64", "nvidia.com/gpu": 2})) as cluster:
        await cluster.create(*gang("g", 3, requests={"nvidia.com/gpu": 4}))
        await cluster.until(lambda: cluster.reasons("g") == ["Unschedulable"] * 3, "the gang waits")
        for number, body in enumerate(pods(12, "plain", requests={"nvidia.com/gpu": 1}), start=1):
            await cluster.create(body)
            await cluster.until(lambda n=number: cluster.running("plain") == n, "each runs")  # type: ignore[misc]
        assert cluster.bound("g") == 0
        assert await tries_in_vain(cluster) <= FEW_TRIES


@row(
    "D14",
    "min 3, timeout 10; a Deployment of 2, scaled up to 3",
    "both wait, then 3 run and the group says so",
    stage=Stage.OWN,
)
async def scaled_up() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(
            pod_group("pg1", 3, scheduleTimeoutSeconds=10), deployment("nginx", 2, "pg1", requests={"cpu": 1})
        )
        await cluster.until(lambda: cluster.reasons("nginx") == ["GangIncomplete"] * 2, "both wait")

        await cluster.patch("Deployment", "nginx", {"spec": {"replicas": 3}})

        await cluster.until(lambda: cluster.running("nginx") == 3, "all three run")
        await cluster.until(
            lambda: (cluster.phase("pg1"), cluster.group("pg1").status.running) == ("Running", 3), "the group says so"
        )


@row(
    "D17",
    "a Job of 7 pods in threes, minMember 3",
    "the 7th pod is refused for ever",
    "it starts",
    "As D11: a gang that has started never waits for siblings that have finished.",
    stage=Stage.OWN,
)
async def last_wave() -> None:
    async with running_cluster(nodes(1, cpu="9"), services=("scheduler",)) as cluster:
        await cluster.create(
            pod_group("g", 3), job("g", "g", parallelism=3, completions=7, run_s=0.2, requests={"cpu": 3})
        )
        await cluster.until(lambda: cluster.in_phase("g", "Succeeded") == 7, "all seven pods succeed")


@row(
    "D21",
    "8 nodes; 190 groups of 2 to 6 pods, timeout 10",
    "all finish; no group starves by its own timer",
    stage=Stage.OWN,
)
async def a_busy_queue() -> None:
    sizes = {f"g{number}": 2 + number % 5 for number in range(190)}
    timeout = {"scheduleTimeoutSeconds": 10}
    async with running_cluster(nodes(8, cpu="16")) as cluster:

        async def submit(name: str) -> None:
            await cluster.create(*gang(name, sizes[name], spec=timeout, run_s=0.1, restartPolicy="Never"))

        await asyncio.gather(*map(submit, sizes))
        await cluster.until(lambda: all_succeeded(cluster, sum(sizes.values())), "all finish")
        await cluster.until(lambda: all(cluster.phase(name) == "Finished" for name in sizes), "the groups say so")


def all_succeeded(cluster: Cluster, count: int) -> bool:
    return sum(one.status.phase == "Succeeded" for one in cluster.pods.values()) == count


@row("D22", "one group of 370 pods, ample room", "bound in about 2 minutes", stage=Stage.OWN)
async def a_big_gang() -> None:
    async with running_cluster(nodes(10, cpu="40")) as cluster:
        await cluster.create(pod_group("g", 370), job("g", "g", parallelism=370, completions=370))
        await cluster.until(lambda: cluster.running("g") == 370, "all run")
        samples = await cluster.services["scheduler"].samples()
        assert samples['gangline_scheduler_decisions_total{outcome="placed"}'] == 1


@row(
    "D23",
    "two nodes for one pod each; a plain pod on one; a group of 2; 200 times",
    "0 of 2 are bound until the plain pod goes; never 1",
    stage=Stage.OWN,
)
async def never_one_of_two() -> None:
    async with running_cluster(*(lane_node(lane, count=2, cpu="8", pods="1") for lane in LANES)) as cluster:
        await in_every_lane(partial(one_of_two_rooms, cluster))


async def one_of_two_rooms(cluster: Cluster, lane: str) -> None:
    for number in range(20):
        plain, name = f"{lane}plain{number}", f"{lane}g{number}"
        await cluster.create(pod(plain, nodeSelector={LANE: lane}))
        await cluster.until(lambda one=plain: cluster.running(one) == 1, "the plain pod runs")  # type: ignore[misc]
        await cluster.create(*gang(name, 2, nodeSelector={LANE: lane}))
        await cluster.until(
            lambda one=name: cluster.reasons(one) == ["Unschedulable"] * 2,  # type: ignore[misc]
            "both wait",
        )
        await cluster.delete("Pod", plain, grace_period_s=0)
        await cluster.until(lambda one=name: cluster.running(one) == 2, "both run")  # type: ignore[misc]
        for member in range(2):
            await cluster.delete("Pod", f"{name}-{member}", grace_period_s=0)
        await cluster.until(
            lambda one=name, other=plain: not cluster.of(one) + cluster.of(other),  # type: ignore[misc]
            "they are gone",
        )


@row(
    "D25",
    "a group created after its pods; pods created one by one, min 5",
    "bound soon after the last object",
    stage=Stage.OWN,
)
async def late_arrivals() -> None:
    async with running_cluster(nodes(1, cpu="16")) as cluster:
        await cluster.create(*pods(5, "late", "late"))
        await cluster.until(lambda: cluster.reasons("late") == ["PodGroupNotFound"] * 5, "the pods miss their group")
        await cluster.create(pod_group("late", 5))
        await cluster.until(lambda: cluster.running("late") == 5, "all run")

        await cluster.create(pod_group("slow", 5))
        for number, body in enumerate(pods(5, "slow", "slow")):
            assert cluster.bound("slow") == 0
            await cluster.create(body)
            await cluster.until(lambda n=number: len(cluster.of("slow")) == n + 1, "it is seen")  # type: ignore[misc]
        await cluster.until(lambda: cluster.running("slow") == 5, "all run")


@row(
    "D29",
    "a running group of 3, min 3; one pod is deleted and made again",
    "3 run again within seconds",
    stage=Stage.OWN,
)
async def a_lost_member() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(pod_group("g", 3), replica_set("g", 3, "g"))
        await cluster.until(lambda: cluster.running("g") == 3, "all run")
        lost = cluster.of("g")[0].metadata.name

        await cluster.delete("Pod", lost)

        await cluster.until(
            lambda: cluster.running("g") == 3 and lost not in {one.metadata.name for one in cluster.of("g")},
            "three run again",
        )
        await cluster.until(lambda: cluster.phase("g") == "Running", "the group runs")


@row(
    "D32",
    "the scheduler is killed between the first and the last bind of a gang",
    "the next one completes it; the count starts anew",
    stage=Stage.OWN,
)
async def killed_in_the_middle() -> None:
    async with running_cluster(nodes(1, cpu="40"), services=("controller",)) as cluster:
        async with Proxy(cluster.url) as proxy:
            through = proxy.kubeconfig(cluster.kubeconfig)
            async with cluster.process("scheduler", kubeconfig=through, bind_concurrency=1) as first:
                await cluster.create(*gang("g", 40))
                await cluster.until(lambda: cluster.bound("g") > 0, "the first bind is done")
                proxy.hold()
                await first.kill()
        await cluster.see()
        assert 0 < cluster.bound("g") < 40

        await cluster.start("scheduler")
        await cluster.until(lambda: cluster.running("g") == 40, "the gang is completed")


@row(
    "D33",
    "two replicas, and nobody has thought of leader election",
    "both act, since it is off unless asked for",
    "one acts, the other waits and says for whom",
    "In a cluster the lease is on unless it is turned off.",
    stage=Stage.OWN,
)
async def two_replicas() -> None:
    assert Settings().lease == "auto"
    lease = "default/gangline-scheduler"
    async with running_cluster(nodes(2, cpu="1"), services=("controller",)) as cluster:
        await cluster.start("scheduler", lease=lease)
        async with cluster.process("scheduler", lease=lease) as second:

            async def waits() -> bool:
                return any("the lease is held by" in problem for problem in await second.service.problems())

            await eventually(waits, "the second says who acts")
            await cluster.create(*gang("g", 2))
            await cluster.until(lambda: cluster.running("g") == 2, "the first works")
            assert "gang_planned" not in second.said()


@row(
    "D34",
    "another scheduler fills the node between our decision and our binds",
    "the gang is left half-bound; the kubelet refuses the rest",
    "the same, and the group says so: Failed, with its figures",
    "Kubernetes cannot unbind; what can be done is to tell.",
    stage=Stage.OWN,
)
async def filled_meanwhile() -> None:
    async with running_cluster(nodes(1, cpu="4"), services=("controller",)) as cluster, Proxy(cluster.url) as proxy:
        await cluster.create(pod("foreign", scheduler="default-scheduler", requests={"cpu": 2}))
        foreign = Key(NAMESPACE, "foreign")
        await cluster.until(lambda: foreign in cluster.pods, "it is seen")
        await decide_unheard(cluster, proxy, "g", 4)
        await cluster.client.bind(foreign, cluster.pods[foreign].metadata.uid, "node-0")
        await cluster.until(lambda: cluster.running("foreign") == 1, "the other pod runs")
        proxy.let_go()

        await cluster.until(lambda: cluster.phase("g") == "Failed", "the group says what has become of it")
        await cluster.until(lambda: _figures(cluster, "g") == (2, 2), "and of how many")
        await cluster.judged()
        await cluster.stop_all()


def _figures(cluster: Cluster, name: str) -> tuple[int | None, int | None]:
    status = cluster.group(name).status
    return status.running, status.failed

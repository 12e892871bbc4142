"""The integration scenarios of scheduler-plugins' Coscheduling (D1 to D29), with what follows for a gang that is decided whole.

Pods exist before the scheduler starts where the order of creation would otherwise decide who is looked at first: we
do not preempt, so a pod of low priority that is bound stays.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Struct

from gangline.sandbox.nodes import NodeGroup
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import deployment, gang, job, nodes, pod, pod_group, pods, priority_class, replica_set

MEMORY_NODE = nodes(1, memory="300", pods="32")
CLASSES = (priority_class("mid", 100), priority_class("high", 1000))


class Scenario(Struct, frozen=True):
    """What is created, how many pods of each name are bound in the end, and what the others say."""

    room: tuple[NodeGroup, ...]
    objects: tuple[Any, ...]
    bound: Mapping[str, int]
    reasons: Mapping[str, str] = {}


def bytes_(memory: int, priority: str = "mid") -> dict[str, Any]:
    return {"requests": {"memory": memory}, "priority": priority}


def alternating(first: list[Any], second: list[Any]) -> list[Any]:
    return [each for pair in zip(first, second, strict=True) for each in pair]


SCENARIOS = [
    pytest.param(
        Scenario(
            (MEMORY_NODE,),
            (*gang("g1", 3, **bytes_(50)), *gang("g2", 4, **bytes_(100))),
            {"g1": 3, "g2": 0},
            {"g2": "Unschedulable"},
        ),
        id="D1-the-gang-that-fits",
    ),
    pytest.param(
        Scenario(
            (MEMORY_NODE,),
            (pod_group("g1", 4), *pods(3, "g1", "g1", **bytes_(50)), *pods(2, "plain", **bytes_(100))),
            {"g1": 0, "plain": 2},
            {"g1": "GangIncomplete"},
        ),
        id="D3-an-incomplete-gang-holds-nothing",
    ),
    pytest.param(
        Scenario(
            (MEMORY_NODE,),
            (*gang("g1", 3, **bytes_(100)), *gang("g2", 3, **bytes_(50, "high"))),
            {"g1": 0, "g2": 3},
            {"g1": "Unschedulable"},
        ),
        id="D4-the-higher-priority-first",
    ),
    pytest.param(
        Scenario(
            (MEMORY_NODE,),
            (
                pod_group("g1", 3),
                *alternating(pods(3, "g1", "g1", **bytes_(50)), pods(3, "plain", **bytes_(100, "high"))),
            ),
            {"g1": 0, "plain": 3},
            {"g1": "Unschedulable"},
        ),
        id="D6-plain-pods-of-higher-priority",
    ),
    pytest.param(
        Scenario(
            (MEMORY_NODE,),
            (
                *gang("g1", 3, spec={"minResources": {"memory": "150"}}, **bytes_(50)),
                *gang("g2", 4, spec={"minResources": {"memory": "400"}}, **bytes_(100)),
                *gang("g3", 4, spec={"minResources": {"memory": "400"}}, **bytes_(100)),
            ),
            {"g1": 3, "g2": 0, "g3": 0},
            {"g2": "Unschedulable", "g3": "Unschedulable"},
        ),
        id="D8-minResources-refuse-two",
    ),
    pytest.param(
        Scenario(
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
        id="D9-minResources-members-alternating",
    ),
    pytest.param(
        Scenario(
            (nodes(1, "big", cpu="6"), nodes(3, "small", cpu="2")),
            (*gang("g1", 6, requests={"cpu": 4}), *gang("g2", 1, requests={"cpu": 2})),
            {"g1": 0, "g2": 1},
            {"g1": "Unschedulable"},
        ),
        id="D10-sums-fit-but-fragments-do-not",
    ),
    pytest.param(
        Scenario(
            (nodes(1, cpu="9", memory="1500Mi"),),
            (pod_group("web", 3), replica_set("web", 6, "web", requests={"cpu": 3, "memory": "500Mi"})),
            {"web": 3},
            {"web": "Unschedulable"},
        ),
        id="D12-surplus-waits",
    ),
    pytest.param(
        Scenario(
            (nodes(1, cpu="9", memory="1500Mi"),),
            (pod_group("web", 4), replica_set("web", 6, "web", requests={"cpu": 3, "memory": "500Mi"})),
            {"web": 0},
            {"web": "Unschedulable"},
        ),
        id="D13-all-six-wait",
    ),
    pytest.param(
        Scenario(
            (
                nodes(1, "big", room={"cpu": "64", "nvidia.com/gpu": 6}),
                nodes(3, "small", room={"cpu": "64", "nvidia.com/gpu": 2}),
            ),
            (
                *gang("g", 3, requests={"nvidia.com/gpu": 4}),
                *pods(12, "plain", requests={"nvidia.com/gpu": 1}),
            ),
            {"g": 0, "plain": 12},
            {"g": "Unschedulable"},
        ),
        id="D18-extended-resources-in-fragments",
    ),
    pytest.param(
        Scenario(
            (nodes(9, cpu="1"),),
            (*gang("g", 10, requests={"cpu": 1}), pod("other", requests={"cpu": 1})),
            {"g": 0, "other": 1},
            {"g": "Unschedulable"},
        ),
        id="D20-nine-of-ten-hold-nothing",
    ),
    pytest.param(
        Scenario(
            (nodes(1, "gpu", cpu="2", labels={"kind": "gpu"}), nodes(3, "plain", cpu="2")),
            (
                *pods(8, "low", requests={"cpu": 1}),
                *gang("g", 3, requests={"cpu": 2}, priority="high", nodeSelector={"kind": "gpu"}),
            ),
            {"low": 8, "g": 0},
            {"g": "Unschedulable"},
        ),
        id="D27-nobody-is-evicted-for-a-gang-that-cannot-fit",
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_who_is_bound_in_the_end(scenario: Scenario) -> None:
    async with running_cluster(*scenario.room, services=("controller",)) as cluster:
        await cluster.create(*CLASSES, *scenario.objects)
        await cluster.start("scheduler")
        await cluster.until(lambda: has_settled(cluster, scenario), f"bound {scenario.bound}, say {scenario.reasons}")


def has_settled(cluster: Cluster, scenario: Scenario) -> bool:
    return all(cluster.running(name) == number for name, number in scenario.bound.items()) and all(
        cluster.reasons(name) and set(cluster.reasons(name)) == {reason} for name, reason in scenario.reasons.items()
    )


async def test_d10_a_gang_in_fragments_is_not_decided_over_and_over() -> None:
    async with running_cluster(nodes(1, "big", cpu="6"), nodes(3, "small", cpu="2")) as cluster:
        await cluster.create(*gang("g1", 6, requests={"cpu": 4}))
        await cluster.until(lambda: cluster.reasons("g1") == ["Unschedulable"] * 6, "the gang waits")
        await cluster.create(*gang("g2", 1, requests={"cpu": 2}))
        await cluster.until(lambda: cluster.running("g2") == 1, "the single pod runs")

        samples = await cluster.services["scheduler"].samples()
        assert samples['gangline_scheduler_decisions_total{outcome="unplaced"}'] <= 10


async def test_d14_a_deployment_scaled_up_to_its_quorum() -> None:
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


async def test_d17_the_last_wave_of_a_job_is_admitted() -> None:
    async with running_cluster(nodes(1, cpu="9")) as cluster:
        await cluster.create(
            pod_group("g", 3), job("g", "g", parallelism=3, completions=7, run_s=0.2, requests={"cpu": 3})
        )
        await cluster.until(lambda: cluster.in_phase("g", "Succeeded") == 7, "all seven pods succeed")
        await cluster.until(lambda: cluster.phase("g") == "Finished", "the group is finished")
        assert cluster.group("g").status.succeeded == 7


async def test_d22_a_big_gang_is_bound_at_once() -> None:
    async with running_cluster(nodes(10, cpu="10")) as cluster:
        await cluster.create(pod_group("g", 100), job("g", "g", parallelism=100, completions=100))
        await cluster.until(lambda: cluster.running("g") == 100, "all run")
        samples = await cluster.services["scheduler"].samples()
        assert samples['gangline_scheduler_decisions_total{outcome="placed"}'] == 1


@pytest.mark.parametrize("repeat", range(5))
async def test_d23_never_one_of_two(repeat: int) -> None:
    one_pod_each = nodes(2, cpu="8", pods="1")
    async with running_cluster(one_pod_each) as cluster:
        await cluster.create(pod("plain"))
        await cluster.until(lambda: cluster.running("plain") == 1, "the plain pod runs")
        await cluster.create(*gang("g", 2))
        await cluster.until(lambda: cluster.reasons("g") == ["Unschedulable"] * 2, "both wait")

        await cluster.delete("Pod", "plain")
        await cluster.until(lambda: cluster.running("g") == 2, "both run")


async def test_d25_a_group_created_after_its_pods() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(*pods(5, "g", "g"))
        await cluster.until(lambda: cluster.reasons("g") == ["PodGroupNotFound"] * 5, "the pods miss their group")
        await cluster.create(pod_group("g", 5))
        await cluster.until(lambda: cluster.running("g") == 5, "all run")


async def test_d25_pods_that_come_one_by_one() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(pod_group("g", 5))
        for number, body in enumerate(pods(5, "g", "g")):
            assert cluster.bound("g") == 0
            await cluster.create(body)
            await cluster.until(lambda number=number: len(cluster.of("g")) == number + 1, "the pod is seen")  # type: ignore[misc]
        await cluster.until(lambda: cluster.running("g") == 5, "all run")


async def test_d29_a_lost_member_comes_back() -> None:
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

"""What the services say of themselves at /metrics: figures by which somebody is woken at night."""

import pytest

from tests.support.cluster import running_cluster
from tests.support.manifests import gang, nodes, pod
from tests.support.services import eventually


async def test_waiting_gangs_are_counted_by_reason_and_the_longest_wait_by_state() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(*gang("large", 3), *gang("small", 2), pod("lost", group="nowhere"))
        await cluster.until(lambda: cluster.running("small") == 2, "the small gang runs")
        await cluster.until(lambda: cluster.reasons("large") == ["Unschedulable"] * 3, "the large gang says why not")
        await cluster.until(lambda: cluster.reasons("lost") == ["PodGroupNotFound"], "the lost pod says why not")
        samples = await cluster.services["scheduler"].samples()
        waiting = {key: value for key, value in samples.items() if key.startswith("gangline_scheduler_waiting_gangs{")}

        assert {key: value for key, value in waiting.items() if value} == {
            'gangline_scheduler_waiting_gangs{reason="Unschedulable"}': 1.0,
            'gangline_scheduler_waiting_gangs{reason="PodGroupNotFound"}': 1.0,
        }
        assert samples['gangline_scheduler_longest_wait_seconds{state="parked"}'] > 0
        assert samples['gangline_scheduler_longest_wait_seconds{state="incomplete"}'] > 0
        assert samples['gangline_scheduler_longest_wait_seconds{state="binding"}'] == 0
        assert samples['gangline_scheduler_gangs{state="parked"}'] == 1
        assert samples['gangline_scheduler_gangs{state="bound"}'] == 1
        assert samples['gangline_scheduler_cache_size{what="pods"}'] == 6

        await cluster.delete("PodGroup", "large")
        await cluster.add_nodes(nodes(3, "more", cpu="2"))
        for name in [each.metadata.name for each in cluster.of("large")] + ["lost"]:
            await cluster.delete("Pod", name)

        async def nobody_waits() -> bool:
            samples = await cluster.services["scheduler"].samples()
            return samples['gangline_scheduler_longest_wait_seconds{state="parked"}'] == 0

        await eventually(nobody_waits, "nobody waits any more")


@pytest.mark.parametrize("name", ["scheduler", "controller"])
async def test_a_service_that_is_ready_says_so(name: str) -> None:
    async with running_cluster(nodes(1, cpu="1"), services=(name,)) as cluster:
        assert (await cluster.services[name].samples())[f"gangline_{name}_ready"] == 1


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["scheduler", "controller"])
async def test_what_is_remembered_is_compared_now_and_then(name: str) -> None:
    async with running_cluster(nodes(1, cpu="1"), services=()) as cluster:
        await cluster.start(name, validate_s=0.05)
        lists = f'gangline_{name}_api_requests_total{{code="200",resource="pods",verb="list"}}'

        async def has_listed_often() -> bool:
            return (await cluster.services[name].samples())[lists] > 3

        await eventually(has_listed_often, "pods are listed again and again")
        assert (await cluster.services[name].samples())[f"gangline_{name}_cache_problems"] == 0

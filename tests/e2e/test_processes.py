"""The services as processes: crashes, signals, leases, and settings that cannot be used."""

import asyncio
import os
import signal
from typing import Any

import pytest

from gangline.contract.meta import Key
from gangline.kube.wire.resources import LEASES
from gangline.sandbox.apiserver.faults import Delay, Refuse, Rule
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import gang, nodes, pod, pod_group, pods, replica_set
from tests.support.services import Process, eventually

LEASE = "default/gangline-scheduler"


def slow_binds(seconds: float, **more: Any) -> Rule:
    return Rule(verb="create", resource="pods", subresource="binding", fault=Delay(seconds), **more)


@pytest.mark.sandbox
async def test_killed_before_the_first_bind_the_gang_starts_as_a_whole() -> None:
    async with running_cluster(nodes(8, cpu="1"), services=("controller",)) as cluster:
        await cluster.faults(slow_binds(60.0))
        async with cluster.process("scheduler") as first:
            await cluster.create(*gang("g", 8))
            await until_logged(first, "gang_planned")
            await first.kill()
        await cluster.see()
        assert cluster.bound("g") == 0
        await cluster.faults()
        await cluster.start("scheduler")
        await cluster.until(lambda: cluster.running("g") == 8, "the gang is started")


@pytest.mark.sandbox
async def test_what_is_logged_of_a_gang_names_the_step_that_ordered_it() -> None:
    refuse = Rule(verb="create", resource="pods", subresource="binding", count=1, fault=Refuse(403))
    async with running_cluster(nodes(2, cpu="1"), services=("controller",)) as cluster:
        await cluster.faults(refuse)
        async with cluster.process("scheduler") as process:
            await cluster.create(*gang("g", 2))
            await until_logged(process, "bind_refused")
            assert await process.terminate() == 0
            planned, refused = (first_step(process, event) for event in ("gang_planned", "bind_refused"))
    assert planned == refused > 0


def first_step(process: Process, event: str) -> int:
    """The step that is named first with an event: what is planned again has another."""
    return next(int(line["step"]) for line in process.records() if line["event"] == event)


async def test_at_info_a_gang_is_one_line_and_its_pods_are_none() -> None:
    async with (
        running_cluster(nodes(1, cpu="16"), services=()) as cluster,
        cluster.process("controller") as controller,
        cluster.process("scheduler") as scheduler,
    ):
        await cluster.create(*gang("whole", 8), *pods(6, "alone"), *gang("large", 4, requests={"cpu": 9}))
        await cluster.until(lambda: cluster.running("whole") == 8 and cluster.running("alone") == 6, "most run")
        await cluster.until(lambda: cluster.reasons("large") == ["Unschedulable"] * 4, "the others say why not")
        await cluster.until(lambda: cluster.phase("large") == "Scheduling", "the group too")
        for pod_ in cluster.pods.values():
            assert pod_.metadata.uid not in scheduler.said() + controller.said()
            assert pod_.metadata.name not in scheduler.said() + controller.said()
        planned = [line["gang"] for line in scheduler.records() if line["event"] == "gang_planned"]
        assert planned == ["default/whole"]
        for name in ("whole", "large"):
            assert name not in controller.said()


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(Rule(verb="patch", resource="pods", subresource="status", fault=Delay(1.0)), id="conditions"),
        pytest.param(Rule(verb="create", resource="events", fault=Delay(0.5)), id="events"),
    ],
)
async def test_sigterm_writes_what_waits_to_be_said(slow: Rule) -> None:
    async with running_cluster(nodes(1, cpu="4"), services=()) as cluster:
        await cluster.create(*gang("g", 8))
        await cluster.faults(slow)
        async with cluster.process("scheduler") as process:
            await eventually(lambda: has_struck(cluster), "something is being written")
            assert await process.terminate() == 0
            assert "not_finished_in_time" not in process.said()
        await cluster.faults()
        await cluster.until(lambda: cluster.reasons("g") == ["Unschedulable"] * 8, "every pod says why it waits")
        await cluster.until(
            lambda: all("FailedScheduling" in cluster.said_of("Pod", f"g-{n}") for n in range(8)), "in an event too"
        )


@pytest.mark.sandbox
async def test_sigterm_writes_the_events_of_the_controller_that_wait() -> None:
    names = ("a", "b", "c")
    async with running_cluster(nodes(1, cpu="4"), services=()) as cluster:
        await cluster.faults(Rule(verb="create", resource="events", fault=Delay(0.4)))
        async with cluster.process("controller") as process:
            await process.service.until_ready()
            for name in names:
                await cluster.create(*gang(name, 2, spec={"scheduleTimeoutSeconds": 1}))
            await cluster.until(lambda: all(has_timed_out(cluster, name) for name in names), "all take too long")
            assert await process.terminate() == 0
        await cluster.faults()
        for name in names:
            await cluster.until(lambda n=name: cluster.said_of("PodGroup", n) == ["Timeout"], "so it is said")  # type: ignore[misc]


def has_timed_out(cluster: Cluster, name: str) -> bool:
    conditions = cluster.group(name).status.conditions or ()
    return ("TimedOut", "True") in {(one.type, one.status) for one in conditions}


async def has_struck(cluster: Cluster) -> bool:
    return (await cluster.struck())[0] > 0


@pytest.mark.sandbox
async def test_sigterm_finishes_the_binds_in_flight_and_starts_nothing_new() -> None:
    async with running_cluster(nodes(8, cpu="1"), services=("controller",)) as cluster:
        await cluster.faults(slow_binds(0.5))
        async with cluster.process("scheduler") as process:
            await cluster.create(*gang("g", 4))
            await until_logged(process, "gang_planned")
            ending = asyncio.create_task(process.terminate(), name="terminate")
            await until_logged(process, "stopping")
            await cluster.create(*gang("late", 2))
            assert await ending == 0
            assert "Traceback" not in process.said()
        await cluster.see()
        assert cluster.bound("late") == 0
        assert cluster.bound("g") in {0, 4}, "a gang that has begun is bound whole, another not at all"
        await cluster.faults()
        await cluster.start("scheduler")
        await cluster.until(lambda: cluster.running("g") == 4 and cluster.running("late") == 2, "both run")


async def test_sigterm_of_an_idle_service_exits_with_0() -> None:
    async with running_cluster(nodes(1, cpu="1"), services=()) as cluster:
        for name in ("scheduler", "controller"):
            async with cluster.process(name) as process:
                await process.service.until_ready()
                assert await process.terminate() == 0
                assert "Traceback" not in process.said()


@pytest.mark.sandbox
async def test_sigterm_while_nobody_answers_exits_with_0() -> None:
    async with running_cluster(nodes(1, cpu="1"), services=()) as cluster:
        await cluster.faults(Rule(fault=Delay(60.0)))
        for name in ("scheduler", "controller"):
            async with cluster.process(name) as process:
                await eventually(lambda process=process: answers(process), f"{name} answers")  # type: ignore[misc]
                assert await process.terminate() == 0
        await cluster.faults()


async def answers(process: Process) -> bool:
    status, _ = await process.service.get("/healthz")
    return status == 200


async def test_a_second_instance_waits_and_says_who_holds_the_lease() -> None:
    async with (
        running_cluster(nodes(2, cpu="1"), services=()) as cluster,
        cluster.process("scheduler", lease=LEASE) as first,
    ):
        await first.service.until_ready()
        holder = await holder_of(cluster)
        async with cluster.process("scheduler", lease=LEASE) as second:

            async def says_who() -> bool:
                return await second.service.problems() == [f"the lease is held by {holder}"]

            await eventually(says_who, "the second names the first")
            await cluster.create(pod("p"))
            await cluster.until(lambda: cluster.running("p") == 1, "the first works")

            assert await first.terminate() == 0
            await second.service.until_ready()
            assert await holder_of(cluster) != holder
            await cluster.create(pod("q"))
            await cluster.until(lambda: cluster.running("q") == 1, "the second works now")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("slow_s", "grace_s", "is_given_up"), [(0.5, 60, True), (60.0, 2, False)], ids=["in-time", "hanging"]
)
async def test_the_lease_is_given_up_only_if_no_bind_can_land_any_more(
    slow_s: float, grace_s: int, is_given_up: bool
) -> None:
    async with running_cluster(nodes(2, cpu="1"), services=("controller",)) as cluster:
        await cluster.faults(slow_binds(slow_s))
        async with cluster.process("scheduler", lease=LEASE, grace_s=grace_s) as process:
            await process.service.until_ready()
            await cluster.create(*gang("g", 2))
            await until_logged(process, "gang_planned")
            assert await process.terminate() == 0
        await cluster.faults()
        assert (await holder_of(cluster) == "") == is_given_up


async def holder_of(cluster: Cluster) -> str:
    namespace, _, name = LEASE.partition("/")
    lease = await cluster.client.get(LEASES, Key(namespace, name), dict[str, Any])
    holder: str = lease["spec"].get("holderIdentity", "")
    return holder


async def test_two_controllers_with_one_lease() -> None:
    lease = "default/gangline-controller"
    async with (
        running_cluster(nodes(1, cpu="2"), services=("scheduler",)) as cluster,
        cluster.process("controller", lease=lease) as first,
    ):
        await first.service.until_ready()
        async with cluster.process("controller", lease=lease) as second:

            async def waits() -> bool:
                return any("the lease is held by" in problem for problem in await second.service.problems())

            await eventually(waits, "the second is not ready")
            await cluster.create(*gang("g", 2))
            await cluster.until(lambda: cluster.phase("g") == "Running", "the first works")
            assert await first.terminate() == 0
            await second.service.until_ready()
            await cluster.create(pod_group("h", 1))
            await cluster.until(lambda: cluster.phase("h") == "Pending", "the second works now")


async def test_a_lease_that_is_taken_away_ends_the_process() -> None:
    async with (
        running_cluster(nodes(1, cpu="1"), services=()) as cluster,
        cluster.process("scheduler", lease=LEASE) as process,
    ):
        await process.service.until_ready()
        namespace, _, name = LEASE.partition("/")
        await cluster.client.patch(LEASES, Key(namespace, name), {"spec": {"holderIdentity": "somebody-else"}})
        assert await process.exit_code() == 1
        assert "somebody-else" in process.said()


@pytest.mark.sandbox
async def test_one_that_wakes_up_after_its_lease_has_passed_on_does_nothing_more_and_ends() -> None:
    async with (
        running_cluster(nodes(6, cpu="1"), services=("controller",)) as cluster,
        cluster.process("scheduler", lease=LEASE, bind_concurrency=1) as first,
    ):
        await first.service.until_ready()
        await cluster.faults(slow_binds(1.0))
        async with cluster.process("scheduler", lease=LEASE) as second:
            await cluster.create(*gang("g", 4))
            await cluster.until(lambda: cluster.bound("g") > 0, "the first has begun")
            os.kill(first.pid, signal.SIGSTOP)
            await cluster.create(*gang("late", 2))
            await second.service.until_ready()
            await cluster.until(
                lambda: cluster.running("g") == 4 and cluster.running("late") == 2, "the second does it"
            )
            sent = await cluster.struck()

            os.kill(first.pid, signal.SIGCONT)

            assert await first.exit_code() == 1
            assert await cluster.struck() == sent
            assert "not renewed in time" in first.said()


async def test_settings_that_cannot_be_used_are_all_named() -> None:
    async with running_cluster(services=()) as cluster:
        for name in ("scheduler", "controller"):
            async with cluster.process(name, lease="nonsense", log_level="loud") as process:
                assert await process.exit_code() == 2
                assert "nonsense" in process.said()
                assert "loud" in process.said()


async def until_logged(process: Process, word: str) -> None:
    async def is_there() -> bool:
        return word in process.said()

    await eventually(is_there, f"{process.service.name} logs {word}")


async def test_a_deployment_of_services_started_before_anything_exists() -> None:
    async with running_cluster(services=()) as cluster, cluster.process("scheduler"), cluster.process("controller"):
        await cluster.create(pod_group("g", 3), replica_set("g", 3, "g"))
        await cluster.until(lambda: cluster.phase("g") == "Scheduling", "the group is complete")
        await cluster.add_nodes(nodes(1, cpu="3"))
        await cluster.until(lambda: cluster.phase("g") == "Running", "the gang runs")

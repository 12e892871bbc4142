"""What the API server and the network may do to the services: nothing is bound twice, in part, or not at all."""

from typing import Any

import pytest

from gangline.sandbox.apiserver.faults import Cut, Delay, DropWatch, LostReply, Refuse, Rule, StallWatch
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import gang, nodes, pod, pod_group, pods
from tests.support.outages import move_on_unseen
from tests.support.proxy import Proxy
from tests.support.services import eventually

pytestmark = pytest.mark.sandbox

SLOW_S = 5.0
"""So long a bind is on its way while something else happens, which takes a hundredth of that."""


def on_binds(fault: Any, **more: Any) -> Rule:
    return Rule(verb="create", resource="pods", subresource="binding", fault=fault, **more)


BIND_FAULTS = [
    pytest.param(on_binds(LostReply(), count=2), id="lost-reply-to-two-binds"),
    pytest.param(on_binds(LostReply(), count=1), id="lost-reply-to-the-first-bind"),
    pytest.param(on_binds(LostReply(), count=1, skip=3), id="lost-reply-to-the-last-bind"),
    pytest.param(on_binds(Cut(), count=2), id="connection-cut-before-the-bind"),
    pytest.param(on_binds(Refuse(429, retry_after_s=1), count=2), id="429-with-Retry-After"),
    pytest.param(on_binds(Refuse(429), count=1), id="429-without"),
    pytest.param(on_binds(Refuse(500), count=2), id="500"),
    pytest.param(on_binds(Refuse(503), count=1, skip=2), id="503-in-the-middle"),
    pytest.param(on_binds(Refuse(409), count=1), id="409-though-nothing-is-bound"),
    pytest.param(on_binds(Refuse(409), count=1, skip=2), id="409-in-the-middle"),
    pytest.param(on_binds(Refuse(504), count=1), id="504"),
    pytest.param(on_binds(Delay(0.3)), id="slow-binds"),
]


@pytest.mark.parametrize("rule", BIND_FAULTS)
async def test_a_gang_whose_binds_fail_is_whole_in_the_end(rule: Rule) -> None:
    async with running_cluster(nodes(4, cpu="1")) as cluster:
        await cluster.faults(rule)
        await cluster.create(*gang("g", 4))
        await cluster.until(lambda: cluster.running("g") == 4, "the gang runs")
        assert all(await cluster.struck()), "the fault has happened"
        await cluster.faults()


async def test_a_first_bind_that_is_refused_leaves_nothing_bound() -> None:
    async with running_cluster(nodes(4, cpu="1")) as cluster:
        await cluster.faults(on_binds(Refuse(403), count=1))
        await cluster.create(*gang("g", 4))
        await cluster.until(lambda: cluster.reasons("g") == ["BindFailed"] * 4, "all members say why")
        assert cluster.bound("g") == 0
        await cluster.until(lambda: cluster.running("g") == 4, "it is tried again")


async def test_a_member_deleted_while_the_bind_of_its_sibling_is_on_its_way_leaves_it_alone_and_that_is_seen() -> None:
    async with running_cluster(nodes(2, cpu="1")) as cluster:
        await cluster.faults(on_binds(Delay(SLOW_S), count=1))
        await cluster.create(*gang("g", 2))
        await eventually(lambda: first_has_struck(cluster), "the first bind is on its way")
        await cluster.delete("Pod", "g-1", grace_period_s=0)

        await cluster.until(lambda: cluster.bound("g") == 1, "the bind arrives")
        await cluster.until(lambda: cluster.phase("g") == "Pending", "the group says that it lacks a member")
        await cluster.catch_up()
        assert cluster.history.excused == {"default/g"}

        await cluster.create(*pods(1, "g-again", "g", requests={"cpu": 1}))
        await cluster.until(lambda: cluster.bound("g") == 2, "the gang is repaired")


async def first_has_struck(cluster: Cluster) -> bool:
    return await cluster.struck() == [1]


async def test_a_refused_condition_is_written_later() -> None:
    async with running_cluster(nodes(1, cpu="1")) as cluster:
        await cluster.faults(Rule(verb="patch", resource="pods", subresource="status", fault=Refuse(500), count=2))
        await cluster.create(*gang("g", 2))
        await cluster.until(lambda: cluster.reasons("g") == ["Unschedulable"] * 2, "both say why")


async def test_a_status_that_is_refused_is_written_later() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        rules = [Rule(verb="patch", resource="podgroups", fault=fault, count=2) for fault in (Refuse(409), Refuse(500))]
        await cluster.faults(*rules, Rule(verb="patch", resource="podgroups", fault=LostReply(), count=1))
        await cluster.create(*gang("g", 2))
        await cluster.until(lambda: cluster.phase("g") == "Running", "the status is true in the end")


async def test_watches_that_are_cut_in_the_middle_of_a_line() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.faults(Rule(verb="watch", fault=DropWatch(after_writes=1), count=6))
        await cluster.admin("POST", "watches/drop")
        for number in range(3):
            await cluster.create(*gang(f"g{number}", 2))
        await cluster.until(lambda: all(cluster.running(f"g{number}") == 2 for number in range(3)), "all run")


async def test_compaction_while_disconnected_is_a_new_list() -> None:
    async with running_cluster(nodes(1, cpu="8"), services=()) as cluster, Proxy(cluster.url) as proxy:
        await move_on_unseen(cluster, proxy)
        await cluster.admin("POST", "compact")
        await proxy.open()

        await cluster.until(lambda: cluster.running("new") == 6, "the new gang runs")
        await cluster.until(lambda: cluster.phase("new") == "Running", "and its group says so")
        await cluster.judged()
        await cluster.stop_all()


async def test_an_api_server_that_goes_away_for_a_while() -> None:
    async with running_cluster(nodes(1, cpu="8"), services=()) as cluster, Proxy(cluster.url) as proxy:
        kubeconfig = proxy.kubeconfig(cluster.kubeconfig)
        scheduler = await cluster.start("scheduler", kubeconfig=kubeconfig, stale_s=0.5)
        await cluster.start("controller", kubeconfig=kubeconfig, stale_s=0.5)
        await cluster.create(*gang("before", 2))
        await cluster.until(lambda: cluster.phase("before") == "Running", "the first gang runs")

        await proxy.shut()
        await until_reached(cluster, False)
        status, _ = await scheduler.get("/healthz")
        assert status == 200, "a restart would not help"
        await cluster.create(*gang("during", 3))
        await proxy.open()

        await cluster.until(lambda: cluster.phase("during") == "Running", "the gang runs")
        await until_reached(cluster, True)
        await cluster.judged()
        await cluster.stop_all()


async def until_reached(cluster: Cluster, expected: bool) -> None:
    """Both services say of every watch that the API server is there, or that it is not."""
    for service in cluster.services.values():

        async def is_so(service: Any = service) -> bool:
            away = ["Unreachable" in problem for problem in await service.problems()]
            return not any(away) if expected else sum(away) >= 2

        await eventually(is_so, f"{service.name} reaches the API server: {expected}")


async def test_a_watch_that_stalls_is_given_up() -> None:
    async with running_cluster(nodes(1, cpu="8"), services=()) as cluster:
        await cluster.faults(Rule(verb="watch", resource="pods", fault=StallWatch(after_writes=1), count=2))
        await cluster.start("scheduler", watch_s=4)
        await cluster.start("controller", watch_s=4)
        await cluster.create(*gang("g", 2))
        await cluster.until(lambda: cluster.phase("g") == "Running", "the gang runs")


async def test_a_permission_that_is_lost_is_said_and_its_return_noticed() -> None:
    async with running_cluster(nodes(1, cpu="8"), watch_s=2, stale_s=3.0) as cluster:
        scheduler = cluster.services["scheduler"]
        await cluster.faults(Rule(resource="nodes", method="GET", fault=Refuse(403)))
        await cluster.admin("POST", "watches/drop", {"resource": "nodes"})

        async def says_so() -> bool:
            return any(problem.startswith("Node:") and "403" in problem for problem in await scheduler.problems())

        await eventually(says_so, "the scheduler says what it may not do")
        await cluster.faults()
        await scheduler.until_ready()
        await cluster.create(pod("p"))
        await cluster.until(lambda: cluster.running("p") == 1, "the pod runs")


async def test_a_minimum_raised_while_the_watch_is_deaf_is_not_missed() -> None:
    async with running_cluster(nodes(1, cpu="8"), services=("controller",)) as cluster:
        await cluster.create(pod_group("g", 2))
        await cluster.until(lambda: cluster.phase("g") == "Pending", "the group is there")
        await cluster.faults(Rule(verb="watch", resource="podgroups", fault=StallWatch(), count=1))
        scheduler = await cluster.start("scheduler")
        await cluster.patch("PodGroup", "g", {"spec": {"minMember": 4}})
        await cluster.create(*pods(3, "g", "g"))

        async def has_noticed() -> bool:
            return (await scheduler.samples())['gangline_scheduler_binds_total{result="stale"}'] >= 2

        await eventually(has_noticed, "the scheduler asks for the group before its first bind")
        assert cluster.bound("g") == 0

        await cluster.admin("POST", "watches/drop", {"resource": "podgroups"})
        await cluster.until(lambda: cluster.reasons("g") == ["GangIncomplete"] * 3, "it knows better now")
        await cluster.create(pod("g-3", "g"))
        await cluster.until(lambda: cluster.running("g") == 4, "the gang runs")


async def test_d34_room_that_another_scheduler_takes_in_the_meantime_is_reported() -> None:
    async with running_cluster(nodes(1, cpu="4")) as cluster:
        await cluster.faults(on_binds(Delay(SLOW_S), skip=1))
        await cluster.create(*gang("g", 4))
        await cluster.until(lambda: cluster.bound("g") == 1, "the first bind is done, the others are on their way")
        await cluster.create(pod("thief", scheduler="default-scheduler", requests={"cpu": 3}, nodeName="node-0"))

        await cluster.until(lambda: cluster.in_phase("g", "Failed") == 3, "the kubelet has no room for the others")
        await cluster.until(lambda: cluster.phase("g") == "Failed", "the group says that it has failed")
        reasons = {one.type: one.reason for one in cluster.group("g").status.conditions or ()}
        assert reasons["Scheduled"] == "MembersFailed"


async def test_what_is_said_goes_behind_the_binds() -> None:
    async with running_cluster(nodes(1, cpu="4"), services=("controller",)) as cluster:
        await cluster.create(*pods(4, "small"), pod("large", requests={"cpu": 9}))
        await cluster.faults(on_binds(Delay(0.4)))
        await cluster.start("scheduler", bind_concurrency=1)
        await cluster.until(lambda: cluster.reasons("large") == ["Unschedulable"], "it says why it waits")
        changes = [line for line in await cluster.log() if (line["resource"], line["type"]) == ("pods", "MODIFIED")]
        said = next(place for place, line in enumerate(changes) if line["key"] == "default/large")
        assert [line for line in changes[:said] if line["object"]["spec"].get("nodeName")], "a bind went first"


async def test_what_is_said_has_a_budget_of_its_own() -> None:
    async with running_cluster(nodes(1, cpu="1"), services=("controller",)) as cluster:
        await cluster.create(*pods(4, "large", requests={"cpu": 9}))
        await cluster.start("scheduler", condition_rate=0.001, grace_s=0.1)
        await cluster.until(
            lambda: all("FailedScheduling" in cluster.said_of("Pod", f"large-{n}") for n in range(4)), "all are decided"
        )
        await cluster.until(lambda: cluster.reasons("large").count("Unschedulable") == 1, "one may say so")
        await cluster.create(pod("small"))
        await cluster.until(lambda: cluster.running("small") == 1, "binds need no such budget")
        await cluster.see()
        assert cluster.reasons("large").count("Unschedulable") == 1
        await cluster.stop("scheduler")
        await cluster.start("scheduler")

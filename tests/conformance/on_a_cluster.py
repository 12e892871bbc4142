"""What the core is held to, once more on a cluster: with an API server, watches, binds and kubelets between.

What is missing here is about a moment that no cluster can be brought to (an answer that comes late, an event that comes
twice), about something that only the core has, or is on a cluster in another test already.
"""

from gangline.contract import names
from gangline.kube.wire.resources import POD_GROUPS
from tests.conformance.lanes import Lane
from tests.conformance.rows import on_a_cluster_too

GPU = "nvidia.com/gpu"


# Tables R, F and K


@on_a_cluster_too("R1")
async def enough(lane: Lane) -> None:
    await two_nodes_of_three(lane, lane.pod("other", own=2))
    await lane.create(lane.group("pg1", 1, own=4), lane.pod("pg1-0", "pg1"))
    await lane.runs(pg1=1)


@on_a_cluster_too("R2")
async def not_enough(lane: Lane) -> None:
    await two_nodes_of_three(lane, lane.pod("other-0", own=2), lane.pod("other-1", own=2))
    await lane.create(lane.group("pg1", 1, own=4), lane.pod("pg1-0", "pg1"))
    await lane.waits("pg1", 1, "minResources asks for 4", "have 2")


@on_a_cluster_too("R3")
async def own_pods_are_not_in_the_way(lane: Lane) -> None:
    await two_nodes_of_three(lane, lane.group("pg1", 1), lane.pod("pg1-0", "pg1", own=2), lane.pod("other", own=2))
    await lane.edit("pg1", minMember=2, minResources={lane.resource: 4})
    await lane.create(lane.pod("pg1-1", "pg1"))
    await lane.runs(pg1=2)


async def two_nodes_of_three(lane: Lane, *first: dict[str, object]) -> None:
    """Nodes with 3 each, and what runs on them already."""
    await lane.room(2, own=3)
    await lane.create(*first)
    running = sum(one["kind"] == "Pod" for one in first)
    await lane.cluster.until(lambda: lane.cluster.running(lane.name) == running, f"{lane.name}: they run")


@on_a_cluster_too("F1")
async def without_group(lane: Lane) -> None:
    await lane.room(cpu=1)
    await lane.create(lane.pod("big", requests={"cpu": 2}))
    await lane.waits("big", 1, "1 Insufficient cpu")
    await lane.create(lane.pod("small"))
    await lane.runs(small=1, big=0)


@on_a_cluster_too("F2")
async def beyond_the_quorum(lane: Lane) -> None:
    await lane.room(cpu=1)
    await lane.create(lane.group("pg1", 1), lane.pod("pg1-0", "pg1"))
    await lane.runs(pg1=1)
    await lane.create(lane.pod("pg1-1", "pg1"))
    await lane.waits("pg1", 1)
    await lane.runs(pg1=1)


@on_a_cluster_too("F15")
async def beside_another_group(lane: Lane) -> None:
    await lane.room(cpu=2)
    await lane.create(*lane.gang("pg1", 3), *lane.gang("pg2", 2))
    await lane.runs(pg2=2)
    await lane.waits("pg1", 3)


@on_a_cluster_too("K3")
async def no_backoff_for_missing_members(lane: Lane) -> None:
    await lane.room(cpu=4)
    await lane.create(*lane.gang("pg1", 2, minimum=3))
    await lane.waits("pg1", 2, reason="GangIncomplete")
    await lane.create(lane.pod("pg1-2", "pg1"))
    await lane.runs(pg1=3)


@on_a_cluster_too("K4")
async def no_backoff_for_a_small_gap(lane: Lane) -> None:
    await lane.room(cpu=9)
    await lane.create(*lane.gang("pg1", 10))
    await lane.waits("pg1", 10, "9 of 10 members fit")
    await lane.room(1, "more", cpu=1)
    await lane.runs(pg1=10)


# Who starts, who waits


@on_a_cluster_too("KB#514")
async def nothing_is_kept(lane: Lane) -> None:
    await lane.room(cpu=4)
    await lane.create(*lane.gang("big", 6))
    await lane.waits("big", 6, "4 of 6 members fit")
    await lane.create(*lane.pods(4, "small"))
    await lane.runs(small=4, big=0)


@on_a_cluster_too("KB#158")
async def one_of_two_halves(lane: Lane) -> None:
    await two_gangs(lane, 6)
    await lane.room(cpu=10)
    await one_is_whole(lane, 6)


@on_a_cluster_too("V#3373")
async def many_nodes(lane: Lane) -> None:
    await two_gangs(lane, 20)
    await lane.room(20, pods=1)
    await one_is_whole(lane, 20)


async def two_gangs(lane: Lane, size: int) -> None:
    """Groups a and b, whose pods come in turns."""
    await lane.create(lane.group("a", size), lane.group("b", size))
    await lane.create(*(lane.pod(f"{name}-{number}", name) for number in range(size) for name in "ab"))
    for name in "ab":
        await lane.waits(name, size)


async def one_is_whole(lane: Lane, size: int) -> None:
    """Wait until all of one of them run and none of the other, which still waits."""
    await lane.cluster.until(
        lambda: sorted((lane.running("a"), lane.running("b"))) == [0, size], f"{lane.name}: one is whole"
    )
    (waiting,) = (name for name in "ab" if not lane.running(name))
    await lane.waits(waiting, size)


@on_a_cluster_too("SP#114")
async def the_same_second(lane: Lane) -> None:
    groups = [f"g{number}" for number in range(6)]
    await lane.create(*(lane.group(name, 2) for name in groups))
    await lane.create(*(lane.pod(f"{name}-{member}", name) for member in range(2) for name in groups))
    for name in groups:
        await lane.waits(name, 2)
    await lane.room(cpu=5)
    whole = [0, 0, 0, 0, 2, 2]
    await lane.cluster.until(lambda: sorted(map(lane.running, groups)) == whole, f"{lane.name}: two are whole")
    for name in groups:
        if not lane.running(name):
            await lane.waits(name, 2)


@on_a_cluster_too("KB#492")
async def a_large_job_in_front(lane: Lane) -> None:
    await lane.room(3, "small", cpu=32)
    await lane.room(3, "big", cpu=40)
    await lane.create(*lane.gang("job1", 6, minimum=4, requests={"cpu": 35}))
    await lane.waits("job1", 6, "3 of 4 members fit")
    await lane.create(*lane.gang("job2", 2))
    await lane.runs(job2=2, job1=0)


@on_a_cluster_too("V#2462")
async def eight_of_twenty(lane: Lane) -> None:
    await lane.room(cpu=8)
    await lane.create(*lane.gang("g", 20))
    await lane.waits("g", 20, "8 of 20 members fit")
    await lane.runs(g=0)


@on_a_cluster_too("V#1086")
async def the_head_of_the_queue(lane: Lane) -> None:
    await lane.room(cpu=8)
    await lane.create(*lane.gang("pg1", 1, requests={"cpu": 16}))
    await lane.waits("pg1", 1, "1 Insufficient cpu")
    await lane.create(*lane.gang("pg2", 1, requests={"cpu": 2}))
    await lane.runs(pg2=1, pg1=0)


@on_a_cluster_too("V#4471")
async def an_impossible_head(lane: Lane) -> None:
    await lane.room(3, cpu=8)
    await lane.create(*lane.gang("first", 1, requests={"cpu": 9}), *lane.gang("second", 1, requests={"cpu": 9}))
    for name in ("first", "second"):
        await lane.waits(name, 1, "3 Insufficient cpu")
    await lane.create(*lane.pods(3, "fits", requests={"cpu": 8}))
    await lane.runs(fits=3, first=0, second=0)


@on_a_cluster_too("V#5805")
async def repair_goes_first(lane: Lane) -> None:
    await lane.room(2, cpu=1)
    await lane.create(*lane.gang("g", 2))
    await lane.runs(g=2)
    await lane.cordon("n-0", "n-1")
    await lane.remove("g-1")
    await lane.create(lane.pod("fresh"))
    await lane.cluster.until(lambda: any(lane.cluster.reasons(lane.called("fresh"))), f"{lane.name}: it waits")
    await lane.cordon("n-0", "n-1", unschedulable=False)
    await lane.waits("fresh", 1, reason="HeldForGang")
    await lane.create(lane.pod("g-2", "g"))
    await lane.runs(g=2, fresh=0)


@on_a_cluster_too("V#2389")
async def groups_left_over(lane: Lane) -> None:
    await lane.create(*(lane.group(f"old{number}", 3, own=100) for number in range(50)))
    await lane.room(cpu=2, own=1)
    await lane.create(*lane.gang("g", 2))
    await lane.runs(g=2)


@on_a_cluster_too("V#2633")
async def finished_groups_count_for_nothing(lane: Lane) -> None:
    await lane.room(own=4)
    done = [f"done{number}" for number in range(5)]
    for name in done:
        ends = lane.pod(f"{name}-0", name, own=4, run_s=0.1, restartPolicy="Never")
        await lane.create(lane.group(name, 1, own=4), ends)
    await lane.cluster.until(
        lambda: all(lane.cluster.in_phase(lane.called(name), "Succeeded") for name in done), f"{lane.name}: all end"
    )
    await lane.create(lane.group("next", 1, own=4), lane.pod("next-0", "next", own=4))
    await lane.runs(next=1)


@on_a_cluster_too("V#1297")
async def two_sizes(lane: Lane) -> None:
    await lane.room(1, "a", cpu=53)
    await lane.room(1, "b", cpu=31)
    await lane.create(lane.group("g", 2), *(lane.pod(f"g-{cpu}", "g", requests={"cpu": cpu}) for cpu in (30, 50)))
    await lane.runs(g=2)


@on_a_cluster_too("V#2881")
async def elastic(lane: Lane) -> None:
    await lane.room(cpu=5)
    await lane.create(*lane.gang("g", 8, minimum=3))
    await lane.runs(g=5)
    await lane.waits("g", 3)


@on_a_cluster_too("V#604")
async def a_group_elsewhere(lane: Lane) -> None:
    await lane.room(cpu=1)
    await lane.cluster.client.create(POD_GROUPS, "ns1", lane.group("g", 1))
    await lane.create(lane.pod("p", "g"))
    await lane.waits("p", 1, "namespace default", reason="PodGroupNotFound")
    await lane.says("p", "PodGroupNotFound")


@on_a_cluster_too("SP#19")
async def the_last_arrival(lane: Lane) -> None:
    await lane.room(cpu=4)
    await lane.create(*lane.gang("g", 3, minimum=4))
    await lane.waits("g", 3, reason="GangIncomplete")
    await lane.create(lane.pod("g-3", "g"))
    await lane.runs(g=4)


@on_a_cluster_too("SP#33")
async def running_waiting_new(lane: Lane) -> None:
    await lane.room(cpu=2)
    await lane.create(lane.group("g", 1), lane.pod("g-0", "g"))
    await lane.runs(g=1)
    await lane.edit("g", minMember=3)
    await lane.create(lane.pod("g-1", "g"))
    await lane.runs(g=2)
    await lane.create(lane.pod("g-2", "g"))
    await lane.waits("g", 1)
    await lane.room(1, "more", cpu=1)
    await lane.runs(g=3)


@on_a_cluster_too("SP#49")
async def a_minimum_that_changes(lane: Lane) -> None:
    await lane.room(cpu=9)
    await lane.create(*lane.gang("lower", 2, minimum=3), *lane.gang("higher", 2, minimum=3))
    for name in ("lower", "higher"):
        await lane.waits(name, 2, reason="GangIncomplete")
    await lane.edit("lower", minMember=2)
    await lane.runs(lower=2)
    await lane.edit("higher", minMember=4)
    await lane.create(lane.pod("higher-2", "higher"))
    await lane.waits("higher", 3, reason="GangIncomplete")
    await lane.create(lane.pod("higher-3", "higher"))
    await lane.runs(higher=4)


@on_a_cluster_too("SP#521")
async def the_older_label(lane: Lane) -> None:
    await lane.room(cpu=2)
    labels = {names.LEGACY_POD_GROUP_LABEL: lane.called("g")}
    await lane.create(lane.group("g", 2), lane.pod("p-0", labels=labels))
    await lane.waits("p", 1, reason="GangIncomplete")
    await lane.create(lane.pod("p-1", labels=labels))
    await lane.runs(p=2)


@on_a_cluster_too("koordinator#1701")
async def room_that_comes_late(lane: Lane) -> None:
    await lane.room(cpu=29)
    await lane.create(*lane.gang("g", 30))
    await lane.waits("g", 30, "29 of 30 members fit")
    await lane.room(1, "more", cpu=1)
    await lane.runs(g=30)


@on_a_cluster_too("kuberay#5205")
async def a_group_that_is_edited(lane: Lane) -> None:
    await lane.room(own=4)
    await lane.create(lane.group("g", 2, own=5), *lane.pods(2, "g", "g"))
    await lane.waits("g", 2, "minResources asks for 5")
    await lane.edit("g", minResources={lane.resource: 4})
    await lane.runs(g=2)


@on_a_cluster_too("trainer#2525")
async def too_much_asked(lane: Lane) -> None:
    await lane.room(own=4)
    await lane.create(lane.group("g", 2, own=40), *lane.pods(2, "g", "g"))
    await lane.waits("g", 2, "minResources asks for 40", "have 4")


@on_a_cluster_too("V#2208")
async def nothing_is_reserved(lane: Lane) -> None:
    await lane.room(cpu=3)
    await lane.create(*lane.gang("g", 3))
    await lane.runs(g=3)
    await lane.create(*lane.pods(3, "p"))
    await lane.waits("p", 3)
    await lane.remove("g-0", "g-1", "g-2")
    await lane.runs(p=3)


# Sums


@on_a_cluster_too("V#2527")
async def no_epsilon_of_cpu(lane: Lane) -> None:
    await lane.room(cpu="1108m")
    await lane.create(lane.pod("old"))
    await lane.runs(old=1)
    await lane.create(lane.pod("p", requests={"cpu": "110m"}))
    await lane.waits("p", 1, "1 Insufficient cpu")
    await lane.create(lane.pod("q", requests={"cpu": "108m"}))
    await lane.runs(q=1, p=0)


@on_a_cluster_too("V#1068")
async def no_epsilon_of_memory(lane: Lane) -> None:
    await lane.room(memory=4_849_856_512)
    await lane.create(lane.pod("p", requests={"memory": 4_849_856_513}))
    await lane.waits("p", 1, "1 Insufficient memory")
    await lane.create(lane.pod("q", requests={"memory": 4_849_856_512}))
    await lane.runs(q=1, p=0)


def init(name: str, cpu: int, **more: str) -> dict[str, object]:
    return {"name": name, "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": cpu}}, **more}


@on_a_cluster_too("V#1333")
async def a_big_init_container(lane: Lane) -> None:
    await lane.room(cpu=4)
    await lane.create(lane.pod("p", initContainers=[init("init", 4)]))
    await lane.runs(p=1)
    await lane.create(lane.pod("q", requests={"cpu": 3}))
    await lane.waits("q", 1, "1 Insufficient cpu")


@on_a_cluster_too("KB#919")
async def an_init_container_alone(lane: Lane) -> None:
    await lane.room(cpu=1, memory=2)
    await lane.create(lane.pod("p", requests={"memory": 1}, initContainers=[init("init", 2)]))
    await lane.waits("p", 1, "1 Insufficient cpu")
    await lane.create(lane.pod("q", requests={"memory": 1}, initContainers=[init("init", 1)]))
    await lane.runs(q=1, p=0)


@on_a_cluster_too("V#3513")
async def sidecars(lane: Lane) -> None:
    containers = [init("side", 1, restartPolicy="Always"), init("init", 2)]
    await lane.room(1, "small", cpu="2999m")
    await lane.create(lane.pod("p", initContainers=containers))
    await lane.waits("p", 1, "1 Insufficient cpu")
    await lane.room(1, "large", cpu=3)
    await lane.runs(p=1)


@on_a_cluster_too("V#2501")
async def ephemeral_storage(lane: Lane) -> None:
    await lane.room(1, "n", **{"ephemeral-storage": "10Gi"})
    await lane.create(lane.pod("p", requests={"ephemeral-storage": "6Gi"}))
    await lane.runs(p=1)
    await lane.create(lane.pod("q", requests={"ephemeral-storage": "6Gi"}))
    await lane.waits("q", 1, "1 Insufficient ephemeral-storage")


@on_a_cluster_too("V#2999")
async def devices_that_go_and_come(lane: Lane) -> None:
    await lane.room(own=8)
    await lane.create(lane.pod("train", own=8))
    await lane.runs(train=1)
    await lane.set_room("n-0", own=0)
    await lane.create(lane.pod("again", own=6))
    await lane.waits("again", 1, f"1 Insufficient {lane.resource}")
    await lane.create(lane.pod("device-plugin"))
    await lane.runs(**{"device-plugin": 1})
    await lane.remove("train")
    await lane.set_room("n-0", own=6)
    await lane.runs(again=1)


@on_a_cluster_too("V#2364")
async def a_node_that_shrinks(lane: Lane) -> None:
    await lane.room(own=4)
    await lane.create(lane.pod("old", own=4))
    await lane.runs(old=1)
    await lane.set_room("n-0", own=1)
    await lane.create(lane.pod("p", own=1))
    await lane.waits("p", 1, f"1 Insufficient {lane.resource}")
    await lane.create(lane.pod("nothing"))
    await lane.runs(nothing=1, p=0)
    await lane.remove("old")
    await lane.runs(p=1)


@on_a_cluster_too("KB#455")
async def cordoned_nodes(lane: Lane) -> None:
    await lane.room(4, cpu=1, own=1)
    await lane.cordon("n-0", "n-2")
    await lane.create(lane.group("g", 2, own=3), *lane.pods(2, "g", "g"))
    await lane.waits("g", 2, "minResources asks for 3", "have 2")
    await lane.edit("g", minResources={lane.resource: 2})
    await lane.runs(g=2)
    assert lane.nodes_of("g") == {"n-1", "n-3"}


@on_a_cluster_too("V#3840")
async def a_verdict_per_role(lane: Lane) -> None:
    await lane.room(5)
    await lane.create(lane.group("g", 5))
    port = {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
    for each in lane.pods(10, "g", "g", requests={"cpu": "100m"}):
        each["spec"]["containers"][0]["ports"] = [port]
        await lane.create(each)
    await lane.runs(g=5)
    assert len(lane.nodes_of("g")) == 5
    await lane.waits("g", 5, "5 node(s) didn't have free ports for the requested pod ports")

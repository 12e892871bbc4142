"""Bugs reported of others: who starts, who waits, and who is forgotten."""

from typing import Any

from gangline.contract import names
from gangline.contract.pod import Pod
from scheduler.core.events import Kind
from tests.conformance.rows import Stage, report
from tests.support.builders import budget, group, job_pod, node, owner, pod
from tests.support.cluster import Cluster
from tests.support.manifests import deployment, pod_group
from tests.support.script import Script, Watched, bound_results, kinds_synced, observed


def members(name: str, count: int, *, first: int = 0, **more: Any) -> list[Pod]:
    return [pod(f"{name}-{number}", group=name, **more) for number in range(first, first + count)]


def alternating(left: list[Pod], right: list[Pod]) -> list[Pod]:
    return [one for pair in zip(left, right, strict=True) for one in pair]


def gang_of(name: str) -> str:
    return name.rpartition("-")[0]


@report("KB#514", "a gang that does not get all its nodes keeps those that it has got")
def nothing_is_kept() -> None:
    script = Script(node("n1", cpu=4), group("big", 6), *members("big", 6))
    assert script.binds == []
    script.observe(*(pod(f"small-{number}", created_s=9) for number in range(4)))
    assert len(script.binds) == 4


@report("KB#158", "two gangs larger than half the cluster each get half of it, and wait for ever")
def one_of_two_halves() -> None:
    pods = alternating(members("a", 6), members("b", 6))
    script = Script(group("a", 6), group("b", 6), *pods)
    script.observe(node("n1", cpu=10))
    assert script.bound_names == [f"a-{number}" for number in range(6)]
    script.tell(*bound_results(script.binds))
    assert script.binds == []
    assert len(script.scheduler.gangs(script.now)) == 2


@report("V#3373", "two gangs of 100 on 100 nodes for one pod each lock each other out")
def a_hundred_nodes() -> None:
    things: list[Watched] = [group("a", 100), group("b", 100), *alternating(members("a", 100), members("b", 100))]
    for room in (100, 150):
        script = Script(*things, *(node(f"n{number}", cpu=1) for number in range(room)))
        assert {gang_of(name) for name in script.bound_names} == {"a"}
        assert len(script.binds) == 100


@report("SP#114", "groups made in the same second interleave and hold each other's room")
def the_same_second() -> None:
    groups = [group(f"g{number}", 2) for number in range(6)]
    pods = [pod(f"g{number}-{member}", group=f"g{number}") for member in range(2) for number in range(6)]
    script = Script(*groups, *pods)
    script.observe(node("n1", cpu=5))
    bound = [gang_of(name) for name in script.bound_names]
    assert sorted(bound) == ["g0", "g0", "g1", "g1"]


@report("KB#492", "a large job that cannot be placed keeps smaller ones out")
def a_large_job_in_front() -> None:
    room = [node(f"small-{number}", cpu=32) for number in range(3)] + [node(f"big-{n}", cpu=40) for n in range(3)]
    script = Script(*room, group("job1", 4), *members("job1", 6, cpu=35), group("job2", 2), *members("job2", 2))
    assert script.bound_names == ["job2-0", "job2-1"]


@report("V#2462", "8 of the 20 pods of a gang are bound")
def eight_of_twenty() -> None:
    script = Script(node("n1", cpu=8), group("g", 20), *members("g", 20))
    assert script.binds == []
    assert "8 of 20 members fit" in script.conditions["g-0"][1]


@report("V#1086", "a gang at the head of the queue that cannot be placed blocks those behind it")
def the_head_of_the_queue() -> None:
    script = Script(node("n1", cpu=8), group("pg1", 1), pod("pg1-0", group="pg1", cpu=16), group("pg2", 1))
    script.observe(pod("pg2-0", group="pg2", cpu=2))
    assert script.bound_names == ["pg2-0"]


@report("V#4471", "a group that can never fit is admitted, and eats the share of those that can")
def an_impossible_head() -> None:
    things: list[Watched] = [node(f"n{number}", cpu=8) for number in range(3)]
    for name in ("first", "second"):
        things += [group(name, 1), pod(f"{name}-0", group=name, cpu=9)]
    script = Script(*things)
    assert all("3 Insufficient cpu" in message for _, message in script.conditions.values())
    for number in range(3):
        script.observe(pod(f"fits-{number}", cpu=8, created_s=9), after_s=1)
        assert script.bound_names == [f"fits-{number}"]
        assert [decision.placed for decision in script.step.decisions] == [True]


@report("V#5551", "thousands of gangs that do not fit are tried again every second")
def many_that_wait() -> None:
    things: list[Watched] = [node("n1", cpu=4)]
    for number in range(500):
        things += [group(f"g{number}", 1), pod(f"g{number}-0", group=f"g{number}", cpu=5)]
    script = Script(*things)
    script.observe(pod("fits", created_s=9), after_s=1)
    assert script.bound_names == ["fits"]
    assert len(script.step.decisions) == 1


@report("V#5805", "a gang that has lost a pod is passed by a fresh pod, and stays below its minimum for ever")
def repair_goes_first() -> None:
    slots = [node(f"n{number}", cpu=1) for number in range(2)]
    running = [pod(f"g-{number}", group="g", node=f"n{number}", phase="Running") for number in range(2)]
    script = Script(*slots, group("g", 2), *running)
    script.observe(node("n1", cpu=1, unschedulable=True))
    script.remove(running[1])
    script.observe(pod("fresh", created_s=1))
    script.observe(node("n1", cpu=1))
    assert script.binds == []
    script.observe(pod("g-2", group="g", created_s=9), after_s=5)
    assert script.bound_names == ["g-2"]


@report("V#5819", "after a restart, decisions are made on a cache that is filled in part")
def a_cold_start() -> None:
    script = Script(synced=False)
    things: list[Watched] = [node("n1", cpu=0, pods=0)]
    for number in range(200):
        things += [group(f"g{number}", 2), *members(f"g{number}", 2)]
    script.tell(*(observed(thing) for thing in things))
    assert not script.step.decisions
    script.tell(*kinds_synced())
    assert len(script.step.decisions) == 200


@report("V#5174", "decisions are made before the handlers have seen all pods: nodes look empty")
def before_all_is_known() -> None:
    script = Script(synced=False)
    script.tell(*(observed(thing) for thing in (node("n1", cpu=1), pod("new"))))
    script.tell(*kinds_synced(kind for kind in Kind if kind is not Kind.POD))
    assert script.binds == []
    script.tell(observed(pod("old", node="n1")), *kinds_synced([Kind.POD]))
    assert script.binds == []
    assert script.reasons == {"new": "Unschedulable"}


@report("V#2389", "groups left over without pods block after an upgrade")
def groups_left_over() -> None:
    leftovers = [group(f"old-{number}", 3, min_resources={"cpu": 100}) for number in range(500)]
    script = Script(node("n1", cpu=2), *leftovers, group("g", 2), *members("g", 2))
    assert script.bound_names == ["g-0", "g-1"]


@report("V#2633", "minResources of finished groups keep counting")
def finished_groups_count_for_nothing() -> None:
    things: list[Watched] = [node("n1", cpu=4)]
    for number in range(20):
        name = f"done{number}"
        things.append(group(name, 1, min_resources={"cpu": 4}))
        things.append(pod(f"{name}-0", group=name, node="n1", cpu=4, phase="Succeeded", finished_s=5))
    script = Script(*things, group("next", 1, min_resources={"cpu": 4}), pod("next-0", group="next", cpu=4))
    assert script.bound_names == ["next-0"]


@report("V#1297", "which of two jobs is looked at first decides whether the other can run")
def two_sizes() -> None:
    for order in ((30, 50), (50, 30)):
        pods = [pod(f"p{cpu}", group="g", cpu=cpu) for cpu in order]
        script = Script(node("a", cpu=53), node("b", cpu=31), group("g", 2), *pods)
        assert script.where == {"p50": "a", "p30": "b"}


@report("V#2881", "an elastic gang waits for all pods, though its minimum is there")
def elastic() -> None:
    script = Script(node("n1", cpu=5), group("g", 3), *members("g", 8))
    first = script.bound_names
    script.tell(*bound_results(script.binds))
    assert (len(first), len(script.binds)) == (3, 2)


@report("V#4739", "a rolling update hangs: the new ReplicaSet is a gang of its own")
def a_rolling_update() -> None:
    def replica(name: str, template: str, **more: Any) -> Pod:
        hashed = {names.POD_TEMPLATE_HASH_LABEL: template}
        return pod(name, shadow=2, labels=hashed, owned_by=owner("ReplicaSet", f"web-{template}"), **more)

    script = Script(node("n1", cpu=3), *(replica(f"old-{n}", "aa", node="n1", phase="Running") for n in range(2)))
    script.observe(replica("new-0", "bb", created_s=9))
    assert script.bound_names == ["new-0"]


@report("V#3374", "a Deployment scaled to 0 and back to 1 stays without group", stage=Stage.SHARED)
async def down_and_up(cluster: Cluster) -> None:
    await cluster.create(pod_group("v3374", 1), deployment("v3374", 1, "v3374"))
    await cluster.until(lambda: cluster.running("v3374") == 1, "it runs")
    first = {one.metadata.uid for one in cluster.of("v3374")}
    for replicas in (0, 1):
        await cluster.patch("Deployment", "v3374", {"spec": {"replicas": replicas}})
    await cluster.until(
        lambda: cluster.running("v3374") == 1 and len(cluster.of("v3374")) == 1 and cluster.phase("v3374") == "Running",
        "one runs, and the group says so",
    )
    assert len(first) == 1


@report("V#604", "a group in another namespace is ignored without a word")
def a_group_elsewhere() -> None:
    script = Script(node("n1"), group("g", 1, namespace="else"), pod("p", group="g"))
    script.wait(3)
    assert script.reasons == {"p": "PodGroupNotFound"}
    assert "namespace team" in script.conditions["p"][1]
    assert ("Pod", "p", "PodGroupNotFound") in script.announced


@report("KB#853", "a PodDisruptionBudget without minAvailable is a nil pointer")
def any_budget() -> None:
    owned = pod("p", labels={"app": "p"}, owned_by=owner("ReplicaSet", "p"))
    settings = {"budgets_form_gangs": True}
    for form in ({"max_unavailable": 1}, {"min_available": "50%"}, {"max_unavailable": "20%"}, {}):
        made = budget("b", match_labels={"app": "p"}, **form)
        assert Script(node("n1"), made, owned, settings=settings).bound_names == ["p"]


@report("SP#19", "the last pod's arrival does not wake the first ones")
def the_last_arrival() -> None:
    script = Script(node("n1"), group("g", 4), *members("g", 3))
    script.wait(3600)
    script.observe(*members("g", 1, first=3))
    assert len(script.binds) == 4


@report("SP#33", "the quorum is miscounted with one running, one waiting and one new")
def running_waiting_new() -> None:
    script = Script(node("n1", cpu=2), group("g", 3), *members("g", 1, node="n1", phase="Running"))
    script.observe(*members("g", 1, first=1))
    assert script.bound_names == ["g-1"]
    script.tell(*bound_results(script.binds))
    script.observe(*members("g", 1, first=2))
    assert (script.binds, script.reasons) == ([], {"g-2": "Unschedulable"})
    script.observe(node("n1", cpu=3))
    assert script.bound_names == ["g-2"]


@report("SP#49", "the minimum is kept as it was first seen")
def a_minimum_that_changes() -> None:
    script = Script(node("n1"), group("g", 3), *members("g", 2))
    script.observe(group("g", 2, version="101"))
    assert len(script.binds) == 2

    script = Script(node("n1"), group("g", 3), *members("g", 2))
    script.observe(group("g", 4, version="101"), *members("g", 1, first=2))
    assert script.binds == []


@report("SP#521", "pods with the label of an older version are nobody's members")
def the_older_label() -> None:
    old = [pod(f"p{number}", labels={names.LEGACY_POD_GROUP_LABEL: "g"}) for number in range(2)]
    script = Script(node("n1"), group("g", 2), old[0])
    assert script.binds == []
    script.observe(old[1])
    assert script.bound_names == ["p0", "p1"]


@report("SP#560", "a gang needs its quorum anew for each replacement, though others have finished")
def finished_once() -> None:
    done = [job_pod(f"g-{n}", "j", group="g", node="n1", phase="Succeeded", finished_s=50) for n in range(2)]
    script = Script(node("n1"), group("g", 3), *done)
    script.observe(job_pod("g-2", "j", group="g", created_s=60))
    assert script.bound_names == ["g-2"]


@report("koordinator#1701", "a job of 255 pods is never placed once room is added")
def room_that_comes_late() -> None:
    script = Script(node("n1", cpu=254, pods=300), group("g", 255), *members("g", 255))
    assert script.binds == []
    script.observe(node("n2", cpu=1), after_s=600)
    assert len(script.binds) == 255


@report("kuberay#5205", "minMember and minResources of a live group are not looked at again")
def a_group_that_is_edited() -> None:
    script = Script(node("n1", cpu=4), group("g", 2, min_resources={"cpu": 5}), *members("g", 2))
    assert script.binds == []
    script.observe(group("g", 2, min_resources={"cpu": 4}, version="101"))
    assert len(script.binds) == 2


@report("trainer#2525", "minResources above what the members ask for: the gang waits, and nobody says why")
def too_much_asked() -> None:
    script = Script(node("n1", cpu=4), group("g", 2, min_resources={"cpu": 40}), *members("g", 2))
    reason, message = script.conditions["g-0"]
    assert reason == "Unschedulable"
    assert "minResources" in message
    assert "40" in message


@report("V#4821", "memory grows with every gang that has come and gone")
def nothing_is_left() -> None:
    script = Script(node("n1", cpu=4))
    for number in range(200):
        one = members(f"g{number}", 2)
        script.observe(group(f"g{number}", 2), *one)
        script.tell(*bound_results(script.binds))
        script.remove(*one, group(f"g{number}", 2))
    script.wait(60)
    cached = script.scheduler.sizes().cached
    assert {name: count for name, count in cached.items() if count} == {"nodes": 1}
    assert script.scheduler.gangs(script.now) == []

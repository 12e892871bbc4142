"""Gangs of every kind, as a user sees them: who starts, who waits, and what those who wait say."""

import asyncio

from gangline.contract.meta import Key
from gangline.contract.names import DEFAULT_SCHEDULER_NAME
from gangline.kube.wire.resources import NODES, PODS
from gangline.sandbox.objects.core import LEASE_NAMESPACE
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import deployment, gang, job, nodes, pod, pod_group, pods, replica_set

CPU_3 = {"cpu": 3}
PATIENT = {"scheduleTimeoutSeconds": 3600}
LOST_NODE_S = 200.0
"""Until a real pod garbage collector removes the pods of a node that is gone: it looks after 20 s, and waits 40 s more."""


async def test_minimum_raised_evicts_nobody_and_says_what_the_next_member_needs() -> None:
    async with running_cluster(nodes(1, cpu="9")) as cluster:
        await cluster.create(pod_group("web", 3), replica_set("web", 6, "web", requests=CPU_3))
        await cluster.until(lambda: cluster.running("web") == 3, "three run")
        ran = {one.metadata.uid for one in cluster.of("web") if one.spec.node_name}

        await cluster.patch("PodGroup", "web", {"spec": {"minMember": 4}})

        await cluster.until(lambda: cluster.phase("web") == "Scheduling", "the group is scheduling again")
        await cluster.until(
            lambda: all("lacks 1" in message and "It needs 3 cpu" in message for message in cluster.messages("web")),
            "the pods say so",
        )
        assert {one.metadata.uid for one in cluster.of("web") if one.spec.node_name} == ran
        await cluster.until(lambda: cluster.group("web").status.running == 3, "all three are counted")


async def test_minimum_lowered_lets_a_waiting_gang_start() -> None:
    async with running_cluster(nodes(1, cpu="9")) as cluster:
        await cluster.create(*gang("g", 4, requests=CPU_3))
        await cluster.until(lambda: cluster.reasons("g") == ["Unschedulable"] * 4, "all wait")
        await cluster.patch("PodGroup", "g", {"spec": {"minMember": 3}})
        await cluster.until(lambda: cluster.running("g") == 3, "three run")


async def test_a_new_node_starts_a_waiting_gang() -> None:
    async with running_cluster(nodes(1, cpu="3")) as cluster:
        await cluster.create(*gang("g", 3, requests=CPU_3))
        await cluster.until(lambda: cluster.reasons("g") == ["Unschedulable"] * 3, "all wait")
        assert all("1 of 3 members fit" in message for message in cluster.messages("g"))
        await cluster.add_nodes(nodes(2, "more", cpu="3"))
        await cluster.until(lambda: cluster.running("g") == 3, "all run")
        await cluster.until(
            lambda: all(
                condition.status == "True"
                for one in cluster.of("g")
                for condition in one.status.conditions or ()
                if condition.type == "PodScheduled"
            ),
            "no stale reason is left",
        )


async def test_an_uncordoned_node_starts_a_waiting_gang() -> None:
    async with running_cluster(nodes(1, cpu="9"), services=("controller",)) as cluster:
        await cluster.client.patch(NODES, Key("", "node-0"), {"spec": {"unschedulable": True}})
        await cluster.start("scheduler")
        await cluster.create(*gang("g", 3))
        await cluster.until(lambda: cluster.reasons("g") == ["Unschedulable"] * 3, "all wait")
        assert all("1 node(s) were unschedulable" in message for message in cluster.messages("g"))
        await cluster.client.patch(NODES, Key("", "node-0"), {"spec": {"unschedulable": None}})
        await cluster.until(lambda: cluster.running("g") == 3, "all run")


async def test_a_relabelled_pod_completes_the_other_gang() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(pod_group("a", 3), pod_group("b", 3), *pods(2, "a", "a"), *pods(2, "b", "b"))
        await cluster.until(
            lambda: cluster.reasons("a") == cluster.reasons("b") == ["GangIncomplete"] * 2, "both are incomplete"
        )
        await cluster.patch("Pod", "b-1", {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "a"}}})

        await cluster.until(
            lambda: [cluster.running(name) for name in ("a-0", "a-1", "b-1", "b-0")] == [1, 1, 1, 0], "the gang runs"
        )
        await cluster.until(lambda: cluster.phase("a") == "Running", "the group runs")
        assert cluster.pods[Key("default", "b-0")].spec.node_name is None


async def test_a_pod_that_names_two_groups_waits_and_says_so() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        annotations = {"scheduling.k8s.io/group-name": "b"}
        await cluster.create(*gang("a", 1), pod("torn", "a", annotations=annotations), *gang("fine", 2))
        await cluster.until(lambda: cluster.running("fine") == 2, "other work goes on")
        await cluster.until(lambda: cluster.reasons("torn") == ["InvalidGangLink"], "it says why it waits")
        await cluster.until(lambda: "InvalidGangLink" in cluster.said_of("Pod", "torn"), "an event says so too")


async def test_kube_batch_annotation_names_the_group() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        annotations = {"scheduling.k8s.io/group-name": "g"}
        await cluster.create(pod_group("g", 3), *pods(2, "p", annotations=annotations))
        await cluster.until(lambda: cluster.reasons("p") == ["GangIncomplete"] * 2, "two of three wait")
        await cluster.create(pod("p-2", annotations=annotations))
        await cluster.until(lambda: cluster.running("p") == 3, "all run")


async def test_a_gated_pod_is_no_member_until_its_gate_opens() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(
            pod_group("g", 3), *pods(2, "g", "g"), pod("g-2", "g", schedulingGates=[{"name": "example.com/wait"}])
        )
        await cluster.until(
            lambda: cluster.reasons("g") == ["GangIncomplete", "GangIncomplete", "SchedulingGated"], "two wait"
        )
        await cluster.client.patch(PODS, Key("default", "g-2"), {"spec": {"schedulingGates": None}})
        await cluster.until(lambda: cluster.running("g") == 3, "all run")


async def test_a_gang_that_another_hand_has_begun_is_finished() -> None:
    async with running_cluster(nodes(2, cpu="2")) as cluster:
        await cluster.create(pod_group("g", 3), *pods(2, "g", "g"))
        await cluster.until(lambda: cluster.reasons("g") == ["GangIncomplete"] * 2, "two of three wait")
        key = Key("default", "g-0")
        await cluster.client.bind(key, cluster.pods[key].metadata.uid, "node-1")

        await cluster.until(lambda: cluster.running("g") == 2, "the gang has started, so its other member may too")
        await cluster.create(pod("g-2", "g"))
        await cluster.until(lambda: cluster.running("g") == 3, "and the last one")


async def test_pods_of_other_schedulers_are_counted_but_never_touched() -> None:
    async with running_cluster(nodes(1, cpu="4")) as cluster:
        await cluster.create(pod("foreign", scheduler="default-scheduler", requests=CPU_3))
        key = Key("default", "foreign")
        await cluster.until(lambda: key in cluster.pods, "it is seen")
        await cluster.create(*gang("g", 2, requests={"cpu": 2}))
        await cluster.until(lambda: cluster.running("g") == 2, "the room is ours while nobody else has it")
        assert cluster.pods[key].spec.node_name is None
        assert cluster.reasons("foreign") == [""]

        await cluster.delete("Pod", "g-0")
        await cluster.client.bind(key, cluster.pods[key].metadata.uid, "node-0")
        await cluster.until(lambda: cluster.in_phase("foreign", "Pending") == 0, "the kubelet has seen it")
        await cluster.create(pod("late", requests={"cpu": 2}))
        await cluster.until(
            lambda: cluster.pods[key].status.phase == "Failed" or cluster.reasons("late") == ["Unschedulable"],
            "its room is taken",
        )


async def test_several_scheduler_names() -> None:
    async with running_cluster(nodes(1, cpu="8"), scheduler_names=("gangline", "batch")) as cluster:
        await cluster.create(pod_group("g", 2), pod("g-0", "g"), pod("g-1", "g", scheduler="batch"))
        await cluster.until(lambda: cluster.running("g") == 2, "both names are ours")


async def test_members_of_another_scheduler_do_not_make_the_gang_complete() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(pod_group("g", 2), pod("g-0", "g"), pod("g-1", "g", scheduler="default-scheduler"))
        await cluster.until(lambda: cluster.reasons("g") == ["SchedulerMismatch", ""], "ours says what is wrong")
        await cluster.until(
            lambda: "SchedulerMismatch" in {one.type for one in cluster.group("g").status.conditions or ()},
            "so does the group",
        )


async def test_the_room_of_a_lost_member_is_held_for_its_gang() -> None:
    async with running_cluster(nodes(1, cpu="3")) as cluster:
        await cluster.create(*gang("g", 3), *pods(3, "rival"))
        await cluster.until(lambda: cluster.running("g") == 3, "the gang runs")
        await cluster.until(lambda: cluster.reasons("rival") == ["Unschedulable"] * 3, "the rivals wait")

        await cluster.delete("Pod", "g-1")
        await cluster.until(lambda: "HeldForGang" in cluster.reasons("rival"), "the rivals are told of the hold")
        await cluster.create(pod("g-3", "g"))

        await cluster.until(lambda: cluster.running("g") == 3, "the gang is repaired")
        assert cluster.bound("rival") == 0


async def test_surplus_members_are_placed_one_by_one() -> None:
    async with running_cluster(nodes(1, cpu="5")) as cluster:
        await cluster.create(pod_group("web", 3), replica_set("web", 8, "web"))
        await cluster.until(lambda: cluster.running("web") == 5, "as many as fit run")
        await cluster.until(lambda: cluster.reasons("web") == ["Unschedulable"] * 3, "the others say why not")
        await cluster.add_nodes(nodes(1, "more", cpu="1"))
        await cluster.until(lambda: cluster.running("web") == 6, "one more runs")


async def test_quorums_of_equal_priority_go_before_surplus() -> None:
    async with running_cluster(nodes(1, cpu="6"), services=("controller",)) as cluster:
        await cluster.create(pod_group("first", 2), *pods(6, "first", "first"), *gang("second", 3))
        await cluster.start("scheduler")
        await cluster.until(lambda: (cluster.running("first"), cluster.running("second")) == (3, 3), "both run")


async def test_a_shadow_gang_starts_whole() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(deployment("web", 3, shadow=3))
        await cluster.until(lambda: cluster.reasons("web") == ["Unschedulable"] * 3, "all three wait")
        await cluster.add_nodes(nodes(1, "more", cpu="1"))
        await cluster.until(lambda: cluster.running("web") == 3, "all three run")
        assert not cluster.groups, "nothing is written for a shadow gang"


async def test_a_shadow_gang_survives_a_rolling_update() -> None:
    async with running_cluster(nodes(1, cpu="4")) as cluster:
        await cluster.create(deployment("web", 3, shadow=3, spec={"strategy": {"type": "RollingUpdate"}}))
        await cluster.until(lambda: cluster.running("web") == 3, "the first pods run")
        before = {one.metadata.uid for one in cluster.of("web")}

        template = {"metadata": {"annotations": {"release": "2"}}}
        await cluster.patch("Deployment", "web", {"spec": {"template": template}})

        await cluster.until(
            lambda: cluster.running("web") == 3 and not before & {one.metadata.uid for one in cluster.of("web")},
            "all pods are new and run",
        )


async def test_a_shadow_pod_without_owner_says_what_is_wrong() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(pod("alone", shadow=2))
        await cluster.until(lambda: cluster.reasons("alone") == ["InvalidGangLink"], "it says so")


async def test_two_gangs_that_do_not_fit_together_run_one_after_the_other() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        for name in ("a", "b"):
            await cluster.create(pod_group(name, 5), job(name, name, parallelism=5, completions=5, run_s=0.3))
        await cluster.until(lambda: cluster.phase("a") == cluster.phase("b") == "Finished", "both finish")


async def test_a_change_of_reason_is_announced_once() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(pod_group("g", 3), *pods(2, "g", "g"))
        await cluster.until(lambda: cluster.said_of("PodGroup", "g") == ["GangIncomplete"], "one event")
        await cluster.create(pod("g-2", "g"))
        await cluster.until(
            lambda: cluster.said_of("PodGroup", "g") == ["FailedScheduling", "GangIncomplete"], "one more event"
        )
        # Other gangs come and go: the gang is decided again, and has nothing new to say.
        for number in range(3):
            await cluster.create(pod(f"other-{number}"))
            await cluster.until(lambda n=number: cluster.running(f"other-{n}") == 1, "it runs")  # type: ignore[misc]
            await cluster.delete("Pod", f"other-{number}")
        await cluster.until(lambda: not cluster.of("other"), "they are gone")
        assert cluster.said_of("PodGroup", "g") == ["FailedScheduling", "GangIncomplete"]


async def test_every_waiting_pod_has_an_event_of_its_own() -> None:
    """`kubectl describe pod` shows events, not conditions."""
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(*gang("g", 3))
        await cluster.until(
            lambda: all("FailedScheduling" in cluster.said_of("Pod", f"g-{number}") for number in range(3)),
            "each pod has an event",
        )


async def test_a_bound_pod_has_one_event_that_says_where() -> None:
    async with running_cluster(nodes(1, cpu="2"), services=("controller",)) as cluster:
        await cluster.create(*gang("g", 2))
        await cluster.start("scheduler")
        await cluster.until(lambda: all("Scheduled" in cluster.said_of("Pod", f"g-{n}") for n in (0, 1)), "events")
        await cluster.until(lambda: cluster.phase("g") == "Running", "the gang runs")
        assert [cluster.said_of("Pod", f"g-{n}", by=DEFAULT_SCHEDULER_NAME) for n in (0, 1)] == [["Scheduled"]] * 2


async def test_a_deleted_namespace_takes_its_gangs_along() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        await cluster.create(*gang("a", 2), namespace="team")
        await cluster.until(lambda: cluster.running("a") == 2, "the first gang runs")
        await cluster.create(*gang("b", 2))
        await cluster.until(lambda: cluster.reasons("b") == ["Unschedulable"] * 2, "the second waits")
        await cluster.delete("Namespace", "team")
        await cluster.until(lambda: cluster.running("b") == 2 and not cluster.of("a"), "the second follows")


async def test_a_lost_node_is_repaired_elsewhere() -> None:
    async with running_cluster(nodes(2, cpu="2")) as cluster:
        await cluster.create(pod_group("g", 4), replica_set("g", 4, "g"))
        await cluster.until(lambda: cluster.running("g") == 4, "the gang runs")
        await cluster.delete("Node", "node-0")
        await cluster.until(
            lambda: cluster.reasons("g") == ["Unschedulable"] * 2, "the replacements wait", within_s=LOST_NODE_S
        )
        await cluster.add_nodes(nodes(1, "new", cpu="2"))
        await cluster.until(lambda: cluster.running("g") == 4, "the gang runs again")
        await cluster.until(lambda: cluster.phase("g") == "Running", "the group says so")


async def test_after_a_restart_nothing_is_written() -> None:
    async with running_cluster(nodes(1, cpu="6")) as cluster:
        await cluster.create(pod_group("done", 1), pod("done", "done", run_s=0, restartPolicy="Never"))
        await cluster.until(lambda: cluster.phase("done") == "Finished", "one group is finished")
        await cluster.create(
            *gang("whole", 3),
            *gang("big", 9, spec=PATIENT),
            *(pod_group("few", 4, **PATIENT), *pods(2, "few", "few")),
            *pods(2, "lost", "nobody"),
            pod_group("surplus", 1),
            replica_set("surplus", 5, "surplus"),
        )
        await cluster.until(lambda: cluster.running("whole") == cluster.running("surplus") == 3, "two run")
        await cluster.judged()
        await cluster.until(lambda: len(cluster.events) >= 10, "events are written")
        await restart_and_settle(cluster, "first")
        await cluster.catch_up()
        before = cluster.history.revision

        await restart_and_settle(cluster, "second")

        written = [
            (line["resource"], line["key"], line["type"])
            for line in await cluster.log(after=before)
            if "newcomer" not in line["key"] and not line["key"].startswith(f"{LEASE_NAMESPACE}/")  # of the kubelets
        ]
        assert written == []


async def restart_and_settle(cluster: Cluster, name: str) -> None:
    """Restart both services; a newcomer that has had to wait for its reason shows that all else is dealt with."""
    await asyncio.gather(*(cluster.stop(service) for service in ("scheduler", "controller")))
    await cluster.start("scheduler")
    await cluster.start("controller")
    newcomer = f"newcomer-{name}"
    await cluster.create(pod_group(newcomer, 2), pod(newcomer, newcomer))
    await cluster.until(lambda: cluster.reasons(newcomer) == ["GangIncomplete"], "the newcomer is dealt with")
    await cluster.until(lambda: cluster.phase(newcomer) == "Pending", "by both services")
    await cluster.until(lambda: "GangIncomplete" in cluster.said_of("PodGroup", newcomer), "its event is written")

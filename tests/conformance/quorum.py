"""Tables P and M: may a member be tried, and what becomes of it once it has a node (Coscheduling's PreFilter and Permit)."""

from msgspec import Struct

from controller.core.index import Index
from controller.core.status import assess
from gangline.contract.meta import Key
from gangline.contract.podgroup import PodGroupStatus
from gangline.kube.wire.resources import NODES
from tests.conformance.rows import Stage, row
from tests.controller.builders import NOW, at
from tests.controller.builders import group as podgroup
from tests.controller.builders import pods as letters
from tests.support.cluster import NAMESPACE, Cluster, running_cluster
from tests.support.manifests import gang, nodes, pod, pod_group, pods

TWO_NODES = nodes(2, cpu="4", pods="32")
ELSE = "somebody-else"
GATED = {"schedulingGates": [{"name": "example.com/wait"}]}
NO_PERMIT = "There is no Permit: a gang that is not decided whole holds nothing."


async def until_incomplete(cluster: Cluster, name: str) -> None:
    await cluster.until(
        lambda: (
            "GangIncomplete" in cluster.reasons(name)
            and set(cluster.reasons(name)) <= {"GangIncomplete", "SchedulingGated"}
        ),
        f"{name} is incomplete",
    )
    assert cluster.bound(name) == 0


async def until_unschedulable(cluster: Cluster, name: str, word: str) -> None:
    await cluster.until(
        lambda: (
            set(cluster.reasons(name)) == {"Unschedulable"} and all(word in said for said in cluster.messages(name))
        ),
        f"{name} waits, and speaks of {word}",
    )
    assert cluster.bound(name) == 0


async def bind(cluster: Cluster, name: str, node: str) -> None:
    """Bind a pod as somebody else may."""
    key = Key(NAMESPACE, name)
    await cluster.until(lambda: key in cluster.pods, "the pod is seen")
    await cluster.client.bind(key, cluster.pods[key].metadata.uid, node)


# P


@row("P1", "no group", "pass", stage=Stage.SHARED)
async def p1(cluster: Cluster) -> None:
    await cluster.create(pod("p1-0"))
    await cluster.until(lambda: cluster.running("p1") == 1, "it runs")


@row("P2", "names a group that does not exist", "pass here, and refused by Permit", stage=Stage.SHARED)
async def p2(cluster: Cluster) -> None:
    await cluster.create(pod("p2-0", "p2"))
    await cluster.until(lambda: cluster.reasons("p2") == ["PodGroupNotFound"], "it says so")
    assert cluster.bound("p2") == 0


@row("P3", "minMember 2, 1 pod", "fail", stage=Stage.SHARED)
async def p3(cluster: Cluster) -> None:
    await cluster.create(*gang("p3", 1, min_member=2))
    await until_incomplete(cluster, "p3")


@row("P4", "minMember 2, 3 pods", "pass", stage=Stage.SHARED)
async def p4(cluster: Cluster) -> None:
    await cluster.create(*gang("p4", 3, min_member=2))
    await cluster.until(lambda: cluster.running("p4") == 3, "all run")


@row("P5", "minMember 2, 2 pods", "pass", stage=Stage.SHARED)
async def p5(cluster: Cluster) -> None:
    await cluster.create(*gang("p5", 2))
    await cluster.until(lambda: cluster.running("p5") == 2, "both run")


@row("P6", "minMember 2, 3 pods, 1 gated", "pass", stage=Stage.SHARED)
async def p6(cluster: Cluster) -> None:
    await cluster.create(pod_group("p6", 2), pod("p6-gated", "p6", **GATED), *pods(2, "p6", "p6"))
    await cluster.until(lambda: cluster.running("p6") == 2, "those without gate run")


@row("P8", "minMember 2, 3 pods, 2 gated", "fail", stage=Stage.SHARED)
async def p8(cluster: Cluster) -> None:
    await cluster.create(pod_group("p8", 2), *pods(2, "p8-gated", "p8", **GATED), pod("p8-0", "p8"))
    await until_incomplete(cluster, "p8")


@row("P9", "minMember 2, minResources cpu 6, 3 pods; two nodes of 4", "pass", stage=Stage.OWN)
async def p9() -> None:
    async with running_cluster(TWO_NODES) as cluster:
        await cluster.create(*gang("p9", 3, min_member=2, spec={"minResources": {"cpu": "6"}}))
        await cluster.until(lambda: cluster.running("p9") == 3, "all run")


@row("P10", "as P9, with minResources cpu 10", "fail", stage=Stage.OWN)
async def p10() -> None:
    async with running_cluster(TWO_NODES) as cluster:
        await cluster.create(*gang("p10", 3, min_member=2, spec={"minResources": {"cpu": "10"}}))
        await until_unschedulable(cluster, "p10", "minResources")


@row(
    "P11",
    "minMember 3, 3 pods; the group failed a moment ago, backoff is on",
    "fail: the group failed recently",
    "tried as soon as something can help it",
    "There is no backoff: a gang that does not fit is parked and costs nothing.",
    stage=Stage.OWN,
)
async def p11() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(*gang("p11", 3))
        await until_unschedulable(cluster, "p11", "2 of 3 members fit")
        await cluster.add_nodes(nodes(1, "more", cpu="1"))
        await cluster.until(lambda: cluster.running("p11") == 3, "it runs")


@row(
    "P12",
    "minMember 2, minResources cpu 6; enough was free 5 s ago, and 2 CPU are now",
    "pass: the answer was kept",
    "waits",
    "What is free is looked at whenever the gang is decided.",
    stage=Stage.OWN,
)
async def p12() -> None:
    async with running_cluster(TWO_NODES) as cluster:
        await cluster.create(*gang("p12", 1, min_member=2, spec={"minResources": {"cpu": "6"}}))
        await until_incomplete(cluster, "p12")
        await cluster.create(pod("big-0", requests={"cpu": "3"}), pod("big-1", requests={"cpu": "3"}))
        await cluster.until(lambda: cluster.running("big") == 2, "others take the room")
        await cluster.create(pod("p12-1", "p12"))
        await until_unschedulable(cluster, "p12", "minResources")


async def with_one_that_has_succeeded(minimum: int) -> None:
    """The other members wait before the scheduler comes; the one that succeeds was bound by somebody else."""
    async with running_cluster(nodes(1, cpu="6"), services=("controller",)) as cluster:
        await cluster.create(pod_group("g", minimum), *pods(minimum - 1, "g", "g"))
        await cluster.create(pod("done", "g", scheduler=ELSE, run_s=1.2, restartPolicy="Never"))
        await bind(cluster, "done", "node-0")
        await cluster.until(lambda: cluster.in_phase("done", "Succeeded") == 1, "one has succeeded")
        assert cluster.bound("g-") == 0
        await cluster.start("scheduler")
        await cluster.until(lambda: cluster.running("g") == minimum - 1, "the others run")


SUCCEEDED_COUNT = "Succeeded members of the current run count towards minMember."


@row("P13", "minMember 3, 3 pods, one has succeeded", "fail", "pass", SUCCEEDED_COUNT, stage=Stage.OWN)
async def p13() -> None:
    await with_one_that_has_succeeded(3)


@row(
    "D11",
    "minMember 6: one has succeeded, 5 wait with 1 CPU each; a node of 6 CPU",
    "none of the 5 is ever bound",
    "the 5 start",
    SUCCEEDED_COUNT,
    stage=Stage.OWN,
)
async def d11() -> None:
    await with_one_that_has_succeeded(6)


@row(
    "P15",
    "minMember 3, 3 pods, one names another scheduler",
    "passes, and then waits",
    "waits with `SchedulerMismatch`",
    "A pod that we cannot bind does not make a quorum.",
    stage=Stage.SHARED,
)
async def p15(cluster: Cluster) -> None:
    await cluster.create(pod_group("p15", 3), *pods(2, "p15", "p15"), pod("p15-2", "p15", scheduler=ELSE))
    await cluster.until(lambda: cluster.reasons("p15") == ["SchedulerMismatch", "SchedulerMismatch", ""], "they say so")
    assert cluster.bound("p15") == 0


@row(
    "P16",
    "minMember 2, minResources cpu 6, 2 pods; one of two nodes is cordoned",
    "passes, and then does not fit",
    "waits",
    "Only usable nodes count.",
    stage=Stage.OWN,
)
async def p16() -> None:
    async with running_cluster(TWO_NODES, services=("controller",)) as cluster:
        await cluster.client.patch(NODES, Key("", "node-1"), {"spec": {"unschedulable": True}})
        await cluster.start("scheduler")
        await cluster.create(*gang("p16", 2, spec={"minResources": {"cpu": "6"}}))
        await until_unschedulable(cluster, "p16", "minResources")


@row("P17", "minMember 3, minResources cpu 1, 3 pods; a node with 2 free slots", "fail", stage=Stage.OWN)
async def p17() -> None:
    async with running_cluster(nodes(1, cpu="4", pods="2")) as cluster:
        await cluster.create(*gang("p17", 3, spec={"minResources": {"cpu": "1"}}))
        await until_unschedulable(cluster, "p17", "Too many pods")


# M


@row("M1", "no group", "success", stage=Stage.SHARED)
async def m1(cluster: Cluster) -> None:
    await cluster.create(*pods(2, "m1"))
    await cluster.until(lambda: cluster.running("m1") == 2, "each runs by itself")


@row("M2", "names a group that does not exist", "refused", stage=Stage.SHARED)
async def m2(cluster: Cluster) -> None:
    await cluster.create(pod("m2-0", "m2"))
    await cluster.until(lambda: "PodGroupNotFound" in cluster.said_of("Pod", "m2-0"), "an event says so")
    assert cluster.bound("m2") == 0


@row("M3", "minMember 2, the first pod", "waits, on a node", "waits, and holds nothing", NO_PERMIT, stage=Stage.OWN)
async def m3() -> None:
    async with running_cluster(nodes(1, cpu="1")) as cluster:
        await cluster.create(*gang("m3", 1, min_member=2))
        await until_incomplete(cluster, "m3")
        await cluster.create(pod("other"))
        await cluster.until(lambda: cluster.running("other") == 1, "the room is free")


@row("M4", "minMember 2, one member is on a node already; the second pod", "success", stage=Stage.SHARED)
async def m4(cluster: Cluster) -> None:
    await cluster.create(pod_group("m4", 2), pod("m4-0", "m4", scheduler=ELSE))
    await bind(cluster, "m4-0", "node-0")
    await cluster.create(pod("m4-1", "m4"))
    await cluster.until(lambda: cluster.running("m4") == 2, "both run")


@row("M5", "minMember 1", "success at once", stage=Stage.SHARED)
async def m5(cluster: Cluster) -> None:
    await cluster.create(*gang("m5", 1))
    await cluster.until(lambda: cluster.running("m5") == 1, "it runs")


async def decisions(cluster: Cluster, outcome: str) -> float:
    samples = await cluster.services["scheduler"].samples()
    return samples[f'gangline_scheduler_decisions_total{{outcome="{outcome}"}}']


@row(
    "M6",
    "minMember 3, the first of three pods",
    "waits; the other two are moved to the active queue",
    "the three are decided at once",
    NO_PERMIT,
    stage=Stage.OWN,
)
async def m6() -> None:
    async with running_cluster(nodes(1, cpu="3")) as cluster:
        await cluster.create(*gang("m6", 3))
        await cluster.until(lambda: cluster.running("m6") == 3, "all run")
        assert (await decisions(cluster, "placed"), await decisions(cluster, "unplaced")) == (1, 0)


@row(
    "M7",
    "minMember 3, the second pod",
    "waits, on a node; nothing is moved",
    "waits; nothing is decided",
    NO_PERMIT,
    stage=Stage.OWN,
)
async def m7() -> None:
    async with running_cluster(nodes(1, cpu="3")) as cluster:
        await cluster.create(*gang("m7", 2, min_member=3))
        await until_incomplete(cluster, "m7")
        assert (await decisions(cluster, "placed"), await decisions(cluster, "unplaced")) == (0, 0)


@row("M8", "minMember 3, the third pod", "success, and the two that wait are released", stage=Stage.SHARED)
async def m8(cluster: Cluster) -> None:
    await cluster.create(*gang("m8", 2, min_member=3))
    await until_incomplete(cluster, "m8")
    await cluster.create(pod("m8-2", "m8"))
    await cluster.until(lambda: cluster.running("m8") == 3, "all run")


class Waits(Struct, frozen=True):
    """After how many seconds a group that waits is reported, by its scheduleTimeoutSeconds."""

    timeout_s: int | None
    reported_after_s: int

    def hold(self) -> None:
        """Look just before and at that time."""
        index = Index(["gangline"])
        for member in letters("PPP"):
            index.observe_pod(member, NOW)
        status = PodGroupStatus(phase="Scheduling", schedule_start_time=at(NOW))
        waiting = podgroup(3, status=status, timeout_s=self.timeout_s)
        overdue = []
        for elapsed_s in (self.reported_after_s - 1, self.reported_after_s):
            seen = assess(waiting, index.members(waiting.metadata.key), NOW + elapsed_s)
            assert seen.status.phase == "Scheduling", "it goes on trying"
            overdue.append(seen.overdue_timeout_s)
        assert overdue == [None, self.reported_after_s]


NO_REJECTION = "A timeout is reported, and rejects nobody: there is nothing to give back."


@row("M9", "scheduleTimeoutSeconds 10, argument 3", "10 s")
def m9() -> None:
    Waits(10, 10).hold()


@row(
    "M10",
    "scheduleTimeoutSeconds unset, argument 3",
    "3 s",
    "60 s",
    "The argument does not exist; every group can say its own.",
)
def m10() -> None:
    Waits(None, 60).hold()


@row("M11", "both unset", "60 s")
def m11() -> None:
    Waits(None, 60).hold()


@row("M12", "scheduleTimeoutSeconds 0, argument 60", "60 s")
def m12() -> None:
    Waits(0, 60).hold()


@row(
    "M13", "scheduleTimeoutSeconds -5", "rejected at once", "60 s", "A timeout that cannot be meant is as good as none."
)
def m13() -> None:
    Waits(-5, 60).hold()


@row("M14", "scheduleTimeoutSeconds 3600", "cut to 900 s", "3600 s", NO_REJECTION)
def m14() -> None:
    Waits(3600, 3600).hold()


@row("M16", "minMember 3, 5 pods, room for all", "3 together, then the other two; none waits", stage=Stage.SHARED)
async def m16(cluster: Cluster) -> None:
    await cluster.create(*gang("m16", 5, min_member=3))
    await cluster.until(lambda: cluster.running("m16") == 5, "all run")


@row("M17", "minMember 3, all bound; one is deleted and replaced", "the replacement starts at once", stage=Stage.SHARED)
async def m17(cluster: Cluster) -> None:
    await cluster.create(*gang("m17", 3))
    await cluster.until(lambda: cluster.running("m17") == 3, "all run")
    await cluster.delete("Pod", "m17-0", grace_period_s=0)
    await cluster.create(pod("m17-3", "m17"))
    await cluster.until(lambda: cluster.running("m17-3") == 1, "the replacement runs")


@row("M19", "restart while 2 of 3 are bound", "the third starts", stage=Stage.OWN)
async def m19() -> None:
    async with running_cluster(nodes(1, cpu="3"), services=("controller",)) as cluster:
        await cluster.create(*gang("m19", 3))
        for name in ("m19-0", "m19-1"):
            await bind(cluster, name, "node-0")
        await cluster.start("scheduler")
        await cluster.until(lambda: cluster.running("m19") == 3, "all run")


@row("M20", "restart while 2 wait and none is bound", "both wait as before, and nothing is held", stage=Stage.OWN)
async def m20() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(*gang("m20", 2, min_member=3))
        await until_incomplete(cluster, "m20")
        await cluster.stop("scheduler")
        await cluster.start("scheduler")
        await cluster.create(*pods(2, "other"))
        await cluster.until(lambda: cluster.running("other") == 2, "the room is free")
        await until_incomplete(cluster, "m20")


@row("M21", "minMember absent", "every pod starts alone", stage=Stage.OWN)
async def m21() -> None:
    async with running_cluster(nodes(1, cpu="1")) as cluster:
        await cluster.create(pod_group("m21", None), *pods(2, "m21", "m21"))
        await cluster.until(
            lambda: (cluster.running("m21"), cluster.reasons("m21")) == (1, ["Unschedulable"]), "one runs"
        )


@row("M22", "scheduleTimeoutSeconds 0, argument 0", "rejected at once", "60 s", "As M13.")
def m22() -> None:
    Waits(0, 60).hold()

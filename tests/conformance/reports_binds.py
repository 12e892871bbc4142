"""Bugs reported of others: binds that fail, and caches that remember what is not so."""

from gangline.contract.pod import Pod
from gangline.sandbox.apiserver.faults import Refuse, Rule
from scheduler.core.events import PodRead, Refusal
from tests.conformance.rows import Stage, report
from tests.support.builders import group, node, pod
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import gang, nodes
from tests.support.proxy import Proxy
from tests.support.script import Script, bound_results, gone, observed, refused, unknown


def members(count: int, *, first: int = 0, version: str = "50") -> list[Pod]:
    return [pod(f"g-{number}", group="g", version=version) for number in range(first, first + count)]


def used_cpu(script: Script, name: str = "n1") -> int:
    ledger = script.scheduler._cache.ledgers.get(name)
    return ledger.used.get("cpu", 0) if ledger is not None else 0


@report(
    "V#4383",
    "a bind fails in the middle of a gang: the group is called Running, and one pod waits",
    stage=Stage.OWN,
    sandbox=True,
)
async def running_before_all_are_bound() -> None:
    async with running_cluster(nodes(5, cpu="1")) as cluster:
        fault = Rule(verb="create", resource="pods", subresource="binding", name="g-3", fault=Refuse(500), count=1)
        await cluster.faults(fault)
        await cluster.create(*gang("g", 5))
        await cluster.until(lambda: cluster.phase("g") == "Running", "the group runs")
        assert await cluster.struck() == [1]
        assert await fewest_bound_while_running(cluster) == 5


async def fewest_bound_while_running(cluster: Cluster) -> int:
    """How many pods had a node, at worst, when the group said that it runs."""
    bound: set[str] = set()
    fewest = len(cluster.pods)
    for line in await cluster.log():
        found = line["object"]
        if line["resource"] == "pods" and found["spec"].get("nodeName"):
            bound.add(line["key"])
        if line["resource"] == "podgroups" and found.get("status", {}).get("phase") == "Running":
            fewest = min(fewest, len(bound))
    return fewest


@report("V#6010", "a gang is decided with an older version of its group than the user sees")
def a_stale_group() -> None:
    script = Script(node("n1", cpu=8), group("g", 2), *members(2, version="101"))
    (order,) = script.gang_binds
    assert order.confirm is not None
    script.tell(*(refused(bind, Refusal.STALE) for bind in script.binds))
    script.observe(group("g", 3, version="102"))
    assert script.binds == []
    script.observe(*members(1, first=2, version="103"))
    assert len(script.binds) == 3


@report("V#3547", "a bind that the API server refuses is only logged")
def a_refusal_is_told() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(refused(bind, Refusal.FORBIDDEN, "admission webhook says no"))
    script.wait(2)
    reason, message = script.conditions["p"]
    assert reason == "BindFailed"
    assert "admission webhook says no" in message
    assert ("Pod", "p", "BindFailed") in script.announced


@report("V#5524", "the room of a bind that hangs is never given back")
def a_bind_that_hangs() -> None:
    script = Script(node("n1", cpu=1), pod("p"))
    (bind,) = script.binds
    script.tell(unknown(bind), after_s=60)
    assert used_cpu(script) == 1000
    script.wait(5)
    assert [ask.uid for ask in script.reads] == [bind.uid]
    script.observe(pod("other", created_s=9))
    assert script.binds == []
    script.tell(PodRead(uid=bind.uid, attempt=bind.attempt, node=None))
    assert script.bound_names == ["other"]


@report("V#2865", "when one bind fails, the events of those that were done are lost")
def events_of_what_was_done() -> None:
    script = Script(*(node(f"n{number}", cpu=1) for number in range(5)), group("g", 5), *members(5))
    *done, failed = script.binds
    script.tell(*bound_results(done[:2]), refused(failed, Refusal.FORBIDDEN), *bound_results(done[2:]))
    announced = [name for kind, name, reason in script.announced if (kind, reason) == ("Pod", "Scheduled")]
    assert sorted(announced) == sorted(bind.name for bind in done)


@report("KB#909", "the cache stays changed when a bind has failed")
def a_failed_bind_changes_nothing() -> None:
    script = Script(node("n1", cpu=3), group("g", 3), *members(3))
    first, *rest = script.binds
    script.tell(refused(first, Refusal.FORBIDDEN), *(refused(bind, Refusal.DROPPED) for bind in rest))
    assert used_cpu(script) == 0
    assert script.scheduler.sizes().cached["intents"] == 0


@report("V#1857", "an update of a pod that is being bound, still without node, wipes the assumption")
def an_update_while_binding() -> None:
    script = Script(node("n1", cpu=1), pod("p"))
    (bind,) = script.binds
    script.observe(pod("p", version="2", labels={"new": "label"}), pod("other", created_s=9))
    assert (script.binds, used_cpu(script)) == ([], 1000)
    script.tell(*bound_results([bind]))
    assert (script.binds, used_cpu(script)) == ([], 1000)


@report("KB#286", "the update right after a bind says that the pod is on its node already")
def seen_right_after_the_bind() -> None:
    script = Script(node("n1", cpu=2), pod("p"))
    (bind,) = script.binds
    for version in ("2", "3"):
        script.observe(pod("p", node="n1", version=version))
    script.tell(*bound_results([bind]))
    script.observe(pod("p", node="n1", version="4", phase="Running"))
    assert used_cpu(script) == 1000


@report("KB#931", "what moved cannot be removed, so the add that follows is skipped, and a node is over-committed")
def removed_though_it_moved() -> None:
    script = Script(node("n1", cpu=1), node("n2", cpu=1, unschedulable=True), pod("p", node="n2"))
    script.tell(gone(pod("p", node="n1")), gone(pod("p", node="n2")), observed(pod("p", uid="new", node="n1")))
    script.observe(pod("other"))
    assert (script.binds, used_cpu(script), used_cpu(script, "n2")) == ([], 1000, 0)


@report("V#1325", "every update of a finished pod logs that it cannot be deleted")
def finished_pods_are_quiet() -> None:
    done = [pod(f"p-{number}", node="n1", phase="Succeeded", finished_s=5) for number in range(1000)]
    script = Script(node("n1"), *done)
    script.observe(*(pod(f"p-{n}", node="n1", phase="Succeeded", finished_s=5, version="2") for n in range(1000)))
    assert script.step.instructions == ()
    script.remove(*done)
    assert (script.step.instructions, used_cpu(script)) == ((), 0)


@report("V#2784", "pods deleted while the watch was down keep their room", stage=Stage.OWN, sandbox=True)
async def deleted_unseen() -> None:
    async with running_cluster(nodes(1, cpu="10"), services=()) as cluster, Proxy(cluster.url) as proxy:
        await cluster.start("scheduler", kubeconfig=proxy.kubeconfig(cluster.kubeconfig))
        await cluster.create(*gang("old", 10))
        await cluster.until(lambda: cluster.running("old") == 10, "the node is full")
        await proxy.shut()
        for number in range(10):
            await cluster.delete("Pod", f"old-{number}", grace_period_s=0)
        await cluster.until(lambda: not cluster.pods, "they are gone")
        await cluster.admin("POST", "compact")
        await cluster.create(*gang("new", 10))
        await proxy.open()
        await cluster.until(lambda: cluster.running("new") == 10, "their room is free")
        await cluster.judged()
        await cluster.stop_all()


@report("V#1417", "pods that are seen before their node use nothing of it")
def pods_before_their_node() -> None:
    script = Script(pod("old", node="n1", cpu=3), pod("new", cpu=2))
    script.observe(node("n1", cpu=4))
    assert (script.binds, used_cpu(script)) == ([], 3000)
    script.observe(node("n1", cpu=5))
    assert script.bound_names == ["new"]


@report("V#2377", "a restart in the middle of the binds loses or duplicates pods")
def restarted_in_the_middle() -> None:
    bound = [pod(f"g-{number}", group="g", node="n1") for number in range(3)]
    script = Script(node("n1", cpu=6), group("g", 6), *bound, *members(3, first=3))
    assert script.bound_names == ["g-3", "g-4", "g-5"]
    assert used_cpu(script) == 6000

"""Bugs reported of others: sums that differ from the kubelet's."""

from gangline.contract.node import Taint
from gangline.contract.pod import Container, Pod, Quantity, ResourceRequirements
from tests.conformance.rows import Stage, report
from tests.support.builders import group, node, pod
from tests.support.cluster import running_cluster
from tests.support.manifests import gang, nodes
from tests.support.script import Script

GPU = "nvidia.com/gpu"


def container(name: str, *, restart_policy: str | None = None, **requests: Quantity) -> Container:
    return Container(name=name, resources=ResourceRequirements(requests=requests), restart_policy=restart_policy)


def fits(one: Pod, **room: Quantity) -> bool:
    """Whether a node with this much in all takes the pod."""
    return bool(Script(node("n1", **room), one).binds)  # type: ignore[arg-type]  # only quantities are given


@report("V#2527", "a pod of 110m is placed on 108m")
def no_epsilon_of_cpu() -> None:
    script = Script(node("n1", cpu="1108m"), pod("old", node="n1"), pod("p", cpu="110m"))
    assert script.binds == []
    script.observe(pod("q", cpu="108m"))
    assert script.bound_names == ["q"]


@report("V#1068", "a pod that lacks 1 MB of memory is placed")
def no_epsilon_of_memory() -> None:
    assert not fits(pod("p", memory=4_850_880_512), memory=4_849_856_512)
    assert not fits(pod("p", memory=4_849_856_513), memory=4_849_856_512)
    assert fits(pod("p", memory=4_849_856_512), memory=4_849_856_512)


@report("V#1333", "the request of a big init container is checked, and then not counted")
def a_big_init_container() -> None:
    one = pod("p", cpu=1, spec={"init_containers": (container("init", cpu=4),)})
    script = Script(node("n1", cpu=4), one)
    assert script.bound_names == ["p"]
    script.observe(pod("q", cpu=3, created_s=9))
    assert script.binds == []


@report("KB#919", "a pod without requests whose init container has some is never placed")
def an_init_container_alone() -> None:
    one = pod("p", cpu=None, spec={"init_containers": (container("init", cpu=1),)})
    assert fits(one, cpu=1)
    assert not fits(one, cpu="999m")


@report("V#3513", "sidecars and overhead are counted wrongly")
def sidecars_and_overhead() -> None:
    inits = (container("side", cpu=1, restart_policy="Always"), container("init", cpu=2))
    one = pod("p", cpu=1, spec={"init_containers": inits, "overhead": {"cpu": "250m"}})
    assert fits(one, cpu="3250m")
    assert not fits(one, cpu="3249m")


@report("V#2501", "ephemeral storage is not counted")
def ephemeral_storage() -> None:
    pods = [pod(name, requests={"ephemeral-storage": "6Gi"}) for name in ("p", "q")]
    script = Script(node("n1", allocatable={"ephemeral-storage": "10Gi"}), *pods)
    assert script.bound_names == ["p"]


@report("V#2999", "a node whose devices have gone vanishes, so the device plugin cannot come back")
def devices_that_go_and_come() -> None:
    def with_gpus(count: int) -> Script:
        script.observe(node("n1", cpu=8, allocatable={GPU: count}))
        return script

    script = Script(node("n1", cpu=8, allocatable={GPU: 8}), pod("train", node="n1", requests={GPU: 8}))
    with_gpus(0).observe(pod("device-plugin"))
    assert script.bound_names == ["device-plugin"]
    with_gpus(8).remove(pod("train", node="n1"))
    script.observe(pod("again", requests={GPU: 8}))
    assert script.bound_names == ["again"]
    with_gpus(6).remove(pod("again"))
    script.observe(pod("seven", requests={GPU: 7}), pod("six", requests={GPU: 6}))
    assert script.bound_names == ["six"]


@report("V#2364", "a node that shrinks below what is used on it ends the scheduler")
def a_node_that_shrinks() -> None:
    script = Script(node("n1", cpu=4), pod("old", node="n1", cpu=4))
    script.observe(node("n1", cpu=1), pod("p"))
    assert (script.binds, script.reasons) == ([], {"p": "Unschedulable"})
    script.observe(pod("nothing", cpu=None))
    assert script.bound_names == ["nothing"]
    script.remove(pod("old", node="n1", cpu=4))
    assert script.bound_names == ["p"]


@report("V#1492", "a node stays out of use after its kubelet has restarted")
def not_ready_for_a_second() -> None:
    away = (Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule"),)
    script = Script(node("n1", taints=away), group("g", 2), *(pod(f"g-{number}", group="g") for number in range(2)))
    assert script.binds == []
    script.observe(node("n1"), after_s=1)
    assert len(script.binds) == 2


@report("KB#455", "cordoned nodes are used, or counted as room")
def cordoned_nodes() -> None:
    halves = [node(f"n{number}", cpu=1, unschedulable=number % 2 == 0) for number in range(10)]
    script = Script(*halves, group("g", 5, min_resources={"cpu": 6}), *(pod(f"g-{n}", group="g") for n in range(5)))
    assert script.binds == []
    script.observe(group("g", 5, min_resources={"cpu": 5}, version="101"))
    assert set(script.where.values()) == {f"n{number}" for number in range(1, 10, 2)}


@report("V#3840", "a verdict that is kept for a role is wrong for its second member")
def a_verdict_per_role() -> None:
    pods = [pod(f"g-{number}", group="g", cpu="100m", host_port=80) for number in range(10)]
    script = Script(*(node(f"n{number}", cpu=8) for number in range(5)), group("g", 5), *pods)
    assert len(script.binds) == len(set(script.where.values())) == 5


@report("V#2282", "the next gang is placed while the kubelet still counts the last one: OutOfcpu", stage=Stage.OWN)
async def one_after_the_other() -> None:
    async with running_cluster(nodes(1, cpu="4"), services=("scheduler",)) as cluster:
        await cluster.create(*gang("first", 4, run_s=0.5, restartPolicy="Never"))
        await cluster.create(*gang("second", 8, min_member=4, run_s=0.5, restartPolicy="Never"))
        await cluster.until(lambda: cluster.in_phase("second", "Succeeded") == 8, "all have succeeded")
        assert cluster.in_phase("first", "Succeeded") == 4

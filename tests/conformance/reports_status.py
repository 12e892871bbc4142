"""Bugs reported of others: what the status of a group says, and how often it is written."""

from collections.abc import AsyncIterator
from typing import Any

from controller.core.index import Index
from controller.core.status import assess
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.kube.wire.resources import POD_GROUPS, PODS
from tests.conformance.rows import Stage, report
from tests.conformance.status import Play, shown
from tests.support.builders import EPOCH, group, job_pod, node, pod
from tests.support.cluster import NAMESPACE, Cluster
from tests.support.manifests import pod_group
from tests.support.script import Script

LATER_S = EPOCH.timestamp() + 1000.0


def phase(podgroup: PodGroup, *pods: Pod) -> str:
    """Phase and counts that the controller makes of this, long after."""
    index = Index(["gangline"])
    for one in pods:
        index.observe_pod(one, LATER_S)
    return shown(assess(podgroup, index.members(podgroup.metadata.key), LATER_S).status)


@report("V#5871", "a group is called completed while a serial Job still has a pod to run")
def a_serial_job() -> None:
    first = job_pod("first", "j", group="g", node="n1", phase="Succeeded", finished_s=50)
    assert phase(group("g", 1), first, job_pod("second", "j", group="g", created_s=51)) == "Running 0/1/0"
    assert phase(group("g", 1), first) == "Finished 0/1/0"


@report("KB#846", "a group whose pods all run is called Pending")
def running_is_running() -> None:
    running = [pod(f"g-{number}", group="g", node="n1", phase="Running") for number in range(6)]
    assert phase(group("g", 6), *running) == "Running 6/0/0"


@report("V#2171", "a minimum of 0 is confused with none")
def a_minimum_of_zero() -> None:
    script = Script(node("n1", cpu=1), group("g", 0), *(pod(f"g-{number}", group="g") for number in range(2)))
    assert len(script.binds) == 1
    assert phase(group("g", 0)) == "Pending 0/0/0", "nothing has finished where nothing ran"


@report("V#4195", "a finished group is Pending again once its pods are collected", stage=Stage.CONTROLLER)
async def collected(cluster: Cluster) -> AsyncIterator[None]:
    play = Play(cluster, "v4195")
    await play.create(3, "Running")
    await play.set_pods("SSS")
    yield
    await play.until_shown("Finished 0/3/0")
    await play.set_pods("SS")
    await play.until_shown("Finished 0/2/0")
    await play.set_pods("")
    await play.until_shown("Finished 0/0/0")


@report("V#2208", "a group whose pods have all gone reserves its share again")
def nothing_is_reserved() -> None:
    running = [pod(f"g-{number}", group="g", node="n1", phase="Running") for number in range(3)]
    script = Script(node("n1", cpu=3), group("g", 3), *running, *(pod(f"p-{number}") for number in range(3)))
    script.remove(*running)
    assert len(script.binds) == 3


@report("V#5794", "the phase flips while a surplus member takes its time to end", stage=Stage.CONTROLLER)
async def ending_slowly(cluster: Cluster) -> AsyncIterator[None]:
    play = Play(cluster, "v5794")
    await play.create(3)
    await play.set_pods("RRRR")
    yield
    await play.until_shown("Running 4/0/0")
    await cluster.client.delete(PODS, Key(NAMESPACE, "v5794-3"), grace_period_s=30)
    await play.until_shown("Running 3/0/0")
    assert {version["status"]["phase"] for version in await versions(cluster, play.key) if "status" in version} == {
        "Running"
    }


async def versions(cluster: Cluster, key: Key) -> list[dict[str, Any]]:
    """Every version of a group that was stored."""
    lines = await cluster.log()
    return [line["object"] for line in lines if line["resource"] == "podgroups" and line["key"] == str(key)]


@report("V#153", "the status is written again and again though nothing has changed", stage=Stage.CONTROLLER)
async def written_once(cluster: Cluster) -> AsyncIterator[None]:
    play, witness = Play(cluster, "v153"), Play(cluster, "v153-witness")
    await play.create(2)
    await play.set_pods("RR")
    yield
    await play.until_shown("Running 2/0/0")
    before = len(await versions(cluster, play.key))
    for number in range(10):
        await cluster.client.patch(PODS, Key(NAMESPACE, "v153-0"), {"metadata": {"labels": {"n": str(number)}}})
    await witness.create(1)
    await witness.until_shown("Pending 0/0/0")
    assert before <= 2, "created, and one status"
    assert len(await versions(cluster, play.key)) == before


@report("V#3518", "two writers of one group conflict, and one change is lost", stage=Stage.CONTROLLER)
async def two_writers(cluster: Cluster) -> AsyncIterator[None]:
    play = Play(cluster, "v3518")
    await play.create(1)
    yield
    for number in range(1, 9):
        await cluster.client.patch(POD_GROUPS, play.key, {"metadata": {"labels": {f"label-{number}": "kept"}}})
        await play.set_pods("R" * number)
    await play.until_shown("Running 8/0/0")
    assert len(play.group.metadata.labels or {}) == 8


@report("SP#130", "entries of minResources are dropped by the schema", stage=Stage.SHARED)
async def kept_entries(cluster: Cluster) -> None:
    asked = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": 2, "example.com/other-device": "1"}
    await cluster.create(pod_group("sp130", 1, minResources=asked))
    kept = await cluster.client.get(POD_GROUPS, Key(NAMESPACE, "sp130"), dict[str, Any])
    assert kept["spec"]["minResources"] == asked


@report("SP#148", "the status is pruned, so nobody ever sees one", stage=Stage.SHARED)
async def a_status_is_stored(cluster: Cluster) -> None:
    await cluster.create(pod_group("sp148", 2))
    await cluster.until(lambda: cluster.phase("sp148") == "Pending", "there is a status")
    kept = await cluster.client.get(POD_GROUPS, Key(NAMESPACE, "sp148"), dict[str, Any])
    assert {"phase", "conditions", "observedGeneration"} <= kept["status"].keys()

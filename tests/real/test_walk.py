"""The first walk of a user on a real control plane: through kubectl and our manifests, with the rights that they give."""

import itertools
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from gangline.sandbox.kubelets.podlife import START_DELAY_ANNOTATION
from tests.support.cluster import Cluster, running_cluster
from tests.support.installed import installed
from tests.support.kubectl import Kubectl, KubectlError
from tests.support.kustomize import MANIFESTS
from tests.support.manifests import deployment, gang, job, nodes, pod_group, replica_set
from tests.support.real_cluster import RealCluster
from tests.support.services import eventually

POD: Final[dict[str, Any]] = {
    "requests": {"cpu": "3", "memory": "500Mi"},
    "annotations": {START_DELAY_ANNOTATION: "2"},  # long enough for a group to be seen as it is scheduled
}
ROOM_FOR_3: Final[dict[str, str | int]] = {"cpu": "9", "memory": "1500Mi"}
COLUMNS: Final = ["NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]


@asynccontextmanager
async def walking(real: RealCluster, directory: Path, *node_groups: Any, **more: Any) -> AsyncIterator[Any]:
    """A cluster with Gangline installed, and kubectl."""
    async with (
        running_cluster(*node_groups, services=()) as cluster,
        installed(real, cluster, directory, **more),
    ):
        yield cluster, Kubectl(real, directory)


def phases(table: list[str]) -> list[str]:
    """What `kubectl get pg -w` has shown: Pending at first, and again only where it lasted; repeats left out."""
    if not table:
        return []
    header, *rows = table
    assert header.split() == COLUMNS
    at = header.index("PHASE")
    shown = [phase for phase in (re.split(r"\s", row[at:], maxsplit=1)[0] for row in rows) if phase]
    later = itertools.groupby(phase for phase in shown if phase != "Pending")
    return [*shown[:1], *(phase for phase, _ in later)]


async def test_three_of_six_start_and_with_four_wanted_nobody_does(real: RealCluster, tmp_path: Path) -> None:
    async with (
        walking(real, tmp_path, nodes(1, room=ROOM_FOR_3)) as (cluster, kubectl),
        kubectl.following("get pg -w") as shown,
    ):
        await kubectl.apply(pod_group("team", 3))
        await eventually(lambda: _ends_with(shown, "Pending"), "kubectl looks on")
        await kubectl.apply(replica_set("team", 6, "team", **POD))
        await cluster.until(lambda: cluster.running("team") == 3, "three run")
        await cluster.until(lambda: cluster.phase("team") == "Running", "the group says so")
        survivors = {pod.metadata.uid for pod in cluster.of("team") if pod.spec.node_name}

        await kubectl.run(["patch", "pg", "team", "--type=merge", '-p={"spec":{"minMember":4}}'])
        await cluster.until(lambda: cluster.phase("team") == "Scheduling", "the group is one short")
        await cluster.until(lambda: all("lacks 1" in said for said in cluster.messages("team")), "the pods too")
        assert {pod.metadata.uid for pod in cluster.of("team") if pod.status.phase == "Running"} == survivors

        await kubectl("delete rs team")
        await kubectl.apply(replica_set("team", 6, "team", **POD))
        await cluster.until(lambda: cluster.reasons("team") == ["Unschedulable"] * 6, "all six wait")
        assert cluster.bound("team") == 0
        assert all("3 of 4 members fit" in said for said in cluster.messages("team"))
        await eventually(lambda: _all_say_why(kubectl), "kubectl describe shows an event for each")

        await cluster.add_nodes(nodes(1, "more", room=ROOM_FOR_3))
        await cluster.until(lambda: cluster.running("team") == 6, "all six run")
        await cluster.until(lambda: cluster.phase("team") == "Running", "the group says so")
        await eventually(lambda: _ends_with(shown, "Running"), "kubectl shows it")
    assert phases(shown) == ["Pending", "Scheduling", "Running", "Scheduling", "Running"]


async def _all_say_why(kubectl: Kubectl) -> bool:
    described = await kubectl("describe pod --show-events -l scheduling.x-k8s.io/pod-group=team")
    return described.count("0/1 nodes are available: 1 Insufficient cpu") == 6


async def _ends_with(shown: list[str], phase: str) -> bool:
    return phases(shown)[-1:] == [phase]


async def test_a_job_finishes_and_a_deployment_grows(real: RealCluster, tmp_path: Path) -> None:
    async with walking(real, tmp_path, nodes(2, room=ROOM_FOR_3)) as (cluster, kubectl):
        async with kubectl.following("get pg -w") as shown:
            await kubectl.apply(pod_group("sums", 3))
            await eventually(lambda: _ends_with(shown, "Pending"), "kubectl looks on")
            await kubectl.apply(job("sums", "sums", parallelism=3, completions=7, **POD, run_s=1))
            await kubectl("wait job/sums --for=condition=Complete --timeout=100s")
            await cluster.until(lambda: cluster.phase("sums") == "Finished", "the group says so")
            await eventually(lambda: _ends_with(shown, "Finished"), "kubectl shows it")
        assert phases(shown) == ["Pending", "Scheduling", "Running", "Finished"]
        assert cluster.group("sums").status.succeeded == 7

        await kubectl.apply(pod_group("web", 2), deployment("web", 2, "web", **POD))
        await kubectl("rollout status deployment/web --timeout=100s")
        await kubectl("scale deployment/web --replicas=5")
        await kubectl("rollout status deployment/web --timeout=100s")
        await cluster.until(lambda: cluster.group("web").status.running == 5, "the group counts five")
        await kubectl("scale deployment/web --replicas=8")
        await cluster.until(lambda: cluster.reasons("web") == ["Unschedulable"] * 2, "two more have no room")
        await cluster.until(lambda: cluster.running("web") == 6, "the sixth has")
        assert cluster.phase("web") == "Running"


async def test_every_sample_ends_as_it_says(real: RealCluster, tmp_path: Path) -> None:
    async with walking(real, tmp_path, nodes(3, cpu="8", memory="32Gi")) as (cluster, kubectl):
        await kubectl("apply -k manifests/samples")
        for path in sorted((MANIFESTS / "samples").glob("*.yaml")):
            for claim in re.findall(r"^# ends: (.+)$", path.read_text(), re.MULTILINE):
                await _holds(cluster, kubectl, claim)


async def _holds(cluster: Cluster, kubectl: Kubectl, claim: str) -> None:
    """Wait until `pg/A Phase, count N`, `job/A Condition` or `pods of app=A Running, N of N` holds."""
    what, state, *figures = re.sub(r"^pods of app=", "app/", claim).replace(",", "").split()
    kind, name = what.split("/")
    match kind:
        case "pg":
            wanted = dict(zip(figures[::2], map(int, figures[1::2]), strict=True))
            await cluster.until(_group_is(cluster, name, state, wanted), claim)
        case "app":
            await cluster.until(lambda: cluster.running(name) == len(cluster.of(name)) == int(figures[0]), claim)
        case _:
            await kubectl(f"wait {what} --for=condition={state} --timeout=100s")


def _group_is(cluster: Cluster, name: str, phase: str, figures: dict[str, int]) -> Callable[[], bool]:
    def holds() -> bool:
        status = cluster.group(name).status
        return status.phase == phase and {field: getattr(status, field) for field in figures} == figures

    return holds


BUDGETS: Final[dict[str, dict[str, Any]]] = {
    "integer": {"minAvailable": 3},
    "percentage": {"minAvailable": "50%"},
    "none-needed": {"minAvailable": 0},
    "more-than-there-are": {"minAvailable": 5},
    "unavailable": {"maxUnavailable": 1},
    "unavailable-percentage": {"maxUnavailable": "10%"},
    "all-may-go": {"maxUnavailable": "100%"},
    "neither": {},
    "evict-healthy-alone": {"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "IfHealthyBudget"},
    "evict-unhealthy": {"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
    "by-expression": {"minAvailable": 1, "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
    "everything": {"minAvailable": 1, "selector": {}},
    "nothing": {"minAvailable": 1, "selector": None},
}
"""Every legal form of a PodDisruptionBudget, by what it says."""


def budget(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A PodDisruptionBudget for the pods with the label `app` of its name."""
    selector = {"selector": {"matchLabels": {"app": "web"}}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": selector | spec,
    }


@pytest.mark.parametrize("component", [None, "pdb-gangs"], ids=["as-installed", "pdb-gangs"])
async def test_budgets_of_any_form_stop_no_gang(component: str | None, real: RealCluster, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    manifests = os.path.relpath(MANIFESTS, overlay)  # noqa: ASYNC240 - a name, no I/O
    components = [f"components: [{manifests}/components/{component}]"] if component else []
    (overlay / "kustomization.yaml").write_text("\n".join([f"resources: [{manifests}/base]", *components]))
    async with walking(real, tmp_path, nodes(2, cpu="16"), overlay=overlay) as (cluster, kubectl):
        await kubectl.apply(pod_group("web", 3), replica_set("web", 4, "web"))
        await cluster.until(lambda: cluster.running("web") == 4, "a gang runs")
        for name, spec in BUDGETS.items():
            await kubectl.apply(budget(name, spec))
        await kubectl.apply(*gang("late", 3), replica_set("later", 2, shadow=2))
        await cluster.until(lambda: cluster.running("late") == 3 and cluster.running("later") == 2, "others start")
        await kubectl("scale rs/web --replicas=6")
        await cluster.until(lambda: cluster.running("web") == 6, "the gang grows")
        await cluster.until(lambda: cluster.group("web").status.running == 6, "and is counted")


async def test_what_a_budget_protects_is_repaired_when_it_may_go(real: RealCluster, tmp_path: Path) -> None:
    async with walking(real, tmp_path, nodes(1, cpu="4")) as (cluster, kubectl):
        await kubectl.apply(pod_group("web", 4), replica_set("web", 4, "web"), budget("web", {"minAvailable": 4}))
        await cluster.until(lambda: cluster.phase("web") == "Running", "a gang runs")
        victim = cluster.of("web")[0].metadata
        with pytest.raises(KubectlError, match="violate the pod's disruption budget"):
            await _evict(kubectl, victim.name)

        await kubectl.run(["patch", "pdb", "web", "--type=merge", '-p={"spec":{"minAvailable":3}}'])
        await eventually(lambda: _may_go(kubectl), "the budget lets one go")
        await _evict(kubectl, victim.name)

        await cluster.until(lambda: victim.uid not in {pod.metadata.uid for pod in cluster.of("web")}, "it is gone")
        await cluster.until(lambda: cluster.running("web") == 4, "it is replaced")
        await cluster.until(lambda: cluster.phase("web") == "Running", "the group says so")


async def _evict(kubectl: Kubectl, name: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    await kubectl(f"create --raw /api/v1/namespaces/default/pods/{name}/eviction -f -", body)


async def _may_go(kubectl: Kubectl) -> bool:
    found = await kubectl.json("get pdb web")
    allowed: int = found["status"].get("disruptionsAllowed", 0)
    return allowed > 0

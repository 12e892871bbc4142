"""Our CRD and both services on a real control plane, as a user sees them through kubectl."""

import asyncio
from pathlib import Path

from gangline.contract.names import GROUP, PLURAL
from tests.support.backends import without_services
from tests.support.cluster import running_cluster
from tests.support.manifests import gang, nodes, pod_group, replica_set
from tests.support.real_cluster import RealCluster

CPU_3 = {"cpu": 3}


async def kubectl(real: RealCluster, directory: Path, *arguments: str) -> str:
    """Run kubectl as the admin and return what it prints."""
    config = real.kubeconfig(directory / "kubectl.kubeconfig")
    process = await asyncio.create_subprocess_exec(
        real.kubectl,
        f"--kubeconfig={config}",
        f"--cache-dir={directory / 'cache'}",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    text = output.decode()
    assert process.returncode == 0, text
    return text


async def test_kubectl_explains_our_fields(real: RealCluster, tmp_path: Path) -> None:
    async with without_services():
        told = await kubectl(real, tmp_path, "explain", f"{PLURAL}.{GROUP}.spec")
    assert "VERSION:    v1alpha1" in told
    for field in ("minMember", "minResources", "scheduleTimeoutSeconds", "priorityClassName"):
        assert field in told
    assert "<no description>" not in told


async def test_a_gang_of_three_starts_and_its_group_says_so(real: RealCluster, tmp_path: Path) -> None:
    async with running_cluster(nodes(1, cpu="9")) as cluster:
        await cluster.create(*gang("web", 3, requests=CPU_3))
        await cluster.until(lambda: cluster.running("web") == 3, "three run")
        await cluster.until(lambda: cluster.phase("web") == "Running", "the group says so")
        status = cluster.group("web").status
        assert (status.scheduled, status.running) == (3, 3)
        table = (await kubectl(real, tmp_path, "get", "pg")).splitlines()
        assert table[0].split() == ["NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]
        assert table[1].split()[:5] == ["web", "Running", "3", "3", "3"]


async def test_four_members_with_room_for_three_wait(real: RealCluster, tmp_path: Path) -> None:
    async with running_cluster(nodes(1, cpu="9")) as cluster:
        await cluster.create(pod_group("web", 4), replica_set("web", 6, "web", requests=CPU_3))
        await cluster.until(lambda: cluster.reasons("web") == ["Unschedulable"] * 6, "all say why they wait")
        assert cluster.bound("web") == 0
        assert "3 of 4 members fit" in cluster.messages("web")[0]
        name = cluster.of("web")[0].metadata.name
        await cluster.until(lambda: "FailedScheduling" in cluster.said_of("Pod", name), "an event says so too")
        described = await kubectl(real, tmp_path, "describe", "pod", name)
        assert "FailedScheduling" in described

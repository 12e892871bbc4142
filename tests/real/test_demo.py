"""`gangline demo` on a real control plane: the same steps, each verified, and nothing left behind."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from gangline.contract.meta import Key
from gangline.contract.names import GROUP, PLURAL
from gangline.kube.client import Client, connect
from gangline.kube.wire.errors import NotFound
from gangline.kube.wire.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PODS,
    REPLICA_SETS,
    Resource,
)
from gangline.sandbox.objects.meta import Thing
from tests.support.backends import without_services
from tests.support.manifests import nodes
from tests.support.real_cluster import RealCluster
from tests.support.services import eventually
from tests.support.wiping import wipe

COMMAND = [sys.executable, "-c", "from gangline.cli.demo import demo; demo()"]
DEFINITION = f"{PLURAL}.{GROUP}"
DEADLINE_S = 500.0


async def demo(kubeconfig: Path) -> tuple[int | None, str]:
    """Run the command; return its exit code and what it prints."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        f"--kubeconfig={kubeconfig}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(DEADLINE_S):
        output, _ = await process.communicate()
    return process.returncode, output.decode()


async def left(client: Client, *resources: Resource) -> list[str]:
    """The names of everything of these kinds."""
    return [each.metadata.name for resource in resources for each in (await client.list(resource, Thing))[0]]


async def test_every_step_goes_as_expected_and_nothing_is_left(real: RealCluster, tmp_path: Path) -> None:
    kubeconfig = real.kubeconfig(tmp_path / "kubeconfig")
    async with connect(str(kubeconfig), user_agent="test") as client:
        with suppress(NotFound):
            await client.delete(CUSTOM_RESOURCE_DEFINITIONS, Key("", DEFINITION))
        try:
            code, said = await demo(kubeconfig)
            assert code == 0, said
            assert "✔ all 9 steps went as expected" in said
            assert await left(client, NODES, PODS, REPLICA_SETS, DEPLOYMENTS, JOBS) == []
            await eventually(lambda: _has_no_definition(client), "the CRD is gone too")
        finally:
            await wipe(real)


async def _has_no_definition(client: Client) -> bool:
    return await left(client, CUSTOM_RESOURCE_DEFINITIONS) == []


async def test_a_cluster_with_nodes_is_refused_and_left_alone(real: RealCluster, tmp_path: Path) -> None:
    async with without_services(nodes(2, cpu="4")) as client:
        code, said = await demo(real.kubeconfig(tmp_path / "kubeconfig"))
        assert code == 1
        assert "this cluster has 2 nodes" in said
        assert sorted(await left(client, NODES)) == ["node-0", "node-1"]

"""Gangline as its manifests install it on a real control plane.

Images cannot run there. Each Deployment's pod stays Pending, and a process with the same arguments and with the token of
the same ServiceAccount stands in for it.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.cluster import Cluster
from tests.support.kubectl import Kubectl
from tests.support.kustomize import MANIFESTS
from tests.support.real_cluster import RealCluster
from tests.support.services import Process

NAMESPACE: Final = "gangline-system"
SERVICES: Final = ("scheduler", "controller")
OVERLAY: Final = MANIFESTS / "overlays/default"
OF_THE_PROCESS: Final = ("http_address", "lease", "kubeconfig")


@asynccontextmanager
async def installed(
    real: RealCluster, cluster: Cluster, directory: Path, overlay: Path = OVERLAY
) -> AsyncIterator[dict[str, Process]]:
    """Apply the manifests and run both services; at the end they are judged, and what no wiping takes is deleted."""
    kubectl = Kubectl(real, directory)
    await kubectl(f"apply -k {overlay}")
    try:
        async with AsyncExitStack() as stack:
            processes = {
                name: await stack.enter_async_context(_process(real, cluster, kubectl, directory, name))
                for name in SERVICES
            }
            for name, process in processes.items():
                await process.service.until_ready()
                cluster.services[name] = process.service
            yield processes
            await cluster.judged()
    finally:
        for name in SERVICES:
            cluster.services.pop(name, None)
        await kubectl("delete clusterroles,clusterrolebindings -l app.kubernetes.io/part-of=gangline")


@asynccontextmanager
async def _process(
    real: RealCluster, cluster: Cluster, kubectl: Kubectl, directory: Path, name: str
) -> AsyncIterator[Process]:
    deployment = await kubectl.json(f"-n {NAMESPACE} get deployment gangline-{name}")
    template = deployment["spec"]["template"]["spec"]
    token = await real.service_account_token(NAMESPACE, template["serviceAccountName"])
    kubeconfig = real.kubeconfig(directory / f"{name}.kubeconfig", user=name, token=token)
    given = _settings(template["containers"][0]["args"], name)
    lease = f"{NAMESPACE}/gangline-{name}"
    async with cluster.process(name, kubeconfig=kubeconfig, lease=lease, **given) as process:
        yield process


def _settings(arguments: list[str], name: str) -> dict[str, Any]:
    """Read the options of a container, but for those that say where it runs."""
    command, *options = arguments
    assert command == name
    pairs = (option.removeprefix("--").replace("-", "_").partition("=") for option in options)
    return {key: value for key, _, value in pairs if key not in OF_THE_PROCESS}

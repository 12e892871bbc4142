"""Where end-to-end tests run: on the sandbox, or (`pytest --backend=real`) on a real control plane.

Both offer what `Serving` says, with kubelets and workload controllers at work, PodGroups served, and nothing else in
the cluster. What only the sandbox can do (faults, its version log) belongs in tests marked `sandbox`.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

import aiohttp
import msgspec

from gangline.contract.crd import crd
from gangline.contract.meta import Key
from gangline.contract.names import API_VERSION
from gangline.contract.node import Node
from gangline.kube.client import Client, connect
from gangline.kube.wire.errors import AlreadyExists
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, POD_GROUPS, PODS
from gangline.sandbox.cluster import Sandbox
from gangline.sandbox.kubelets.nodes import NodeGroup
from gangline.sandbox.kubelets.run import register_nodes, run_kubelets
from gangline.sandbox.reconciling.world import Pace
from tests.controlplane.build import binaries
from tests.controlplane.build import chosen as chosen_release
from tests.support import usage
from tests.support.controlplane import ControlPlane
from tests.support.given_cluster import GivenCluster, given
from tests.support.real_cluster import RealCluster
from tests.support.recording import Line, Recording
from tests.support.services import eventually
from tests.support.wiping import wipe

USER_AGENT: Final = "test-backend"
HEARTBEAT_S: Final = 10.0
NOT_READY_TAINT: Final = "node.kubernetes.io/not-ready"
RECORDED: Final = (NODES, POD_GROUPS, PODS)


class Serving(Protocol):
    """A cluster that a test has for itself."""

    @property
    def url(self) -> str:
        """Address of its API server."""
        ...

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of somebody who may do everything."""
        ...

    async def log(self, after: int = 0) -> Sequence[Line]:
        """Changes after a revision up to now, at least of nodes, PodGroups and pods, in the order in which they were seen."""
        ...


class Backend(Protocol):
    """Gives each test a cluster."""

    async def prepare(self) -> None:
        """Build or check what every test needs, before the first. Raises BuildError, ClusterRefusedError."""
        ...

    def serve(self, kubeconfig: Path, pace: Pace) -> AbstractAsyncContextManager[Serving]:
        """Run a cluster without nodes, with PodGroups; `pace` is for backends whose controllers can be hurried."""
        ...

    async def close(self, *, failed: bool) -> None:
        """End what outlives a test; keep its logs if a test has failed."""
        ...


class ServedSandbox:
    """The sandbox, seen as `Serving`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.url = sandbox.url
        self.kubeconfig = sandbox.kubeconfig

    async def log(self, after: int = 0) -> Sequence[Line]:
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/sandbox/log?after={after}") as response:
            return [msgspec.json.decode(line) for line in (await response.read()).splitlines()]


class SandboxBackend:
    """A sandbox for each test, in the test's process."""

    async def prepare(self) -> None:
        pass

    @asynccontextmanager
    async def serve(self, kubeconfig: Path, pace: Pace) -> AsyncIterator[Serving]:
        async with (
            Sandbox(groups=(), pace=pace, kubeconfig=kubeconfig) as sandbox,
            connect(str(kubeconfig), user_agent=USER_AGENT) as client,
        ):
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, "", crd())
            usage.answers[usage.SANDBOX] += 1
            yield ServedSandbox(sandbox)

    async def close(self, *, failed: bool) -> None:
        pass


class ServedRealCluster:
    """A real cluster, seen as `Serving`; revisions number the changes as they were seen."""

    def __init__(self, cluster: RealCluster, kubeconfig: Path, client: Client) -> None:
        self.url = cluster.url
        self.kubeconfig = kubeconfig
        self.recording = Recording()
        self._client = client

    async def log(self, after: int = 0) -> Sequence[Line]:
        await self.recording.catch_up(self._client)
        return self.recording.lines[after:]


class RealBackend:
    """One real cluster for all tests of a process, wiped after each: one that was given, else one of its own.

    Its own is started for the first test.
    """

    def __init__(self, *, apiserver_options: Sequence[str] = ()) -> None:
        self._apiserver_options = apiserver_options
        self._cluster: RealCluster | None = None
        self._stack = AsyncExitStack()

    async def prepare(self) -> None:
        if given():
            await self.cluster()
        else:
            binaries(chosen_release())

    async def cluster(self) -> RealCluster:
        """The cluster, which is entered, or built and started, if it is not there yet."""
        if self._cluster is None:
            self._cluster = await self._stack.enter_async_context(self._opened())
        if isinstance(self._cluster, ControlPlane):
            self._cluster.check()
        return self._cluster

    async def plane(self) -> ControlPlane:
        """The cluster, which must be one of our own."""
        cluster = await self.cluster()
        assert isinstance(cluster, ControlPlane), "the servers of a cluster that was given are not ours to touch"
        return cluster

    @asynccontextmanager
    async def serve(self, kubeconfig: Path, pace: Pace) -> AsyncIterator[Serving]:
        cluster = await self.cluster()
        async with connect(str(cluster.kubeconfig(kubeconfig)), user_agent=USER_AGENT) as client:
            serving = ServedRealCluster(cluster, kubeconfig, client)
            await ensure_pod_groups(client)
            await eventually(lambda: _are_explained(cluster), "kubectl can explain PodGroups")
            tasks = [asyncio.create_task(serving.recording.follow(client, each), name="record") for each in RECORDED]
            tasks += [
                asyncio.create_task(run_kubelets(client, every_node=True, heartbeat_s=HEARTBEAT_S), name="kubelets")
            ]
            try:
                yield serving
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await wipe(cluster)

    async def close(self, *, failed: bool) -> None:
        if failed and isinstance(self._cluster, ControlPlane):
            self._cluster.keep_directory = True
            print(f"\nThe logs of the control plane are in {self._cluster.directory}", file=sys.stderr)  # noqa: T201
        await self._stack.aclose()

    def _opened(self) -> AbstractAsyncContextManager[RealCluster]:
        if kubeconfig := given():
            return GivenCluster(kubeconfig)
        return ControlPlane(binaries(chosen_release()), apiserver_options=self._apiserver_options)


async def _are_explained(cluster: RealCluster) -> bool:
    """Tell whether the server describes our CRD, which it does some time after it has begun to serve it."""
    _, body = await cluster.request("GET", "/openapi/v3")
    return f"apis/{API_VERSION}".encode() in body


async def ensure_pod_groups(client: Client) -> None:
    """Create our CRD unless it is there, and wait until it is served."""
    definition = crd()
    try:
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, "", definition)
    except AlreadyExists:
        return
    key = Key("", definition["metadata"]["name"])

    async def is_established() -> bool:
        seen = await client.get(CUSTOM_RESOURCE_DEFINITIONS, key, dict[str, Any])
        conditions = seen.get("status", {}).get("conditions") or []  # null at first
        return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)

    await eventually(is_established, "PodGroups are served")


BACKENDS: Final[dict[str, Callable[[], Backend]]] = {"sandbox": SandboxBackend, "real": RealBackend}
_chosen: list[Backend] = [SandboxBackend()]


def choose(name: str) -> None:
    """Let all tests of this process run on this backend."""
    _chosen[:] = [BACKENDS[name]()]


def chosen() -> Backend:
    """The backend of this run."""
    return _chosen[0]


@asynccontextmanager
async def on(backend: Backend) -> AsyncIterator[None]:
    """Let what is inside run on a backend of its own, which ends then."""
    before = chosen()
    _chosen[:] = [backend]
    try:
        yield
    finally:
        _chosen[:] = [before]
        await backend.close(failed=False)


@asynccontextmanager
async def without_services(*groups: NodeGroup) -> AsyncIterator[Client]:
    """A cluster of the chosen backend with these nodes, and none of our services in it."""
    with TemporaryDirectory(prefix="gangline-") as directory:
        async with (
            chosen().serve(Path(directory) / "kubeconfig", Pace()) as serving,
            connect(str(serving.kubeconfig), user_agent="test") as client,
        ):
            await bring_up(client, groups)
            yield client


async def bring_up(client: Client, groups: Sequence[NodeGroup]) -> None:
    """Register nodes, and wait until no controller calls one of them not ready, as a real one does at first."""
    await register_nodes(client, groups)
    names = {name for group in groups for name in group.node_names}

    async def are_ready() -> bool:
        nodes, _ = await client.list(NODES, Node)
        waiting = [node for node in nodes if any(taint.key == NOT_READY_TAINT for taint in node.spec.taints or ())]
        return names.isdisjoint(node.metadata.name for node in waiting)

    await eventually(are_ready, "the nodes are ready")

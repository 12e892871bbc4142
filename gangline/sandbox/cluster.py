"""The whole sandbox in one process: API server, kubelets and controllers, which meet over HTTP like any client."""

import asyncio
import tempfile
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from gangline.kube.client import Client, connect
from gangline.sandbox.apiserver.server import ApiServer
from gangline.sandbox.controllers.run import run_controllers
from gangline.sandbox.kubelets.nodes import NodeGroup, uniform
from gangline.sandbox.kubelets.run import heartbeat_for, register_nodes, run_kubelets
from gangline.sandbox.reconciling.world import Pace

USER_AGENT: Final = "gangline-sandbox"


class Sandbox:
    """A small Kubernetes; an async context manager.

    `groups` are its nodes; what no node can be is refused where they are made. `bare` starts the API server alone: no kubelets, no
    controllers, no nodes. The kubeconfig is written to `kubeconfig`, else to a temporary directory that goes with the
    sandbox. If a part of the sandbox dies, the task that entered it is cancelled and leaving it raises the error.
    Nodes renew leases every `heartbeat_s` seconds, and so lose touch when they stop; None: as often as suits their number.
    """

    def __init__(
        self,
        *,
        groups: Sequence[NodeGroup] = uniform(3, cpu="8", memory="32Gi"),
        port: int = 0,
        kubeconfig: Path | None = None,
        bare: bool = False,
        pace: Pace | None = None,
        heartbeat_s: float | None = None,
    ) -> None:
        self._groups = groups
        self._bare = bare
        self._pace = pace or Pace()
        self._heartbeat_s = heartbeat_s
        self._server = ApiServer(port=port)
        self._stack = AsyncExitStack()
        self._kubeconfig = kubeconfig

    @property
    def url(self) -> str:
        """Address of the API server."""
        return self._server.url

    @property
    def kubeconfig(self) -> Path:
        """Where the kubeconfig is."""
        assert self._kubeconfig is not None, "the sandbox has not been entered"
        return self._kubeconfig

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._server)
            if self._kubeconfig is None:
                directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="gangline-"))
                self._kubeconfig = Path(directory) / "kubeconfig"
            self._server.kubeconfig(self._kubeconfig)
            if not self._bare:
                client = await stack.enter_async_context(connect(str(self._kubeconfig), user_agent=USER_AGENT))
                await self._start(client, stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    async def _start(self, client: Client, stack: AsyncExitStack) -> None:
        await register_nodes(client, self._groups)
        background = await stack.enter_async_context(_Background())
        heartbeat_s = self._heartbeat_s or heartbeat_for(sum(len(group.node_names) for group in self._groups))
        background.start(
            "kubelets", run_kubelets(client, every_node=True, heartbeat_s=heartbeat_s, speed=self._pace.speed)
        )
        background.start("controllers", run_controllers(client, pace=self._pace))


class _Background:
    """A TaskGroup that ends with its body, and does not wrap what the body raises."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run until the body ends."""
        self._tasks.append(self._group.create_task(coroutine, name=name))

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            await self._group.__aexit__(kind, error, traceback)
        else:
            await self._group.__aexit__(None, None, None)

"""`gangline sandbox`: a small Kubernetes in this process, until Ctrl-C."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import click

from gangline.cli.extras import sandbox_extra
from gangline.service import lifecycle, logging
from gangline.service.lifecycle import StartError

GRACE_S: Final = 5.0


def serve(
    *, nodes: int, cpu: str, memory: str, cluster: Path | None, port: int, kubeconfig: Path | None, bare: bool
) -> int:
    """Run the sandbox until a signal; return the exit code. Option values as `gangline sandbox --help` has them."""
    with sandbox_extra():
        from gangline.sandbox.cluster import Sandbox  # noqa: PLC0415 - heavy, and needs an extra
        from gangline.sandbox.nodes import ClusterFileError  # noqa: PLC0415

    logging.configure("console", "warning")

    async def main(stop: asyncio.Event) -> None:
        sandbox = Sandbox(
            nodes=nodes, cpu=cpu, memory=memory, cluster_file=cluster, port=port, kubeconfig=kubeconfig, bare=bare
        )
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(sandbox)
            except (ClusterFileError, OSError) as error:
                raise StartError(str(error)) from error
            click.echo(f"API server  {sandbox.url}")
            click.echo(f"kubeconfig  {sandbox.kubeconfig}")
            click.echo(f"try         kubectl --kubeconfig {sandbox.kubeconfig} get nodes,pods -A")
            await stop.wait()

    return lifecycle.run(main, grace_s=GRACE_S)

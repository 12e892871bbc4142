"""`gangline sandbox`: a small Kubernetes in this process, until Ctrl-C."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from gangline.base.start_error import StartError
from gangline.cli.extras import sandbox_extra
from gangline.service import lifecycle, logging

GRACE_S: Final = 5.0


@click.command()
@click.option("--nodes", default=3, show_default=True, metavar="N", help="How many equal nodes.")
@click.option("--cpu", default="8", show_default=True, metavar="QUANTITY", help="CPU of each node.")
@click.option("--memory", default="32Gi", show_default=True, metavar="QUANTITY", help="Memory of each node.")
@click.option(
    "--cluster",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Nodes from a cluster file instead: groups with labels, taints and allocatable.",
)
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    metavar="P",
    help="Port on 127.0.0.1; a free one when left out.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Where to write the kubeconfig; a temporary file when left out.",
)
@click.option("--bare", is_flag=True, help="The API server alone: no nodes, no kubelets, no controllers.")
def sandbox(
    *, nodes: int, cpu: str, memory: str, cluster: Path | None, port: int, kubeconfig: Path | None, bare: bool
) -> None:
    """Run a small Kubernetes in this process, until Ctrl-C.

    It behaves as a real API server does, listens on 127.0.0.1 only, needs no credentials and keeps nothing on disk
    but its kubeconfig. Faults are ordered under /sandbox/ on the same port.
    """
    if cluster:
        _refuse_both("nodes", "cpu", "memory")
    raise SystemExit(
        serve(nodes=nodes, cpu=cpu, memory=memory, cluster=cluster, port=port, kubeconfig=kubeconfig, bare=bare)
    )


def _refuse_both(*names: str) -> None:
    """Refuse options that say what the cluster file says."""
    context = click.get_current_context()
    given = [f"--{name}" for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        raise click.UsageError(f"{', '.join(given)} and --cluster exclude each other: the file describes the nodes")


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

"""`gangline sandbox`: a small Kubernetes in this process, until Ctrl-C."""

import asyncio
import math
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from gangline.base.fatal import StartError
from gangline.cli.extras import sandbox_extra
from gangline.cli.simulated import node_groups, node_options
from gangline.service import lifecycle, logging
from gangline.service.lifecycle import Loops

if TYPE_CHECKING:
    from gangline.cli.live.screen import Screen
    from gangline.sandbox.cluster import Sandbox

GRACE_S: Final = 5.0
FASTEST: Final = 1e6


def _refuse_nan(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("nan is no number")
    return value


def _refuse_unwritable(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and not os.access(value.parent, os.W_OK | os.X_OK):
        raise click.BadParameter(f"{value} cannot be written: is there a directory {value.parent}, and is it yours?")
    return value


@click.command()
@node_options
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    metavar="P",
    help="Port on 127.0.0.1; a free one when left out.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    callback=_refuse_unwritable,
    metavar="PATH",
    help="Where to write the kubeconfig; a temporary file when left out.",
)
@click.option("--bare", is_flag=True, help="The API server alone: no nodes, no kubelets, no controllers.")
@click.option(
    "--speed",
    default=1.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True, max=FASTEST),
    callback=_refuse_nan,
    metavar="N",
    help="How many times faster pods, deadlines, tolerations and schedules are than they say, to try long jobs.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing, and draw nothing.")
def sandbox(  # noqa: PLR0913 - options
    *,
    nodes: int,
    cpu: str,
    memory: str,
    cluster: Path | None,
    port: int,
    kubeconfig: Path | None,
    bare: bool,
    speed: float,
    quiet: bool,
) -> None:
    """Run a small Kubernetes in this process, until Ctrl-C.

    On a terminal it shows nodes, gangs, and what waits and why, as they change. It behaves as a real API server does, listens on 127.0.0.1 only, needs no credentials and keeps nothing on disk
    but its kubeconfig. Faults are ordered under /sandbox/ on the same port.
    """
    with sandbox_extra():
        from gangline.sandbox.cluster import Sandbox  # noqa: PLC0415 - heavy, and needs an extra
        from gangline.sandbox.reconciling.world import Pace  # noqa: PLC0415

    make = partial(
        Sandbox,
        groups=node_groups(nodes, cpu, memory, cluster),
        port=port,
        kubeconfig=kubeconfig,
        bare=bare,
        pace=Pace(speed=speed),
    )
    raise SystemExit(serve(make, quiet=quiet))


def serve(make: Callable[[], "Sandbox"], *, quiet: bool) -> int:
    """Run a sandbox until a signal, with a live view where there is a terminal; return the exit code."""
    from gangline.cli.live.screen import LastLine, Screen  # noqa: PLC0415 - heavy
    from gangline.cli.terminal import console  # noqa: PLC0415

    screen = console()
    is_live = screen.is_terminal and not quiet
    log = LastLine()
    logging.configure("console", "warning", stream=log if is_live else None)

    async def main(stop: asyncio.Event) -> None:
        sandbox = make()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(sandbox)
            except OSError as error:
                raise StartError(str(error)) from error
            where = (
                f"API server  {sandbox.url}",
                f"kubeconfig  {sandbox.kubeconfig}",
                f"try         kubectl --kubeconfig {sandbox.kubeconfig} get nodes,pods -A",
            )
            if is_live:
                await _draw(sandbox, Screen(screen, head=where, log=log), stop)
                return
            if not quiet:
                click.echo("\n".join(where))
            await stop.wait()

    return lifecycle.run(main, grace_s=GRACE_S)


async def _draw(sandbox: "Sandbox", screen: "Screen", stop: asyncio.Event) -> None:
    """Show the cluster until a signal."""
    from gangline.kube.client import connect  # noqa: PLC0415 - heavy

    async with connect(str(sandbox.kubeconfig), user_agent="gangline-sandbox-screen") as client, Loops(stop) as loops:
        loops.start("screen", screen.run(client))
        await stop.wait()

"""`gangline demo`: watch gangs start together or not at all, on an embedded cluster or a lent control plane."""

import asyncio
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from gangline.cli.extras import sandbox_extra
from gangline.cli.streams import INTERRUPTED
from gangline.service import logging

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH: Final = 200
ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
"""SIGHUP comes when the terminal is closed: the services have sessions of their own and would outlive it."""


@click.command()
@click.option("--keep", is_flag=True, help="Stay up afterwards, to look around.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Walk on this control plane, which must have no nodes; else on a sandbox.",
)
def demo(*, keep: bool, kubeconfig: Path | None) -> None:
    """Walk through what a gang scheduler does, each step verified.

    Starts a sandbox cluster, the scheduler and the controller, and ends them all again. Exits with 1 if a step goes
    otherwise than expected.

    With --kubeconfig it brings simulated nodes and the CRD to a control plane that somebody has started, and takes away
    at the end what it has brought.
    """
    from rich.console import Console  # noqa: PLC0415 - only this command draws

    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH, no_color=True, soft_wrap=True)
    with sandbox_extra():
        code = _run(console, keep=keep, kubeconfig=kubeconfig)
    raise SystemExit(code)


def _run(console: "Console", *, keep: bool, kubeconfig: Path | None) -> int:
    from gangline.cli.walk.run import walk  # noqa: PLC0415 - heavy, and needs an extra

    async def main(directory: Path) -> bool:
        task = asyncio.current_task()
        assert task is not None
        for number in ENDING:
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await walk(console, directory, keep=keep, kubeconfig=kubeconfig)

    with tempfile.TemporaryDirectory(prefix="gangline-demo-") as name, (Path(name) / "sandbox.log").open("w") as log:
        logging.configure("console", "warning", stream=log)
        try:
            return 0 if asyncio.run(main(Path(name))) else 1
        except (KeyboardInterrupt, asyncio.CancelledError):
            console.print("\ninterrupted; everything that was started has been ended")
            return INTERRUPTED

"""The walk from end to end: ground, services, steps, and an end that leaves nothing behind."""

import asyncio
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape

from gangline.cli.walk.ground import Ground, UnfitError, lent, sandboxed
from gangline.cli.walk.guard import Guard
from gangline.cli.walk.screen import Screen
from gangline.cli.walk.services import ServiceDiedError, Services, last_lines
from gangline.cli.walk.stage import SETTLE_S, NotSettledError, Stage
from gangline.cli.walk.steps import NODE_CPU, NODE_MEMORY, STEPS, Step
from gangline.cli.walk.view import View
from gangline.kube.transport import ConfigurationError
from gangline.kube.wire.errors import ApiError

SERVICES: Final = ("scheduler", "controller")
EXPECTED_TROUBLE: Final = (ServiceDiedError, NotSettledError, ApiError, UnfitError, ConfigurationError)


async def walk(
    console: Console,
    directory: Path,
    *,
    keep: bool,
    kubeconfig: Path | None = None,
    steps: Sequence[Step] = STEPS,
    settle_s: float = SETTLE_S,
) -> bool:
    """Walk all steps and tell whether everything was as expected.

    Without a kubeconfig on a sandbox, whose kubeconfig goes to `directory`, as manifests and logs do. Each wait takes at
    most `settle_s`. With `keep` it stays until SIGINT or SIGTERM.
    """
    ground = sandboxed(directory / "kubeconfig") if kubeconfig is None else lent(kubeconfig)
    try:
        async with ground as found:
            return await _on(found, console, directory, steps, keep=keep, settle_s=settle_s)
    except (BaseExceptionGroup, *EXPECTED_TROUBLE) as errors:
        troubles = list(_leaves(errors))
        if not all(isinstance(trouble, EXPECTED_TROUBLE) for trouble in troubles):
            raise
        for trouble in troubles:
            console.print(f"\n[bold red]✘[/] {escape(str(trouble))}")
        return False


async def _on(
    ground: Ground, console: Console, directory: Path, steps: Sequence[Step], *, keep: bool, settle_s: float
) -> bool:
    began = time.monotonic()
    client = ground.client
    console.print(f"[dim]{escape(ground.title)}: one node, {NODE_CPU} CPU, {NODE_MEMORY}[/]")
    async with Services(SERVICES, kubeconfig=ground.kubeconfig, directory=directory) as services:
        for service in services.running:
            console.print(f"[dim]{service.name}: process {service.process.pid}, {service.url}[/]")
        is_good = await _beside(services, Stage(client, View(client), directory, settle_s=settle_s), console, steps)
        _conclude(console, steps, services, time.monotonic() - began, is_good=is_good)
        if keep:
            await _stay(console, directory, ground.kubeconfig, services)
    return is_good


async def _beside(services: Services, stage: Stage, console: Console, steps: Sequence[Step]) -> bool:
    """Walk while the services live; a service that dies ends the walk at once."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(stage.view.run(), name="view")]
        tasks += [group.create_task(services.watch(each), name=f"watch-{each.name}") for each in services.running]
        is_good = await _steps(stage, Screen(console, stage.view), steps)
        for task in tasks:
            task.cancel()
    return is_good


async def _steps(stage: Stage, screen: Screen, steps: Sequence[Step]) -> bool:
    """Walk until a step goes wrong: the later ones build on the earlier."""
    for number, step in enumerate(steps, start=1):
        began = time.monotonic()
        screen.begin(number, len(steps), step)
        expectations = step.expect(stage.view)
        guard = Guard(stage.view, expectations)
        async with screen.following():
            with guard.watching():
                await step.act(stage)
                seen = await stage.settled(expectations)
        findings = [guard.judge(expectation, last) for expectation, last in zip(expectations, seen, strict=True)]
        screen.report(expectations, findings, time.monotonic() - began)
        if not all(finding.holds for finding in findings):
            return False
    return True


def _conclude(console: Console, steps: Sequence[Step], services: Services, seconds: float, *, is_good: bool) -> None:
    if is_good:
        console.print(f"\n[bold green]✔ all {len(steps)} steps went as expected[/] in {seconds:.0f} s")
        return
    console.print(f"\n[bold red]✘ a step went otherwise than expected[/], after {seconds:.0f} s")
    for service in services.running:
        console.print(f"   last log lines of {service.name}:\n{escape(last_lines(service.log))}", highlight=False)


async def _stay(console: Console, directory: Path, kubeconfig: Path, services: Services) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    console.print("\nEverything stays up until Ctrl-C. Look around from another terminal:", highlight=False)
    for line in _hints(directory, kubeconfig, services):
        console.print(f"   {line}", highlight=False, markup=False, soft_wrap=True)
    await stop.wait()


def _hints(directory: Path, kubeconfig: Path, services: Services) -> Iterator[str]:
    yield f"export KUBECONFIG={kubeconfig}"
    yield "kubectl get pg -w"
    yield "kubectl get pods -o wide"
    yield "kubectl explain podgroups.scheduling.x-k8s.io.spec"
    gangline = Path(sys.executable).with_name("gangline")
    yield f"{gangline} status"
    yield f"{gangline} why crew --scheduler-address {services.running[0].url.removeprefix('http://')}"
    for service in services.running:
        yield f"curl {service.url}/metrics     # log: {service.log}"
    yield f"curl {services.running[0].url}/debug/gangs"
    yield f"ls {directory}/*.yaml          # what was applied"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in error.exceptions:
        yield from _leaves(inner)

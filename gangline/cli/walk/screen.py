"""What the walk shows: on a terminal live tables in colour, elsewhere plain lines."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from gangline.cli.terminal import PHASE_STYLES
from gangline.cli.walk.checks import Expectation
from gangline.cli.walk.steps import Step
from gangline.cli.walk.view import Finding, View, group_name, reason_of

REDRAW_S: Final = 0.1
PLAIN_S: Final = 0.5
PLAIN_WIDTH: Final = 160


class Screen:
    """Shows steps, the cluster while it changes, and findings."""

    def __init__(self, console: Console, view: View) -> None:
        self._console = console
        self._view = view

    def begin(self, number: int, total: int, step: Step) -> None:
        """Say what is done, why, and how a user would do it."""
        self._console.print(f"\n[bold cyan]{number}/{total}  {escape(step.title)}[/]")
        self._console.print(f"     {escape(step.why)}")
        for command in step.commands:
            self._console.print(f"     [dim]$ {escape(command)}[/]")

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Show the cluster while the body runs, and as it is at the end."""
        changed = asyncio.Event()
        self._view.listeners.append(changed.set)
        follow = self._redraw(changed) if self._console.is_terminal else self._log(changed)
        task = asyncio.create_task(follow, name="screen")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._view.listeners.remove(changed.set)
        if self._console.is_terminal:
            self._console.print(self._tables())
        else:
            self._console.print(f"     {self._summary()}", highlight=False)

    def report(self, expectations: Sequence[Expectation], findings: Sequence[Finding], seconds: float) -> None:
        """Say of each expectation whether it holds, with the evidence."""
        for expectation, finding in zip(expectations, findings, strict=True):
            mark = "[green]✔[/]" if finding.holds else "[bold red]✘[/]"
            self._console.print(f"   {mark} {escape(expectation.says)}  [dim]({escape(finding.evidence)})[/]")
        self._console.print(f"     [dim]{seconds:.1f} s[/]")

    async def _redraw(self, changed: asyncio.Event) -> None:
        with Live(self._tables(), console=self._console, auto_refresh=False, transient=True) as live:
            while True:
                await changed.wait()
                changed.clear()
                live.update(self._tables(), refresh=True)
                await asyncio.sleep(REDRAW_S)

    async def _log(self, changed: asyncio.Event) -> None:
        shown = self._summary()
        while True:
            await changed.wait()
            changed.clear()
            if (summary := self._summary()) != shown:
                shown = summary
                self._console.print(f"     {summary}", highlight=False)
            await asyncio.sleep(PLAIN_S)

    def _summary(self) -> str:
        phases = Counter(
            ((pod.metadata.labels or {}).get("app", "-"), pod.status.phase or "Pending")
            for pod in self._view.pods.cache
        )
        pods = [f"{count} {app} {phase}" for (app, phase), count in sorted(phases.items())]
        groups = [
            f"pg {group.metadata.name} {group.status.phase or '-'} ({group.status.running or 0} running)"
            for group in sorted(self._view.groups.cache, key=lambda each: each.metadata.key)
        ]
        return " | ".join(["pods: " + (", ".join(pods) or "none"), *groups])

    def _tables(self) -> Group:
        return Group(self._groups(), self._pods())

    def _groups(self) -> Table:
        table = Table("PodGroup", "MinMember", "Phase", "Scheduled", "Running", "Succeeded", "Failed", box=None)
        for group in sorted(self._view.groups.cache, key=lambda each: each.metadata.key):
            status = group.status
            counts = (status.scheduled, status.running, status.succeeded, status.failed)
            phase = f"[{PHASE_STYLES.get(status.phase or '', 'magenta')}]{status.phase or ''}[/]"
            table.add_row(group.metadata.name, str(group.spec.min_member), phase, *(str(each or 0) for each in counts))
        return table

    def _pods(self) -> Table:
        table = Table("Pod", "PodGroup", "Node", "Phase", "Why it waits", box=None)
        for pod in sorted(self._view.pods.cache, key=lambda each: each.metadata.key):
            phase = pod.status.phase or "Pending"
            shown = (
                f"[{PHASE_STYLES.get(phase, 'white')}]{'Terminating' if pod.metadata.deletion_timestamp else phase}[/]"
            )
            why = escape(": ".join(filter(None, reason_of(pod)))) if not pod.spec.node_name else ""
            table.add_row(pod.metadata.name, group_name(pod), pod.spec.node_name or "", shown, why)
        return table

"""Listing gangs, once or for as long as somebody watches."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Final

import click
from msgspec import Struct
from msgspec.structs import replace

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.labels import LabelTest
from gangline.cli.cluster.mirror import Mirror
from gangline.cli.cluster.options import Scope
from gangline.cli.cluster.reading import read_gangs
from gangline.cli.cluster.session import Failure, namespace_of, talk
from gangline.cli.cluster.survey import Profile, Survey
from gangline.cli.explain.answer import State
from gangline.cli.explain.case import Case, cases
from gangline.cli.explain.floor import Floor
from gangline.cli.gangs import GangRow, rows
from gangline.cli.reader import ReaderGoneError, leave_with_the_reader
from gangline.cli.terminal import PHASE_STYLES, columns, duration, machine_readable, printable, screen_width, show
from gangline.kube.client import Client
from gangline.kube.wire.resources import POD_DISRUPTION_BUDGETS, POD_GROUPS, PODS, Resource

SETTLE_S: Final = 0.3
"""A gang changes with each of its pods: what comes within this time is printed once."""


GONE: Final = "Gone"
"""What a watch says of a gang that is not there any more, or has lost the labels that were asked for."""
LOOK_S: Final = 1.0


class Wanted(Struct, frozen=True):
    """Which gangs to show: all of a scope, or the one of a name, or those with labels; and whose pods are ours."""

    scope: Scope
    name: str | None
    labels: LabelTest | None
    profile: Profile


def list_gangs(access: Access, wanted: Wanted) -> tuple[list[GangRow], str]:
    """Return the gangs that are wanted, and the scope in words. Raises Failure where a named one does not exist."""
    namespace = _namespace(access, wanted.scope)
    survey = talk(access, lambda client: _read(client, wanted, namespace))
    return gang_rows(survey, wanted), _where(namespace)


async def _read(client: Client, wanted: Wanted, namespace: str | None) -> Survey:
    """Read the gangs of a scope, and say what could not be read. Raises Failure where a named one does not exist."""
    survey = await read_gangs(client, namespace, budget_gangs=wanted.profile.budget_gangs)
    for problem in survey.unread:
        click.echo(f"warning: not read: {printable(problem)}", err=True)
    if wanted.name is not None and not gang_rows(survey, wanted):
        raise Failure(f'gang "{wanted.name}" not found in {_where(namespace)}; `gangline status -A` shows all')
    return survey


def _where(namespace: str | None) -> str:
    return "any namespace" if namespace is None else f"namespace {namespace}"


def _namespace(access: Access, scope: Scope) -> str | None:
    return None if scope.every else namespace_of(access, scope.namespace)


def gang_rows(survey: Survey, wanted: Wanted) -> list[GangRow]:
    """Return a row for each gang of a survey that is wanted."""
    found = cases(survey, Floor(survey, wanted.profile.scheduler_names)).values()
    shown = [case for case in found if wanted.labels is None or wanted.labels(_labels(case))]
    return [row for row in rows(shown, survey.at) if wanted.name is None or wanted.name in row.names]


def _labels(case: Case) -> dict[str, str]:
    """Return the labels of a gang: its PodGroup's, or where there is none what all its pods have in common."""
    if case.group is not None:
        return case.group.metadata.labels or {}
    common = [set((pod.metadata.labels or {}).items()) for pod in case.pods]
    return dict(set.intersection(*common)) if common else {}


def table(found: Iterable[GangRow], *, wide: bool, namespaces: bool, head: bool = True) -> list[str]:
    """Lay out rows as a table."""
    names = ["NAME", "PHASE", "MIN", "WAITING", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "AGE", "WAITS"]
    more = ["PRIORITY", "OWNER"] if wide else []
    titles = [*(["NAMESPACE"] if namespaces else []), *names, *more, "WHY"]
    cells = [_cells(row, wide=wide, namespaces=namespaces) for row in found]
    return columns(titles, cells, styles=PHASE_STYLES, head_shown=head, width=screen_width())


def _cells(row: GangRow, *, wide: bool, namespaces: bool) -> list[str]:
    minimum = "-" if row.min_member is None else row.min_member
    counts = (minimum, row.waiting, row.scheduled, row.running, row.succeeded, row.failed)
    times = (duration(row.age_seconds), duration(row.waits_seconds))
    more = [str(row.priority), ",".join(row.owners)] if wide else []
    why = f"{row.reason}: {row.message}" if wide and row.reason and row.message else row.why
    return [*([row.namespace] if namespaces else []), row.name, row.phase or "-", *map(str, counts), *times, *more, why]


def _changes(found: Iterable[GangRow], form: str | None, *, namespaces: bool, head: bool) -> list[str]:
    """Write what a watch has seen: as kubectl does one object after the other, or lines of one table."""
    match form:
        case "json":
            return [machine_readable(row, form) for row in found]
        case "yaml":
            return [f"---\n{machine_readable(row, form)}" for row in found]
        case "name":
            return [row.resource_name for row in found]
        case _:
            return table(found, wide=form == "wide", namespaces=namespaces, head=head)


def follow(access: Access, wanted: Wanted, form: str | None) -> None:
    """Print gangs, and each again when it changes, until interrupted or until nobody reads it.

    Raises Failure where a named one does not exist.
    """
    namespace = _namespace(access, wanted.scope)

    def printed(found: list[GangRow], *, head: bool) -> None:
        with contextlib.suppress(BrokenPipeError):  # the reader has gone: that ends the watch
            show(_changes(found, form, namespaces=wanted.scope.every, head=head))

    async def conversation(client: Client) -> None:
        survey = await _read(client, wanted, namespace)
        kinds = (PODS, POD_GROUPS, POD_DISRUPTION_BUDGETS) if survey.budgets else (PODS, POD_GROUPS)
        watching = Watching(Mirror(client, kinds, namespace), wanted)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(leave_with_the_reader(), name="await the end of the reader")
                await watching.run(printed)
        except* ReaderGoneError:
            pass

    talk(access, conversation)


class Watching:
    """Follows pods and what makes gangs of them, and prints the gangs that have changed."""

    def __init__(self, mirror: Mirror, wanted: Wanted) -> None:
        self._mirror = mirror
        self._wanted = wanted
        self._shown: dict[tuple[str, str], GangRow] = {}

    async def run(self, printed: Callable[..., None]) -> None:
        """Print until cancelled."""
        async with asyncio.TaskGroup() as group:
            for watch in self._mirror.watches.values():
                group.create_task(watch.run(), name="watch")
            group.create_task(self._tell_obstacles(), name="tell obstacles")
            await self._print_changes(printed)

    async def _print_changes(self, printed: Callable[..., None]) -> None:
        head, took_s = True, 0.0
        while True:
            await self._mirror.changed.wait()
            await asyncio.sleep(max(SETTLE_S, took_s))  # of many gangs the rows cost more than the settling
            began_s = asyncio.get_running_loop().time()
            self._mirror.changed.clear()
            if not self._mirror.settled:
                self._mirror.changed.set()
                continue
            changed = self._changed()
            took_s = asyncio.get_running_loop().time() - began_s
            if changed:
                printed(changed, head=head)
                head = False

    def _changed(self) -> list[GangRow]:
        """Return the rows that are new or not as they were shown, and those of gangs that have gone."""
        before, found = self._shown, gang_rows(self._mirror.survey(), self._wanted)
        self._shown = now = {(row.namespace, row.name): row for row in found}
        new = [row for key, row in now.items() if key not in before or _content(before[key]) != _content(row)]
        gone = [row for key, row in before.items() if key not in now]
        return [*new, *(replace(row, phase=GONE, why="", reason=None, waits_seconds=None) for row in gone)]

    async def _tell_obstacles(self) -> None:
        """Warn once each time when what is shown begins to be old."""
        told = set[Resource]()
        while True:
            obstacles = self._mirror.obstacles()
            for kind in obstacles.keys() - told:
                click.echo(f"warning: {kind.plural} are not followed: {printable(obstacles[kind])}", err=True)
            told = set(obstacles)
            await asyncio.sleep(LOOK_S)


def _content(row: GangRow) -> tuple[object, ...]:
    """Return what makes a row worth printing again: all but its times."""
    counts = (row.min_member, row.waiting, row.scheduled, row.running, row.succeeded, row.failed)
    why = row.reason if row.reason == State.NOT_SCHEDULED_YET else row.why  # that says for how long
    return (row.phase, counts, why)

"""Listing gangs, once or for as long as somebody watches."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import click
from msgspec import Struct

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.labels import LabelTest
from gangline.cli.cluster.options import Scope
from gangline.cli.cluster.reading import read_gangs
from gangline.cli.cluster.session import Failure, namespace_of, talk
from gangline.cli.cluster.survey import Profile, Survey
from gangline.cli.explain.case import Case, cases
from gangline.cli.explain.room import Floor
from gangline.cli.gangs import GangRow, rows
from gangline.cli.reader import until_reader_has_gone
from gangline.cli.terminal import columns, duration, screen_width, show
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget
from gangline.kube.client import Client
from gangline.kube.reflector import Change, Observed, Reflector, Removed
from gangline.kube.wire.changes import HasMetadata
from gangline.kube.wire.resources import POD_DISRUPTION_BUDGETS, POD_GROUPS, PODS

T = TypeVar("T", bound=HasMetadata)

SETTLE_S: Final = 0.3
"""A gang changes with each of its pods: what comes within this time is printed once."""
INTERRUPTED: Final = 130
_PHASE_STYLES: Final = {
    "Running": "green",
    "Finished": "blue",
    "Failed": "red",
    "Pending": "yellow",
    "Scheduling": "yellow",
}


class Wanted(Struct, frozen=True):
    """Which gangs to show: all of a scope, or the one of a name, or those with labels; and whose pods are ours."""

    scope: Scope
    name: str | None
    labels: LabelTest | None
    profile: Profile


def list_gangs(access: Access, wanted: Wanted) -> tuple[list[GangRow], str]:
    """Return the gangs that are wanted, and the scope in words. Raises Failure where a named one does not exist."""
    namespace = _namespace(access, wanted.scope)
    where = "any namespace" if namespace is None else f"namespace {namespace}"
    survey = talk(access, lambda client: read_gangs(client, namespace, budget_gangs=wanted.profile.budget_gangs))
    for problem in survey.unread:
        click.echo(f"warning: not read: {problem}", err=True)
    found = gang_rows(survey, wanted)
    if wanted.name is not None and not found:
        raise Failure(f'gang "{wanted.name}" not found in {where}; `gangline status -A` shows all')
    return found, where


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
    return columns(titles, cells, styles=_PHASE_STYLES, head_shown=head, width=screen_width())


def _cells(row: GangRow, *, wide: bool, namespaces: bool) -> list[str]:
    minimum = "-" if row.min_member is None else row.min_member
    counts = (minimum, row.waiting, row.scheduled, row.running, row.succeeded, row.failed)
    times = (duration(row.age_seconds), duration(row.waits_seconds))
    more = [str(row.priority), ",".join(row.owners)] if wide else []
    why = f"{row.reason}: {row.message}" if wide and row.reason and row.message else row.why
    return [*([row.namespace] if namespaces else []), row.name, row.phase or "-", *map(str, counts), *times, *more, why]


def follow(access: Access, wanted: Wanted, *, wide: bool) -> None:
    """Print gangs, and each again when it changes, until interrupted or until nobody reads it."""
    namespace = _namespace(access, wanted.scope)

    def printed(found: list[GangRow], *, head: bool) -> None:
        with contextlib.suppress(BrokenPipeError):  # the reader has gone: that ends the watch
            show(table(found, wide=wide, namespaces=wanted.scope.every, head=head))

    async def conversation(client: Client) -> None:
        survey = await read_gangs(client, namespace, budget_gangs=wanted.profile.budget_gangs)
        watching = Watching(client, namespace, wanted, budget_gangs=bool(survey.budgets))
        async with asyncio.TaskGroup() as group:
            printing = group.create_task(watching.run(printed), name="print changes")
            await until_reader_has_gone()
            printing.cancel()

    try:
        talk(access, conversation)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


class Watching:
    """Follows pods and PodGroups, and prints the gangs that have changed."""

    def __init__(self, client: Client, namespace: str | None, wanted: Wanted, *, budget_gangs: bool) -> None:
        self._wanted = wanted
        self._pods: dict[Key, Pod] = {}
        self._groups: dict[Key, PodGroup] = {}
        self._changed = asyncio.Event()
        self._budgets: dict[Key, PodDisruptionBudget] = {}
        self._watches: list[Reflector[Any]] = [
            Reflector(client, PODS, Pod, self._taker(self._pods), namespace=namespace),
            Reflector(client, POD_GROUPS, PodGroup, self._taker(self._groups), namespace=namespace),
        ]
        if budget_gangs:
            take = self._taker(self._budgets)
            self._watches.append(
                Reflector(client, POD_DISRUPTION_BUDGETS, PodDisruptionBudget, take, namespace=namespace)
            )

    async def run(self, printed: Callable[..., None]) -> None:
        """Print until cancelled."""
        async with asyncio.TaskGroup() as group:
            for watch in self._watches:
                group.create_task(watch.run(), name="watch")
            await self._print_changes(printed)

    async def _print_changes(self, printed: Callable[..., None]) -> None:
        shown: dict[tuple[str, str], tuple[object, ...]] = {}
        head = True
        while True:
            await self._changed.wait()
            await asyncio.sleep(SETTLE_S)
            self._changed.clear()
            if not all(watch.synced for watch in self._watches):
                self._changed.set()
                continue
            rows_now = gang_rows(self._survey(), self._wanted)
            new = [row for row in rows_now if shown.get((row.namespace, row.name)) != _content(row)]
            shown = {(row.namespace, row.name): _content(row) for row in rows_now}
            if new:
                printed(new, head=head)
                head = False

    def _survey(self) -> Survey:
        return Survey(
            at=datetime.now(UTC),
            pods=tuple(self._pods.values()),
            groups=tuple(self._groups.values()),
            budgets=tuple(self._budgets.values()),
        )

    def _taker(self, seen: dict[Key, T]) -> Callable[[Change[T]], None]:
        def take(change: Change[T]) -> None:
            match change:
                case Observed(object=object_):
                    seen[object_.metadata.key] = object_
                case Removed(key=key):
                    with contextlib.suppress(KeyError):
                        del seen[key]
                case _:
                    pass
            self._changed.set()

        return take


def _content(row: GangRow) -> tuple[object, ...]:
    """Return what makes a row worth printing again: all but its times."""
    counts = (row.min_member, row.waiting, row.scheduled, row.running, row.succeeded, row.failed)
    return (row.phase, counts, row.why)

"""The rehearsal: a scheduler of our own, fed with a survey, says what it would do. Nothing is written anywhere."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from gangline.cli.cluster.survey import Survey
from gangline.cli.cluster.views import Views, views_of
from scheduler.core import events
from scheduler.core.conditions import CURE_AFTER_S
from scheduler.core.events import Event, Kind, SettingsGiven
from scheduler.core.instructions import BindGang
from scheduler.core.machine import Scheduler


class Rehearsal(Struct, frozen=True):
    """What a scheduler without a past makes of a survey: each gang's verdict, and who would be bound where, by UID."""

    views: Views
    binds: dict[str, str]


def rehearse(survey: Survey, scheduler_names: Collection[str]) -> Rehearsal:
    """Let a fresh scheduler decide on the survey, and wait until it says what cures what lasts."""
    scheduler = Scheduler()
    given = SettingsGiven(scheduler_names=tuple(scheduler_names), budgets_form_gangs=bool(survey.budgets))
    binds = _steps(scheduler, [given], 0.0)
    binds |= _steps(scheduler, list(_observed(survey)), 0.0)
    later_s = CURE_AFTER_S + 1.0
    binds |= _steps(scheduler, [], later_s)
    return Rehearsal(views_of(scheduler.gangs(later_s)), binds)


def _observed(survey: Survey) -> Iterator[Event]:
    for priority_class in survey.priority_classes:
        yield events.PriorityClassObserved(priority_class=priority_class)
    for budget in survey.budgets:
        yield events.BudgetObserved(budget=budget)
    for group in survey.groups:
        yield events.PodGroupObserved(group=group)
    for node in survey.nodes:
        yield events.NodeObserved(node=node)
    for pod in survey.pods:
        yield events.PodObserved(pod=pod)
    for kind in Kind:
        yield events.KindSynced(kind=kind)


def _steps(scheduler: Scheduler, told: list[Event], now: float) -> dict[str, str]:
    """Make steps until there is no more to do; return the binds that were ordered."""
    step = scheduler.handle(told, now)
    instructions = list(step.instructions)
    while step.more:
        step = scheduler.handle([], now)
        instructions += step.instructions
    gangs = (instruction for instruction in instructions if isinstance(instruction, BindGang))
    return {bind.uid: bind.node for gang in gangs for bind in gang.binds}

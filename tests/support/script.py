"""A script for the scheduler's machine: say what is observed and answered, look at what it orders.

The script checks the machine against itself after every step, and answers nothing by itself.
"""

from collections.abc import Iterable
from typing import Any

from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget, PriorityClass
from scheduler.core import events
from scheduler.core.events import (
    Bound,
    ConditionOutcome,
    Event,
    Kind,
    Refusal,
    Refused,
    Scoring,
    SettingsGiven,
    Unknown,
)
from scheduler.core.instructions import Announce, Bind, BindGang, Instruction, ReadPod, WriteCondition
from scheduler.core.machine import Scheduler, Step

Watched = Pod | Node | PodGroup | PriorityClass | PodDisruptionBudget


def observed(thing: Watched) -> Event:
    """The observation of an object."""
    match thing:
        case Pod():
            return events.PodObserved(pod=thing)
        case Node():
            return events.NodeObserved(node=thing)
        case PodGroup():
            return events.PodGroupObserved(group=thing)
        case PriorityClass():
            return events.PriorityClassObserved(priority_class=thing)
        case PodDisruptionBudget():
            return events.BudgetObserved(budget=thing)


def gone(thing: Watched) -> Event:
    """The removal of an object."""
    meta = thing.metadata
    match thing:
        case Pod():
            return events.PodGone(namespace=meta.namespace, name=meta.name, uid=meta.uid)
        case Node():
            return events.NodeGone(name=meta.name, uid=meta.uid)
        case PodGroup():
            return events.PodGroupGone(namespace=meta.namespace, name=meta.name, uid=meta.uid)
        case PriorityClass():
            return events.PriorityClassGone(name=meta.name)
        case PodDisruptionBudget():
            return events.BudgetGone(namespace=meta.namespace, name=meta.name)


def bound_results(binds: Iterable[Bind]) -> list[Event]:
    """Every bind was done."""
    return [Bound(uid=bind.uid, attempt=bind.attempt, node=bind.node) for bind in binds]


def refused(bind: Bind, refusal: Refusal, message: str = "no") -> Event:
    """A bind was refused."""
    return Refused(uid=bind.uid, attempt=bind.attempt, refusal=refusal, message=message)


def unknown(bind: Bind) -> Event:
    """The outcome of a bind is not known."""
    return Unknown(uid=bind.uid, attempt=bind.attempt, message="timeout")


def kinds_synced(kinds: Iterable[Kind] = Kind) -> list[Event]:
    """These kinds have been listed."""
    return [events.KindSynced(kind=kind) for kind in kinds]


class Script:
    """A scheduler with a clock. `step` is what the last call ordered."""

    def __init__(self, *things: Watched, settings: dict[str, Any] | None = None, synced: bool = True) -> None:
        self.scheduler = Scheduler()
        self.now = 1000.0
        self.step = Step((), more=False, wake_at=None, decisions=())
        given = {"scheduler_names": ("gangline",), "scoring": Scoring.PACK} | (settings or {})
        self.tell(SettingsGiven(**given))
        self.tell(*(observed(thing) for thing in things), *(kinds_synced() if synced else ()))

    def tell(self, *told: Event, after_s: float = 0.0) -> Step:
        """Let time pass, then make steps until the machine has no more to do."""
        self.now += after_s
        steps = [self.scheduler.handle(list(told), self.now)]
        while steps[-1].more:
            steps.append(self.scheduler.handle([], self.now))
        problems = [problem for piece in self.scheduler.validate() for problem in piece]
        assert not problems, problems
        self.step = Step(
            tuple(instruction for step in steps for instruction in step.instructions),
            more=False,
            wake_at=steps[-1].wake_at,
            decisions=tuple(decision for step in steps for decision in step.decisions),
        )
        return self.step

    def observe(self, *things: Watched, after_s: float = 0.0) -> Step:
        """Objects were seen, in this order."""
        return self.tell(*(observed(thing) for thing in things), after_s=after_s)

    def remove(self, *things: Watched, after_s: float = 0.0) -> Step:
        """Objects have gone, in this order."""
        return self.tell(*(gone(thing) for thing in things), after_s=after_s)

    def wait(self, seconds: float) -> Step:
        """Nothing happens for a while."""
        return self.tell(after_s=seconds)

    def write_conditions(self, outcome: ConditionOutcome = ConditionOutcome.WRITTEN) -> Step:
        """Every condition that the last step ordered was answered so."""
        return self.tell(
            *(
                events.ConditionAnswered(uid=write.uid, attempt=write.attempt, outcome=outcome)
                for write in self._ordered(WriteCondition)
            )
        )

    @property
    def gang_binds(self) -> list[BindGang]:
        """The gangs that the last step ordered to be bound."""
        return self._ordered(BindGang)

    @property
    def binds(self) -> list[Bind]:
        """All binds of the last step."""
        return [bind for gang in self.gang_binds for bind in gang.binds]

    @property
    def bound_names(self) -> list[str]:
        """Names of the pods that the last step ordered to be bound."""
        return sorted(bind.name for bind in self.binds)

    @property
    def where(self) -> dict[str, str]:
        """Pod to node, as ordered by the last step."""
        return {bind.name: bind.node for bind in self.binds}

    @property
    def reads(self) -> list[ReadPod]:
        """The pods that the last step ordered to be read."""
        return self._ordered(ReadPod)

    @property
    def conditions(self) -> dict[str, tuple[str, str]]:
        """Pod to (reason, message), as ordered by the last step."""
        return {write.name: (write.reason, write.message) for write in self._ordered(WriteCondition)}

    @property
    def reasons(self) -> dict[str, str]:
        """Pod to reason, as ordered by the last step."""
        return {name: reason for name, (reason, _) in self.conditions.items()}

    @property
    def announced(self) -> list[tuple[str, str, str]]:
        """(kind, name, reason) of the Kubernetes Events of the last step."""
        return [(event.kind, event.name, event.reason) for event in self._ordered(Announce)]

    def _ordered(self, type_: type[Any]) -> list[Any]:
        return [instruction for instruction in self.step.instructions if isinstance(instruction, type_)]


def kinds_of(instructions: Iterable[Instruction]) -> list[str]:
    """Names of the instructions' types."""
    return [type(instruction).__name__ for instruction in instructions]

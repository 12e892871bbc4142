"""Triage: puts each gang that has changed where it belongs: in the backlog, aside with a reason, or at rest."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, assert_never

from gangline.contract.membership import GangKey
from gangline.contract.ordering import OrderKey, order_key
from scheduler.core.backlog import Backlog
from scheduler.core.conditions import Conditions
from scheduler.core.gang import Gang, title
from scheduler.core.gang_rule import Assessment, Blocked, Idle, InFlight, Ready, assess
from scheduler.core.gangs import Gangs
from scheduler.core.holds import Holds
from scheduler.core.instructions import Announce, Instruction
from scheduler.core.reasons import Reason
from scheduler.core.setbacks import Setbacks

_VERDICTS_OF_PLACEMENT: Final = frozenset({Reason.UNSCHEDULABLE, Reason.HELD_FOR_GANG, Reason.BIND_FAILED})


class GangState(StrEnum):
    """Where a gang is."""

    READY = "ready"
    PARKED = "parked"
    BINDING = "binding"
    INCOMPLETE = "incomplete"
    BOUND = "bound"


WAITING_STATES: Final[tuple[GangState, ...]] = tuple(state for state in GangState if state is not GangState.BOUND)
"""Where gangs are of which a member waits."""


class Triage:
    """Looks at one gang at a time; never at nodes."""

    def __init__(
        self,
        *,
        gangs: Gangs,
        backlog: Backlog,
        setbacks: Setbacks,
        conditions: Conditions,
        holds: Holds,
        instructions: list[Instruction],
    ) -> None:
        self._gangs = gangs
        self._backlog = backlog
        self._setbacks = setbacks
        self._conditions = conditions
        self._holds = holds
        self._instructions = instructions
        self._states: dict[GangKey, GangState] = {}
        self._waiting_since: dict[GangKey, float] = {}
        self._mixed: set[GangKey] = set()

    def state_of(self, key: GangKey) -> GangState:
        """Return where a gang is."""
        return self._states.get(key, GangState.INCOMPLETE)

    def waited_s(self, key: GangKey, now: float) -> float | None:
        """Return how long ago members of the gang were first seen to wait; None if none waits."""
        since = self._waiting_since.get(key)
        return None if since is None else now - since

    def note_parked(self, key: GangKey) -> None:
        """Take in that the gang was tried and does not fit."""
        self._states[key] = GangState.PARKED

    def longest_waits_s(self, now: float) -> dict[GangState, float]:
        """Return how long the gang that waits longest in each state has waited; 0 where none does."""
        longest = dict.fromkeys(WAITING_STATES, 0.0)
        for key, since in self._waiting_since.items():
            state = self.state_of(key)
            longest[state] = max(longest[state], now - since)
        return longest

    def count(self) -> dict[GangState, int]:
        """Count the gangs in each state."""
        counts = Counter(self._states.values())
        return {state: counts[state] for state in GangState}

    def look_at(self, key: GangKey, now: float) -> None:
        """Find out what is to be done with a gang now."""
        self._holds.refresh(key)
        gang = self._gangs.by_key.get(key)
        if gang is None:
            self.forget(key)
            return
        self._warn_if_mixed(gang)
        assessment = assess(gang, self._gangs.group_of(key))
        self._enter(gang, assessment, now)

    def _enter(self, gang: Gang, assessment: Assessment, now: float) -> None:
        """Put a gang where its assessment says."""
        key = gang.key
        match assessment:
            case Idle():
                self._leave_backlog(key, GangState.BOUND)
                self._conditions.forget_gang(key)
                self._waiting_since.pop(key, None)
            case InFlight():
                self._leave_backlog(key, GangState.BINDING)
                self._conditions.hush(key)
            case Blocked(said=said, cure=cure):
                self._leave_backlog(key, GangState.INCOMPLETE)
                self._waiting_since.setdefault(key, now)
                self._conditions.say(key, said, now, cure)
            case Ready():
                self._waiting_since.setdefault(key, now)
                self._enqueue(gang, assessment, now)
            case _:
                assert_never(assessment)

    def _enqueue(self, gang: Gang, ready: Ready, now: float) -> None:
        key = gang.key
        setback = self._setbacks.of_gang(key, now)
        if setback is not None:
            self._leave_backlog(key, GangState.PARKED)
            if setback.said is not None:
                self._conditions.say(key, setback.said, now)
            else:
                self._conditions.hush(key)
            return
        said = self._conditions.said_of(key)
        if said is not None and said.reason not in _VERDICTS_OF_PLACEMENT:
            self._conditions.hush(key)
        self._backlog.queue(key, self._order(gang, ready))
        self._states[key] = GangState.READY

    def _order(self, gang: Gang, ready: Ready) -> OrderKey:
        group = self._gangs.group_of(gang.key)
        return order_key(
            priority=self._gangs.priority_of(gang),
            turn=ready.turn,
            group_created_s=group.created_s if group is not None else 0.0,
            oldest_waiting_s=gang.oldest_waiting_s,
            namespace=gang.key.namespace,
            name=gang.key.name,
            uid=group.uid if group is not None else gang.first.uid,
        )

    def ready_of(self, keys: Iterable[GangKey]) -> dict[GangKey, tuple[OrderKey, Ready]]:
        """Return which of these gangs can be decided, and their places in the order."""
        gangs = (gang for key in keys if (gang := self._gangs.by_key.get(key)) is not None)
        return {
            gang.key: (self._order(gang, ready), ready)
            for gang in gangs
            if isinstance(ready := assess(gang, self._gangs.group_of(gang.key)), Ready)
        }

    def _leave_backlog(self, key: GangKey, state: GangState) -> None:
        self._backlog.remove(key)
        self._states[key] = state

    def forget(self, key: GangKey) -> None:
        """Forget what was found out about a gang that has lost its last member, before one of its name is looked at."""
        self._backlog.remove(key)
        self._conditions.forget_gang(key)
        self._setbacks.forget_gang(key)
        self._states.pop(key, None)
        self._waiting_since.pop(key, None)
        self._mixed.discard(key)

    def _warn_if_mixed(self, gang: Gang) -> None:
        """Say once that the members of a gang differ in priority."""
        priorities = gang.priorities
        if len(priorities) < 2:
            self._mixed.discard(gang.key)
            return
        if gang.key in self._mixed:
            return
        self._mixed.add(gang.key)
        group = self._gangs.group_of(gang.key)
        namespace, name = gang.first.key
        values = ", ".join(str(priority) for priority in priorities)
        self._instructions.append(
            Announce(
                kind="PodGroup" if group is not None else "Pod",
                namespace=namespace,
                name=group.key.name if group is not None else name,
                uid=group.uid if group is not None else gang.first.uid,
                warning=True,
                reason="MixedPriorities",
                action="Scheduling",
                note=f"members of gang {title(gang.key)} have priorities {values}; the lowest counts for all",
            )
        )

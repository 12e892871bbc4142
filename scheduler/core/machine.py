"""The scheduler as one pure machine: events in, instructions out.

One step applies the events, sees to what is due, looks again at the gangs that have changed, decides gangs in order
until the budget of node rows is spent, and orders what there is to say. Nothing is decided before every kind has synced.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, assert_never

from msgspec import Struct

from gangline.contract.membership import GangKey
from gangline.contract.ordering import OrderKey, order_key
from scheduler.core.backlog import Backlog
from scheduler.core.binding import Binding
from scheduler.core.cache import Cache
from scheduler.core.conditions import Conditions
from scheduler.core.deadlines import Alarm, Deadlines, Purpose
from scheduler.core.deciding import Deciding
from scheduler.core.events import (
    Bound,
    ConditionAnswered,
    Event,
    Kind,
    KindSynced,
    PodRead,
    PodReadFailed,
    Refused,
    RowBudgetGiven,
    SettingsGiven,
    Unknown,
)
from scheduler.core.gang_rule import Assessment, Blocked, Idle, InFlight, Ready, assess
from scheduler.core.gangs import Gang, Gangs, Standing, min_member_of, standing_of, title
from scheduler.core.holds import Holds
from scheduler.core.instructions import Announce, Instruction
from scheduler.core.model.member_class import ClassTable
from scheduler.core.observing import Observing
from scheduler.core.reasons import Reason

ROWS_PER_STEP: Final = 200_000
_VERDICTS_OF_PLACEMENT: Final = frozenset({Reason.UNSCHEDULABLE, Reason.HELD_FOR_GANG, Reason.BIND_FAILED})


class Decision(Struct, frozen=True):
    """One decision on one gang; `waited_s` since its members were first seen to wait."""

    gang: str
    placed: bool
    members: int
    waited_s: float


class Step(Struct, frozen=True):
    """What one step ordered. `more`: call again at once. `wake_at`: call again then, even without events."""

    instructions: tuple[Instruction, ...]
    more: bool
    wake_at: float | None
    decisions: tuple[Decision, ...]


class GangState(StrEnum):
    """Where a gang is."""

    READY = "ready"
    PARKED = "parked"
    BINDING = "binding"
    INCOMPLETE = "incomplete"
    BOUND = "bound"


class Sizes(Struct, frozen=True):
    """How many of each there are."""

    cached: dict[str, int]
    gangs: dict[str, int]


class Scheduler:
    """Deterministic, without I/O: equal events at equal times give equal steps."""

    def __init__(self) -> None:
        self.row_budget = ROWS_PER_STEP
        self._unsynced: set[Kind] | None = None
        self._instructions: list[Instruction] = []
        self._deadlines: Deadlines[Alarm] = Deadlines()
        self._classes = ClassTable()
        self._cache = Cache(self._classes)
        self._gangs = Gangs()
        self._backlog = Backlog()
        self._binding = Binding(self._cache, self._gangs, self._deadlines, self._instructions)
        self._conditions = Conditions(self._gangs, self._deadlines, self._instructions)
        self._holds = Holds(self._cache, self._gangs, self._classes, self._deadlines)
        self._deciding = Deciding(
            cache=self._cache,
            gangs=self._gangs,
            classes=self._classes,
            backlog=self._backlog,
            binding=self._binding,
            conditions=self._conditions,
            holds=self._holds,
            deadlines=self._deadlines,
        )
        self._observing = Observing(
            cache=self._cache,
            gangs=self._gangs,
            classes=self._classes,
            binding=self._binding,
            conditions=self._conditions,
            holds=self._holds,
            instructions=self._instructions,
        )
        self._states: dict[GangKey, GangState] = {}
        self._waiting_since: dict[GangKey, float] = {}
        self._mixed: set[GangKey] = set()

    def handle(self, events: Sequence[Event], now: float) -> Step:
        """Apply events, in their order, and say what is to be done. `now` is monotonic, in seconds.

        Raises ValueError unless the first event of all is SettingsGiven.
        """
        for event in events:
            self._apply(event, now)
        for alarm in self._deadlines.take_due(now):
            self._see_to(alarm)
        decisions: list[Decision] = []
        if self.is_synced:
            self._deciding.forget_failures()
            decisions = self._decide(now)
            self._conditions.flush(now)
        instructions = tuple(self._instructions)
        self._instructions.clear()
        more = self.is_synced and self._backlog.queued > 0
        return Step(instructions, more, self._deadlines.next_at(), tuple(decisions))

    @property
    def is_synced(self) -> bool:
        """Whether every kind has been listed once."""
        return self._unsynced is not None and not self._unsynced

    # Events

    def _apply(self, event: Event, now: float) -> None:
        if isinstance(event, SettingsGiven):
            self._take_settings(event)
            return
        if self._unsynced is None:
            raise ValueError(f"the first event must be SettingsGiven, not {type(event).__name__}")
        match event:
            case Bound() | Refused() | Unknown() | PodRead() | PodReadFailed() | ConditionAnswered():
                self._take_result(event, now)
            case KindSynced(kind=kind):
                self._unsynced.discard(kind)
            case RowBudgetGiven(rows=rows):
                self.row_budget = rows
            case _:
                self._observing.observe(event, now)

    def _take_settings(self, settings: SettingsGiven) -> None:
        if self._unsynced is not None:
            raise ValueError("SettingsGiven came twice; settings hold for a whole run")
        self._unsynced = set(settings.kinds)
        self._deciding.scoring = settings.scoring
        self._observing.use(settings)

    def _take_result(
        self, result: Bound | Refused | Unknown | PodRead | PodReadFailed | ConditionAnswered, now: float
    ) -> None:
        match result:
            case ConditionAnswered():
                self._conditions.on_answered(result, now)
                return
            case Bound():
                self._binding.on_bound(result, now)
            case Refused():
                self._observing.losing(result.uid, now, lambda: self._binding.on_refused(result, now))
            case Unknown():
                self._binding.on_unknown(result, now)
            case PodRead():
                self._observing.losing(result.uid, now, lambda: self._binding.on_pod_read(result, now))
            case PodReadFailed():
                self._binding.on_pod_read_failed(result, now)
            case _:
                assert_never(result)
        self._conditions.pod_changed(result.uid)

    def _see_to(self, alarm: Alarm) -> None:
        match alarm:
            case (Purpose.READ_POD, str(uid)):
                self._binding.read_due(uid)
            case (Purpose.END_HOLD, str(uid)):
                self._holds.end(uid)
            case (Purpose.WRITE_AGAIN, str(uid)):
                self._conditions.pod_changed(uid)
            case (Purpose.RETRY_GANG, GangKey() as key):
                self._gangs.touch(key)
            case (Purpose.SPEAK, GangKey() as key):
                self._conditions.speak_due(key)
            case _:
                raise AssertionError(f"nothing is to be done at {alarm}")

    # Gangs

    def _decide(self, now: float) -> list[Decision]:
        """Decide gangs in order until the budget is spent."""
        decisions = []
        rows_left = self.row_budget
        self._catch_up(now)
        while rows_left > 0 and (key := self._backlog.take()) is not None:
            gang = self._gangs.by_key[key]
            ready = assess(gang, self._gangs.group_of(key))
            assert isinstance(ready, Ready), f"{key} was queued but is {ready}"
            outcome = self._deciding.decide(gang, ready, now)
            rows_left -= outcome.cost_rows
            waited_s = now - self._waiting_since.get(key, now)
            decisions.append(Decision(str(key), outcome.placed, outcome.members, waited_s))
            if not outcome.placed:
                self._states[key] = GangState.PARKED
            self._catch_up(now)
        return decisions

    def _catch_up(self, now: float) -> None:
        """Look again at every gang that has changed or may be helped by what was gained."""
        for key in self._gangs.take_changed():
            self._look_at(key, now)
        gains = self._cache.take_gains()
        if not gains:
            return
        self._deciding.forget_failures()
        for key in self._backlog.wake(gains):
            self._look_at(key, now)

    def _look_at(self, key: GangKey, now: float) -> None:
        self._holds.refresh(key)
        gang = self._gangs.by_key.get(key)
        if gang is None:
            self._forget(key)
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
        setback = self._binding.setback_of(key, now)
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

    def _leave_backlog(self, key: GangKey, state: GangState) -> None:
        self._backlog.remove(key)
        self._states[key] = state

    def _forget(self, key: GangKey) -> None:
        self._backlog.remove(key)
        self._conditions.forget_gang(key)
        self._binding.forget_gang(key)
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

    # Views

    def is_known_node(self, name: str) -> bool:
        """Tell whether the node exists, as far as observed."""
        return self._cache.has_node(name)

    def sizes(self) -> Sizes:
        """Count what is cached and where the gangs are."""
        states = Counter(self._states.values())
        cached = {
            "pods": len(self._cache.members),
            "nodes": sum(1 for ledger in self._cache.ledgers.values() if ledger.node is not None),
            "groups": len(self._gangs.groups),
            "gangs": len(self._gangs.by_key),
            "classes": len(self._classes),
            "intents": len(self._cache.intents),
            "holds": len(self._holds),
        }
        return Sizes(cached, {state.value: states[state] for state in GangState})

    def gangs(self, now: float) -> list[dict[str, Any]]:
        """Describe every gang as it is now, in JSON-able values, with what its waiting members would say."""
        return [self._view(self._gangs.by_key[key], now) for key in sorted(self._gangs.by_key)]

    def _view(self, gang: Gang, now: float) -> dict[str, Any]:
        key = gang.key
        said = self._conditions.said_of(key)
        counts = gang.counts
        since = self._waiting_since.get(key)
        return {
            "gang": str(key),
            "namespace": key.namespace,
            "kind": key.kind.value,
            "name": key.name,
            "state": self._states.get(key, GangState.INCOMPLETE).value,
            "minMember": min_member_of(gang, self._gangs.group_of(key)),
            "priority": self._gangs.priority_of(gang),
            "waiting": gang.size(Standing.WAITING, Standing.UNPLACEABLE),
            "binding": gang.size(Standing.SENT),
            "bound": gang.size(Standing.BOUND),
            "succeeded": counts.succeeded,
            "waitedSeconds": round(now - since, 1) if since is not None else None,
            "reason": said.reason if said is not None else None,
            "message": said.message if said is not None else None,
        }

    def validate(self) -> list[str]:
        """Compare everything that is derived with what it is derived from; empty when all is well."""
        self._deciding.refresh_snapshot()
        problems = self._cache.validate()
        problems += self._deciding.snapshot.validate(self._cache.ledgers.values())
        for key in sorted(self._gangs.by_key):
            gang = self._gangs.by_key[key]
            problems += gang.validate()
            problems += self._standing_problems(gang)
        return problems

    def _standing_problems(self, gang: Gang) -> list[str]:
        return [
            f"gang {gang.key}: pod {uid} stands as {standing.name}"
            for uid, standing in gang.standings.items()
            if gang.members[uid] is not self._cache.members.get(uid)
            or standing_of(gang.members[uid], self._cache.intents.get(uid)) is not standing
        ]

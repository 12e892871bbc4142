"""The scheduler as one pure machine: events in, instructions out.

One step applies the events, sees to what is due, looks again at the gangs that have changed, decides gangs in order
until the budget of node rows is spent, and orders what there is to say. Nothing is decided before every kind has synced.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, assert_never

from msgspec import Struct

from gangline.base.slices import slices
from gangline.contract.membership import GangKey
from scheduler.core.backlog import Backlog
from scheduler.core.binding import Binding
from scheduler.core.cache import NODES_AT_ONCE, Cache
from scheduler.core.conditions import Conditions
from scheduler.core.deadlines import Alarm, Deadlines, HoldOver, ReadDue, RetryDue, SpeakDue, WriteDue
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
from scheduler.core.gang import Gang, standing_of
from scheduler.core.gang_rule import Ready, assess
from scheduler.core.gangs import Gangs
from scheduler.core.holds import Holds
from scheduler.core.instructions import Instruction
from scheduler.core.model.member_class import ClassTable
from scheduler.core.observing import Observing
from scheduler.core.overtaken import Overtaken
from scheduler.core.setbacks import Setbacks
from scheduler.core.triage import GangState, Triage
from scheduler.core.views import Views, Waits

ROWS_PER_STEP: Final = 200_000


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


class Sizes(Struct, frozen=True):
    """How many of each there are."""

    cached: dict[str, int]
    gangs: dict[GangState, int]


class Scheduler:
    """Deterministic, without I/O: equal events at equal times give equal steps."""

    def __init__(self) -> None:
        self._row_budget = ROWS_PER_STEP
        self._unsynced: set[Kind] | None = None
        self._instructions: list[Instruction] = []
        self._deadlines: Deadlines[Alarm] = Deadlines()
        self._classes = ClassTable()
        self._cache = Cache(self._classes)
        self._gangs = Gangs()
        self._backlog = Backlog()
        self._setbacks = Setbacks(self._gangs, self._deadlines)
        self._binding = Binding(
            cache=self._cache,
            gangs=self._gangs,
            setbacks=self._setbacks,
            deadlines=self._deadlines,
            instructions=self._instructions,
        )
        self.overtaken = Overtaken(self._cache, self._gangs)
        self._conditions = Conditions(self._gangs, self._deadlines, self._instructions)
        self._holds = Holds(self._cache, self._gangs, self._classes, self._deadlines)
        self._deciding = Deciding(
            cache=self._cache,
            gangs=self._gangs,
            classes=self._classes,
            backlog=self._backlog,
            binding=self._binding,
            setbacks=self._setbacks,
            conditions=self._conditions,
            holds=self._holds,
            deadlines=self._deadlines,
        )
        self._observing = Observing(
            cache=self._cache,
            gangs=self._gangs,
            classes=self._classes,
            binding=self._binding,
            setbacks=self._setbacks,
            conditions=self._conditions,
            holds=self._holds,
            instructions=self._instructions,
        )
        self._triage = Triage(
            gangs=self._gangs,
            backlog=self._backlog,
            setbacks=self._setbacks,
            conditions=self._conditions,
            holds=self._holds,
            instructions=self._instructions,
        )
        self._views = Views(
            gangs=self._gangs,
            triage=self._triage,
            setbacks=self._setbacks,
            conditions=self._conditions,
            holds=self._holds,
        )

    def handle(self, events: Sequence[Event], now: float) -> Step:
        """Apply events, in their order, and say what is to be done. `now` is monotonic, in seconds.

        Raises ValueError unless the first event of all is SettingsGiven.
        """
        for event in events:
            self._apply(event, now)
        for alarm in self._deadlines.take_due(now):
            self._see_to(alarm)
        decisions: list[Decision] = []
        if self._is_synced:
            self._deciding.forget_failures()
            decisions = self._decide(now)
            self._conditions.flush(now)
        instructions = tuple(self._instructions)
        self._instructions.clear()
        more = self._is_synced and self._backlog.queued > 0
        return Step(instructions, more, self._deadlines.next_at(), tuple(decisions))

    @property
    def _is_synced(self) -> bool:
        """Whether every kind has been listed once."""
        return self._unsynced is not None and not self._unsynced

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
                self._row_budget = rows
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
            case ReadDue(uid):
                self._binding.read_due(uid)
            case WriteDue(uid):
                self._conditions.pod_changed(uid)
            case HoldOver(uid):
                self._holds.end(uid)
            case RetryDue(gang):
                self._gangs.touch(gang)
            case SpeakDue(gang):
                self._conditions.speak_due(gang)
            case _:
                assert_never(alarm)

    def _decide(self, now: float) -> list[Decision]:
        """Decide gangs in order until the budget is spent."""
        decisions = []
        rows_left = self._row_budget
        self._catch_up(now)
        while rows_left > 0 and (key := self._backlog.take()) is not None:
            gang = self._gangs.by_key[key]
            ready = assess(gang, self._gangs.group_of(key))
            assert isinstance(ready, Ready), f"{key} was queued but is {ready}"
            outcome = self._deciding.decide(gang, ready, now)
            rows_left -= outcome.cost_rows
            waited_s = self._triage.waited_s(key, now) or 0.0
            decisions.append(Decision(str(key), outcome.placed, outcome.members, waited_s))
            if not outcome.placed:
                self._triage.note_parked(key)
            self._catch_up(now)
        if self._backlog.queued:
            self._backlog.pause()
        return decisions

    def _catch_up(self, now: float) -> None:
        """Look again at every gang that has changed or may be helped by what was gained."""
        for key in self._gangs.take_ended():
            self._triage.forget(key)
        for key in self._gangs.take_changed():
            self._triage.look_at(key, now)
        gains = self._cache.take_gains()
        if not gains:
            return
        self._deciding.forget_failures()
        for key in self._backlog.wake(gains):
            self._triage.look_at(key, now)

    def sizes(self) -> Sizes:
        """Count what is cached and where the gangs are."""
        cached = {
            "pods": len(self._cache.members),
            "nodes": sum(1 for ledger in self._cache.ledgers.values() if ledger.node is not None),
            "groups": len(self._gangs.groups),
            "gangs": len(self._gangs.by_key),
            "classes": len(self._classes),
            "intents": len(self._cache.intents),
            "holds": len(self._holds),
        }
        return Sizes(cached, self._triage.count())

    def waits(self, now: float) -> Waits:
        """Sum up how the gangs wait, in one pass."""
        return self._views.waits(now)

    def gang_keys(self, namespace: str | None = None, name: str | None = None) -> list[GangKey]:
        """Return the keys of all gangs, or of those with this namespace and name, in order."""
        return self._views.keys(namespace, name)

    def describe(self, keys: Sequence[GangKey], now: float) -> Iterator[list[dict[str, Any]]]:
        """Describe gangs in JSON-able values, slice by slice; `handle` may be called between two of them."""
        return self._views.describe(keys, now)

    def gangs(self, now: float) -> list[dict[str, Any]]:
        """Describe every gang as it is now, at once."""
        return [view for views in self.describe(self.gang_keys(), now) for view in views]

    def validate(self) -> Iterator[list[str]]:
        """Compare everything that is derived with what it is derived from, slice by slice; empty lists when all is well.

        Each slice is judged by itself: `handle` may be called between two of them.
        """
        yield from self._cache.validate()
        snapshot, ledgers = self._deciding.snapshot, self._cache.ledgers
        for names in slices(sorted(ledgers.keys() | snapshot.node_names), NODES_AT_ONCE):
            self._deciding.refresh_snapshot()
            yield snapshot.validate(names, ledgers)
        for key in list(self._gangs.by_key):
            gang = self._gangs.by_key.get(key)
            if gang is not None:
                yield [*gang.validate(), *self._standing_problems(gang)]

    def differences(
        self, pods: Mapping[str, tuple[str, bool]], nodes: Mapping[str, str], *, except_uids: AbstractSet[str]
    ) -> Iterator[list[str]]:
        """Compare with fresh lists, as `Cache.differences` does."""
        return self._cache.differences(pods, nodes, except_uids=except_uids)

    def _standing_problems(self, gang: Gang) -> list[str]:
        return [
            f"gang {gang.key}: pod {uid} stands as {standing.name}"
            for uid, standing in gang.standings.items()
            if gang.members[uid] is not self._cache.members.get(uid)
            or standing_of(gang.members[uid], self._cache.intents.get(uid)) is not standing
        ]

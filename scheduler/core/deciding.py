"""Deciding: one gang on the snapshot, to a plan that is sent or a verdict that it is parked with."""

from collections import Counter
from typing import Final

from msgspec import Struct

from gangline.contract.requests import HostPort
from scheduler.core.backlog import Backlog
from scheduler.core.binding import Binding
from scheduler.core.cache import Cache, charged_node
from scheduler.core.conditions import Conditions
from scheduler.core.deadlines import Alarm, Deadlines, RetryDue
from scheduler.core.events import Scoring
from scheduler.core.explaining import verdict
from scheduler.core.gang import Gang, Standing, title
from scheduler.core.gang_rule import Ready
from scheduler.core.gangs import Gangs
from scheduler.core.holds import HOLD_S, Holds
from scheduler.core.model.member import Member
from scheduler.core.model.member_class import ClassId, ClassTable, MemberClass
from scheduler.core.placement import ClassDemand, Demand, Plan, place
from scheduler.core.reasons import Unplaced
from scheduler.core.setbacks import Setbacks
from scheduler.core.snapshot import Snapshot

PARKED_AT_MOST_S: Final = 300.0
"""A parked gang is tried again after this time whatever happened (kube-scheduler flushes as often)."""
_COST_ROWS: Final = 512
"""What a decision costs beside the rows that it looks at, in rows: about 50 microseconds."""
_COST_ROWS_OF_HOLD: Final = 32
"""What a room that is held for others costs each try, in rows."""


class Outcome(Struct, frozen=True):
    """What became of one try; `cost_rows` counts against the budget of the step."""

    placed: bool
    members: int
    cost_rows: int


class Deciding:
    """Tries gangs on the snapshot. What has failed is not tried again before `forget_failures`."""

    def __init__(  # noqa: PLR0913 - the rooms below it, by name
        self,
        *,
        cache: Cache,
        gangs: Gangs,
        classes: ClassTable,
        backlog: Backlog,
        binding: Binding,
        setbacks: Setbacks,
        conditions: Conditions,
        holds: Holds,
        deadlines: Deadlines[Alarm],
    ) -> None:
        self._cache = cache
        self._gangs = gangs
        self._classes = classes
        self._backlog = backlog
        self._binding = binding
        self._setbacks = setbacks
        self._conditions = conditions
        self._holds = holds
        self._deadlines = deadlines
        self._failed: dict[Demand, Unplaced] = {}
        self.snapshot = Snapshot(classes)
        self.scoring = Scoring.PACK

    def forget_failures(self) -> None:
        """Room may have come since: what did not fit is worth another look."""
        self._failed.clear()

    def refresh_snapshot(self) -> None:
        """Bring the snapshot up to date with the ledgers."""
        for name in self._cache.take_touched():
            ledger = self._cache.ledgers.get(name)
            if ledger is None:
                self.snapshot.drop_row(name)
            else:
                self.snapshot.write_row(ledger)

    def decide(self, gang: Gang, ready: Ready, now: float) -> Outcome:
        """Place what can be placed of a gang that is ready, and send it; else park it."""
        self.refresh_snapshot()
        need, cost_rows = ready.need, _COST_ROWS
        while True:
            demand = self._demand(gang, need, now)
            found, rows = self._place(demand)
            cost_rows += rows + _COST_ROWS_OF_HOLD * len(demand.holds)
            if isinstance(found, Plan):
                self._send(gang, found)
                return Outcome(placed=True, members=need, cost_rows=cost_rows)
            if not ready.divisible or need == 1:
                self._park(gang, ready, demand, found, now)
                return Outcome(placed=False, members=ready.need, cost_rows=cost_rows)
            need = found.fitting if 0 < found.fitting < need else 1

    def _place(self, demand: Demand) -> tuple[Plan | Unplaced, int]:
        """Between two gains room only shrinks, so what has failed once fails again."""
        known = self._failed.get(demand)
        if known is not None:
            return known, 0
        found = place(demand, self.snapshot, scoring=self.scoring)
        if isinstance(found, Unplaced):
            self._failed[demand] = found
        return found, found.rows_scanned

    def _demand(self, gang: Gang, need: int, now: float) -> Demand:
        group = self._gangs.group_of(gang.key)
        checks_sum = group is not None and bool(group.min_resources) and not gang.size(Standing.BOUND)
        return Demand(
            classes=tuple(ClassDemand(class_id, len(gang.waiting[class_id])) for class_id in self._in_order(gang)),
            need=need,
            excluded=self._setbacks.kept_apart(gang, now),
            holds=self._holds.against(gang.key, self._gangs.priority_of(gang)),
            min_resources=group.min_resources if group is not None and checks_sum else (),
            own=self._own_room(gang) if checks_sum else (),
        )

    def _in_order(self, gang: Gang) -> list[ClassId]:
        """Order the waiting classes by what they are, not by when they were seen: a restart changes no message."""
        if len(gang.waiting) == 1:
            return list(gang.waiting)
        return sorted(gang.waiting, key=lambda class_id: _content(self._classes[class_id]))

    def _own_room(self, gang: Gang) -> tuple[tuple[str, str, int], ...]:
        """Sum what pods of the gang itself still take from each node: (node, resource, amount)."""
        total: Counter[tuple[str, str]] = Counter()
        for uid, member in gang.members.items():
            node = charged_node(member, self._cache.intents.get(uid))
            if node:
                total.update({(node, name): amount for name, amount in self._classes[member.class_id].requests})
        return tuple((node, resource, amount) for (node, resource), amount in sorted(total.items()))

    def _send(self, gang: Gang, plan: Plan) -> None:
        places = _places(gang, plan)
        self._binding.send(gang, places)
        for member, node in places:
            self._holds.use(gang.key, member, node)

    def _park(self, gang: Gang, ready: Ready, demand: Demand, unplaced: Unplaced, now: float) -> None:
        holders = self._holds.holders_against(gang.key, self._gangs.priority_of(gang))
        refusal = self._setbacks.last_refusal(gang.key)
        said = verdict(gang, ready, demand, unplaced, holders=[title(key) for key in holders], refusal=refusal)
        self._conditions.say(gang.key, said, now, turn=ready.turn)
        self._backlog.park(gang.key, unplaced.wake, unplaced.wake_resources)
        self._deadlines.set(RetryDue(gang.key), self._retry_at(gang, demand, now))

    def _retry_at(self, gang: Gang, demand: Demand, now: float) -> float:
        times = [now + PARKED_AT_MOST_S]
        if demand.excluded:
            times.append(self._setbacks.apart_until(gang, now) or times[0])
        if demand.holds:
            times.append(now + HOLD_S)
        return min(times)


def _content(member_class: MemberClass) -> tuple[tuple[tuple[str, int], ...], tuple[HostPort, ...], str]:
    return (member_class.requests, member_class.host_ports, repr(member_class.rules))


def _places(gang: Gang, plan: Plan) -> list[tuple[Member, str]]:
    """Say which waiting member goes where: in the order in which they were seen."""
    waiting = {class_id: iter(members.values()) for class_id, members in gang.waiting.items()}
    return [
        (next(waiting[assignment.class_id]), assignment.node)
        for assignment in plan.assignments
        for _ in range(assignment.count)
    ]

"""The backlog: gangs that can be decided, in order, and gangs parked until something changes their verdict."""

from heapq import heapify, heappop, heappush
from typing import Final

from gangline.contract.membership import GangKey
from gangline.contract.ordering import OrderKey
from scheduler.core.cache import Gains
from scheduler.core.reasons import Cause

_NEW_NODE: Final = "new node"
_RULES: Final = "node rules"


class Backlog:
    """One entry for each gang, either queued or parked.

    Gangs that do not fit stop nobody: where they are woken again before all were tried (`pause`), those that have
    failed in this round let the others go first. A round ends when none of the others is left, or when as many were
    taken as were queued at its first pause.
    """

    def __init__(self) -> None:
        self._queued: dict[GangKey, OrderKey] = {}
        self._heap: list[tuple[OrderKey, GangKey]] = []
        self._failed: set[GangKey] = set()
        self._yielding: set[GangKey] = set()
        self._later: dict[GangKey, OrderKey] = {}
        self._left_in_round = 0
        self._parked: dict[GangKey, tuple[str, ...]] = {}
        self._waiting_for: dict[str, dict[GangKey, None]] = {}

    def queue(self, gang: GangKey, order: OrderKey) -> None:
        """Queue a gang, or move it to its new place; a parked one is parked no more."""
        self._unpark(gang)
        if gang in self._yielding:
            self._later[gang] = order
        elif self._queued.get(gang) != order:
            self._put(gang, order)

    def _put(self, gang: GangKey, order: OrderKey) -> None:
        self._queued[gang] = order
        heappush(self._heap, (order, gang))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._queued):
            self._heap = [(order, gang) for gang, order in self._queued.items()]
            heapify(self._heap)

    def take(self) -> GangKey | None:
        """Take the first gang, None when none is queued."""
        gang = self._first()
        if gang is None:
            self._end_round()
            return self._first()
        if self._yielding:
            self._left_in_round -= 1
            if self._left_in_round <= 0:
                self._end_round()
        return gang

    def _first(self) -> GangKey | None:
        while self._heap:
            order, gang = heappop(self._heap)
            if self._queued.get(gang) == order:
                del self._queued[gang]
                return gang
        return None

    def pause(self) -> None:
        """Take note that there is no time now for those that are queued: whoever has failed lets them go first."""
        if not self._yielding:
            self._left_in_round = self.queued
        failed, self._failed = self._failed, set()
        self._yielding |= failed
        self._later.update((gang, self._queued.pop(gang)) for gang in failed if gang in self._queued)

    def _end_round(self) -> None:
        later, self._later = self._later, {}
        self._failed.clear()
        self._yielding.clear()
        for gang, order in later.items():
            self._put(gang, order)

    def park(self, gang: GangKey, wake: frozenset[Cause], resources: frozenset[str]) -> None:
        """Set a gang aside until something in `wake` happens; ROOM counts only in one of `resources`.

        A new node wakes whoever waits for room or rules. MEMBERS and TIME are for the caller to see to.
        """
        self.remove(gang)
        self._failed.add(gang)
        topics = []
        if Cause.ROOM in wake:
            topics += sorted(_room(resource) for resource in resources)
        if Cause.NODE_RULES in wake:
            topics.append(_RULES)
        topics.append(_NEW_NODE)
        self._parked[gang] = tuple(topics)
        for topic in topics:
            self._waiting_for.setdefault(topic, {})[gang] = None

    def wake(self, gains: Gains) -> list[GangKey]:
        """Take out the parked gangs that these gains may help; the caller queues them again."""
        topics = [_room(resource) for resource in sorted(gains.resources)]
        topics += [_RULES] if gains.rules else []
        topics += [_NEW_NODE] if gains.new_node else []
        woken = list(dict.fromkeys(gang for topic in topics for gang in self._waiting_for.get(topic, ())))
        for gang in woken:
            self._unpark(gang)
        return woken

    def remove(self, gang: GangKey) -> None:
        """Forget a gang; one that is not here is no error."""
        self._queued.pop(gang, None)
        self._later.pop(gang, None)
        self._unpark(gang)

    def _unpark(self, gang: GangKey) -> None:
        for topic in self._parked.pop(gang, ()):
            waiting = self._waiting_for[topic]
            del waiting[gang]
            if not waiting:
                del self._waiting_for[topic]

    @property
    def queued(self) -> int:
        """How many gangs can be decided now."""
        return len(self._queued) + len(self._later)


def _room(resource: str) -> str:
    return f"room of {resource}"

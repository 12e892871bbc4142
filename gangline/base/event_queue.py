"""The event queue: what the watches told us and the results of our writes, not applied yet.

One entry per key holds the newest value, so a storm on one object costs one place. Classes of urgency keep
what gives or takes room ahead of what can wait. Results have a lane of their own: each is a fact about one
attempt, so none is ever merged or dropped.
"""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class EventQueue(Generic[K, V]):
    """Newest value per key, by urgency (the smallest first), and a lane of results before all of them."""

    def __init__(self) -> None:
        self._results: deque[V] = deque()
        self._classes: dict[int, OrderedDict[K, tuple[V, float]]] = {}
        self._urgency: dict[K, int] = {}

    def __len__(self) -> int:
        return len(self._urgency) + len(self._results)

    def put(self, key: K, value: V, urgency: int, now: float) -> None:
        """Store the newest value of a key; of its old and new urgency the smaller holds.

        It keeps its place in line unless it has become more urgent: then it joins the end of that class.
        """
        waiting = self._urgency.get(key, urgency)
        entered_at = now
        if waiting > urgency:
            del self._classes[waiting][key]
        elif key in self._urgency:
            urgency = waiting
            entered_at = self._classes[urgency][key][1]
        self._urgency[key] = urgency
        self._classes.setdefault(urgency, OrderedDict())[key] = (value, entered_at)

    def waiting(self, key: K) -> V | None:
        """Return the value of a key that has not been taken, None when there is none."""
        urgency = self._urgency.get(key)
        return None if urgency is None else self._classes[urgency][key][0]

    def discard(self, key: K) -> None:
        """Forget what waits under a key; none is no error."""
        urgency = self._urgency.pop(key, None)
        if urgency is not None:
            del self._classes[urgency][key]

    def put_result(self, value: V) -> None:
        """Append a result to its lane."""
        self._results.append(value)

    def take(self, limit: int) -> list[V]:
        """Remove and return about `limit` values: results, then entries from urgent to patient, oldest first.

        Nothing starves: every lane that is not empty gives at least one, even where that goes past the limit.
        """
        if limit < 1:
            raise ValueError(f"limit {limit}: wanted at least 1")
        classes = [self._classes[urgency] for urgency in sorted(self._classes) if self._classes[urgency]]
        taken = self._take_results(max(limit - len(classes), 1))
        for position, entries in enumerate(classes, start=1):
            kept_for_others = len(classes) - position
            taken += self._take_entries(entries, max(limit - len(taken) - kept_for_others, 1))
        return taken

    def depths(self) -> dict[int, int]:
        """How many entries wait in each class that was ever used."""
        return {urgency: len(entries) for urgency, entries in self._classes.items()}

    def oldest_age(self, now: float) -> dict[int, float]:
        """How many seconds the first entry of each class that is not empty has waited in it."""
        return {urgency: now - next(iter(entries.values()))[1] for urgency, entries in self._classes.items() if entries}

    def _take_results(self, limit: int) -> list[V]:
        return [self._results.popleft() for _ in range(min(limit, len(self._results)))]

    def _take_entries(self, entries: OrderedDict[K, tuple[V, float]], limit: int) -> list[V]:
        values = []
        for _ in range(min(limit, len(entries))):
            key, (value, _entered_at) = entries.popitem(last=False)
            del self._urgency[key]
            values.append(value)
        return values

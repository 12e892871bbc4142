"""The key queue: names of objects to look at again, for a reconciler.

A key is waiting, in flight, or both (added again while in flight: it comes back after `done`). No key is in
flight twice, and keys that have become ready leave in the order in which they were found ready, so a flood
of new keys cannot starve a delayed one.
"""

import heapq
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_STALE_ENTRIES_ALLOWED: Final = 64


class KeyQueue(Generic[K]):
    """Each key once, at its earliest ready time, and never in two hands."""

    def __init__(self) -> None:
        self._ready: OrderedDict[K, None] = OrderedDict()
        self._delayed: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._added = 0
        self._in_flight: set[K] = set()
        self._again: dict[K, float] = {}

    def __len__(self) -> int:
        """Keys that wait, also those that wait for `done`."""
        return len(self._ready) + len(self._delayed) + len(self._again)

    def add(self, key: K, ready_at: float = 0.0) -> None:
        """Ask for a key to be taken at `ready_at` or soon after; of several times the earliest holds."""
        if key in self._in_flight:
            self._again[key] = min(ready_at, self._again.get(key, ready_at))
        elif key not in self._ready and ready_at < self._delayed.get(key, float("inf")):
            self._delay(key, ready_at)

    def take(self, now: float) -> K | None:
        """Remove a ready key and keep it in flight until `done`; None if no key is ready."""
        self._find_ready(now)
        if not self._ready:
            return None
        key, _ = self._ready.popitem(last=False)
        self._in_flight.add(key)
        return key

    def done(self, key: K) -> None:
        """End a key's flight; if it was added meanwhile it waits again. Raises KeyError if it is not in flight."""
        self._in_flight.remove(key)
        if key in self._again:
            self._delay(key, self._again.pop(key))

    def next_ready(self, now: float) -> float | None:
        """When `take` can next succeed, never before `now`; None if nothing waits that could become ready by time."""
        if self._ready:
            return now
        return max(self._heap[0][0], now) if self._heap else None

    def _delay(self, key: K, ready_at: float) -> None:
        self._delayed[key] = ready_at
        self._added += 1
        heapq.heappush(self._heap, (ready_at, self._added, key))
        if len(self._heap) > 2 * len(self._delayed) + _STALE_ENTRIES_ALLOWED:
            self._heap = [entry for entry in self._heap if self._is_current(entry)]
            heapq.heapify(self._heap)

    def _find_ready(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._delayed[key]
            self._ready[key] = None
            self._drop_stale()

    def _drop_stale(self) -> None:
        """Keep the head current. Only taking it can uncover a stale one: a time that holds is before all that do not."""
        while self._heap and not self._is_current(self._heap[0]):
            heapq.heappop(self._heap)

    def _is_current(self, entry: tuple[float, int, K]) -> bool:
        ready_at, _, key = entry
        return self._delayed.get(key) == ready_at

"""Deadlines: one for each key, the earliest first."""

from collections.abc import Hashable
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

from msgspec import Struct

from gangline.contract.membership import GangKey

K = TypeVar("K", bound=Hashable)


class ReadDue(Struct, frozen=True):
    """A pod is to be read again."""

    uid: str


class WriteDue(Struct, frozen=True):
    """The condition of a pod is to be written again."""

    uid: str


class HoldOver(Struct, frozen=True):
    """The room of this lost pod is held no longer."""

    uid: str


class RetryDue(Struct, frozen=True):
    """A gang is to be looked at again."""

    gang: GangKey


class SpeakDue(Struct, frozen=True):
    """A gang is to say what it could not say before."""

    gang: GangKey


Alarm = ReadDue | WriteDue | HoldOver | RetryDue | SpeakDue


class Deadlines(Generic[K]):
    """Times (monotonic seconds) at which something is due; of equal times the one set first."""

    def __init__(self) -> None:
        self._at: dict[K, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = count()

    def set(self, key: K, at: float) -> None:
        """Let the key be due at this time, whatever it was before."""
        entry = self._at.get(key)
        if entry is not None and entry[0] == at:
            return
        number = next(self._sequence)
        self._at[key] = (at, number)
        heappush(self._heap, (at, number, key))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._at):
            self._heap = sorted((at, number, key) for key, (at, number) in self._at.items())

    def bring_forward(self, key: K, at: float) -> None:
        """Let the key be due at this time unless it is due earlier."""
        entry = self._at.get(key)
        if entry is None or at < entry[0]:
            self.set(key, at)

    def cancel(self, key: K) -> None:
        """Let the key not be due; one that was not is no error."""
        self._at.pop(key, None)

    def take_due(self, now: float) -> list[K]:
        """Take all that is due."""
        due = []
        while self._heap and self._heap[0][0] <= now:
            at, number, key = heappop(self._heap)
            if self._at.get(key) == (at, number):
                del self._at[key]
                due.append(key)
        return due

    def next_at(self) -> float | None:
        """Return when the next one is due, None if there is none."""
        while self._heap and self._at.get(self._heap[0][2]) != self._heap[0][:2]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def __len__(self) -> int:
        return len(self._at)

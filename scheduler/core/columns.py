"""Resource-major columns: what each row has to give and what of it is free, as int64 that cannot overflow."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from scheduler.core.arrays import AMOUNT_LIMIT, Amounts, Counts, Row, Rows

_PRODUCT_LIMIT: Final = 2**62


class Columns:
    """Two tables of shape (resources, capacity), `allocatable` and `free`; both grow by doubling.

    A resource has a line while a row lists it; afterwards another may have that line, on which nothing is left. A row
    has nothing of what it does not list. `free` is allocatable - used and may be negative. Amounts beyond AMOUNT_LIMIT
    are cut to it, always towards less room.
    """

    __slots__ = ("_lines", "_listed", "_unused", "_users", "allocatable", "free")

    def __init__(self, capacity: int) -> None:
        self._lines: dict[str, int] = {}
        self._unused: list[int] = [0]
        self._users: Counter[str] = Counter()
        self._listed: dict[Row, AbstractSet[str]] = {}
        self.allocatable: Amounts = np.zeros((1, capacity), np.int64)
        self.free: Amounts = np.zeros((1, capacity), np.int64)

    @property
    def capacity(self) -> int:
        """How many rows there is space for."""
        return int(self.free.shape[1])

    @property
    def line_count(self) -> int:
        """How many lines the tables have, some of them perhaps not in use yet."""
        return len(self.free)

    def line_of(self, resource: str) -> int | None:
        """Return the resource's line, None when no row lists it."""
        return self._lines.get(resource)

    def grow(self) -> None:
        """Double the capacity."""
        self.allocatable = np.concatenate([self.allocatable, np.zeros_like(self.allocatable)], axis=1)
        self.free = np.concatenate([self.free, np.zeros_like(self.free)], axis=1)

    def write(self, row: Row, allocatable: Mapping[str, int], used: Mapping[str, int]) -> None:
        """Replace what is known of a row."""
        if self._listed.get(row) != allocatable.keys():
            self._list(row, frozenset(allocatable))
        lines = len(self.free)
        given, free = [0] * lines, [0] * lines
        for resource, amount in allocatable.items():
            line = self._lines[resource]
            given[line] = max(0, min(amount, AMOUNT_LIMIT - 1))
            free[line] = max(-AMOUNT_LIMIT, min(amount - used.get(resource, 0), AMOUNT_LIMIT - 1))
        self.allocatable[:, row] = given
        self.free[:, row] = free

    def clear(self, row: Row) -> None:
        """Leave the row nothing."""
        self.allocatable[:, row] = 0
        self.free[:, row] = 0
        self._list(row, frozenset())

    def take(self, rows: Rows, counts: Counts, amounts: Sequence[int]) -> Amounts:
        """Lower what is free in each row by counts x amounts (one amount per line) and return what was there before.

        Raises OverflowError when a product would not fit.
        """
        if int(counts.max(initial=0)) * max(amounts, default=0) >= _PRODUCT_LIMIT:
            raise OverflowError(f"{int(counts.max())} members of {max(amounts)} each are too many to count")
        return self.lower(rows, np.array(amounts, np.int64)[:, np.newaxis] * counts)

    def lower(self, rows: Rows, wanted: Amounts) -> Amounts:
        """Lower what is free in each row by its own amounts (lines x rows) and return what was there before."""
        before: Amounts = self.free[:, rows]
        self.free[:, rows] = np.maximum(before - wanted, -AMOUNT_LIMIT)
        return before

    def put_back(self, rows: Rows, before: Amounts) -> None:
        """Undo a `take`."""
        self.free[:, rows] = before

    def describe(self, row: Row) -> dict[str, tuple[int, int]]:
        """Allocatable and free of each resource of which the row has or owes something."""
        return {
            resource: (int(self.allocatable[line, row]), int(self.free[line, row]))
            for resource, line in sorted(self._lines.items())
            if self.allocatable[line, row] or self.free[line, row]
        }

    def _list(self, row: Row, resources: AbstractSet[str]) -> None:
        """Take in which resources the row lists from now on."""
        before = self._listed.pop(row, frozenset())
        if resources:
            self._listed[row] = resources
        for resource in sorted(resources - before):
            self._users[resource] += 1
            if resource not in self._lines:
                self._lines[resource] = self._unused_line()
        for resource in sorted(before - resources):
            self._users[resource] -= 1
            if not self._users[resource]:
                del self._users[resource]
                self._unused.append(self._lines.pop(resource))

    def _unused_line(self) -> int:
        if not self._unused:
            self._unused = list(reversed(range(len(self.free), 2 * len(self.free))))
            self.allocatable = np.concatenate([self.allocatable, np.zeros_like(self.allocatable)])
            self.free = np.concatenate([self.free, np.zeros_like(self.free)])
        return self._unused.pop()

"""Resource-major columns: what each row has to give and what of it is free, as int64 that cannot overflow."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from scheduler.core.arrays import AMOUNT_LIMIT, Amounts, Counts, Row, Rows

_PRODUCT_LIMIT: Final = 2**62


class Columns:
    """Two tables of shape (resources, capacity), `allocatable` and `free`; both grow by doubling.

    A resource gets its line when a row first lists it. A row has nothing of what it does not list. `free` is
    allocatable - used and may be negative. Amounts beyond AMOUNT_LIMIT are cut to it, always towards less room.
    """

    __slots__ = ("_lines", "allocatable", "free")

    def __init__(self, capacity: int) -> None:
        self._lines: dict[str, int] = {}
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
        """Return the resource's line, None when no row has ever listed it."""
        return self._lines.get(resource)

    def grow(self) -> None:
        """Double the capacity."""
        self.allocatable = np.concatenate([self.allocatable, np.zeros_like(self.allocatable)], axis=1)
        self.free = np.concatenate([self.free, np.zeros_like(self.free)], axis=1)

    def write(self, row: Row, allocatable: Mapping[str, int], used: Mapping[str, int]) -> None:
        """Replace what is known of a row."""
        for resource in allocatable:
            if resource not in self._lines:
                self._add_line(resource)
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

    def take(self, rows: Rows, counts: Counts, amounts: Sequence[int]) -> Amounts:
        """Lower what is free in each row by counts x amounts (one amount per line) and return what was there before.

        Raises OverflowError when a product would not fit.
        """
        if int(counts.max(initial=0)) * max(amounts, default=0) >= _PRODUCT_LIMIT:
            raise OverflowError(f"{int(counts.max())} members of {max(amounts)} each are too many to count")
        before: Amounts = self.free[:, rows]
        wanted = np.array(amounts, np.int64)[:, np.newaxis] * counts
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

    def _add_line(self, resource: str) -> None:
        if len(self._lines) == len(self.free):
            self.allocatable = np.concatenate([self.allocatable, np.zeros_like(self.allocatable)])
            self.free = np.concatenate([self.free, np.zeros_like(self.free)])
        self._lines[resource] = len(self._lines)

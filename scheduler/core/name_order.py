"""The one total order of nodes: by name, whatever rows they have."""

import numpy as np

from scheduler.core.arrays import Ranks, Row, Rows


class NameOrder:
    """Rows in the order of their names; sorted again when first asked after a change."""

    __slots__ = ("_is_sorted", "_names", "_ranks", "_rows", "_sorted")

    def __init__(self) -> None:
        self._names: dict[Row, str] = {}
        self._rows: list[Row] = []
        self._sorted: Rows = np.zeros(0, np.intp)
        self._ranks: Ranks = np.zeros(0, np.int64)
        self._is_sorted = True

    def add(self, row: Row, name: str) -> None:
        """Add a node that has come."""
        self._names[row] = name
        self._rows.append(row)
        self._is_sorted = False

    def remove(self, row: Row) -> None:
        """Remove a node that has gone."""
        del self._names[row]
        self._rows.remove(row)
        self._is_sorted = False

    def rows(self) -> Rows:
        """Return the rows of all nodes, by name."""
        self._sort()
        return self._sorted

    def ranks(self) -> Ranks:
        """Return per row its place among all nodes, by name; of dead rows anything."""
        self._sort()
        return self._ranks

    def _sort(self) -> None:
        if self._is_sorted:
            return
        # The list is nearly sorted from the last time, which costs about one comparison for each node.
        self._rows.sort(key=self._names.__getitem__)
        self._sorted = np.array(self._rows, np.intp)
        self._ranks = np.zeros(max(self._rows, default=-1) + 1, np.int64)
        self._ranks[self._sorted] = np.arange(len(self._rows))
        self._is_sorted = True

"""What rules can see of each row's node, as codes: nodes that look alike to a set of rules are judged once."""

from collections.abc import Callable
from typing import Final

import numpy as np

from scheduler.core.arrays import Ranks, Row, Rows
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules

_REMEMBERED_KEYS: Final = 64
_Read = Callable[[NodeFacts], object]


class NodeTraits:
    """Names and facts by row, and codes of them; a label's codes are made when a rule first reads its key."""

    __slots__ = ("_labels", "_rows", "_states", "facts", "names")

    def __init__(self) -> None:
        self.names: list[str] = []
        self.facts: list[NodeFacts] = []
        self._rows: dict[str, Row] = {}
        self._states = _Codes()
        self._labels: dict[str, _Codes] = {}

    def write(self, row: Row, name: str, facts: NodeFacts) -> None:
        """Replace what is known of a row; new rows come one after the other."""
        if row == len(self.names):
            self.names.append(name)
            self.facts.append(facts)
        elif self._rows.get(self.names[row]) == row:
            del self._rows[self.names[row]]
        self.names[row], self.facts[row], self._rows[name] = name, facts, row
        self._states = self._written(self._states, row, _state)
        for key, codes in self._labels.items():
            self._labels[key] = self._written(codes, row, _label(key))

    def alike(self, rules: NodeRules, rows: Rows) -> tuple[Rows, Rows]:
        """Group the rows by what the rules see of them.

        Return one row of each group, and for each of `rows` the place of its group.
        """
        groups: Ranks = self._states.column[rows]
        for key, values in sorted(rules.label_values.items()):
            column = self._codes_of(key).told_apart(values, rows)
            groups = _grouped(groups * (int(column.max(initial=0)) + 1) + column)[1]
        pinned = [self._rows[name] for name in sorted(rules.node_names) if name in self._rows]
        if pinned:
            place = np.zeros(len(self.names), np.int64)
            place[pinned] = np.arange(1, len(pinned) + 1)
            groups = groups * (len(pinned) + 1) + place[rows]
        first, groups = _grouped(groups)
        return rows[first], groups

    def _codes_of(self, key: str) -> "_Codes":
        codes = self._labels.pop(key, None) or self._coded(_label(key))
        self._labels[key] = codes
        if len(self._labels) > _REMEMBERED_KEYS:
            del self._labels[next(iter(self._labels))]
        return codes

    def _written(self, codes: "_Codes", row: Row, read: _Read) -> "_Codes":
        codes.write(row, read(self.facts[row]))
        return self._coded(read) if codes.is_crowded(len(self.facts)) else codes

    def _coded(self, read: _Read) -> "_Codes":
        codes = _Codes()
        for row, facts in enumerate(self.facts):
            codes.write(Row(row), read(facts))
        return codes


class _Codes:
    """A code for each distinct value of a column, in the order in which the values were first seen."""

    __slots__ = ("_codes", "column")

    def __init__(self) -> None:
        self._codes: dict[object, int] = {}
        self.column: Ranks = np.zeros(1, np.int64)

    def write(self, row: Row, value: object) -> None:
        if row >= len(self.column):
            self.column = np.concatenate([self.column, np.zeros(max(row + 1, len(self.column)), np.int64)])
        self.column[row] = self._codes.setdefault(value, len(self._codes))

    def told_apart(self, values: frozenset[str] | None, rows: Rows) -> Ranks:
        """Return a code for each of the rows by which these values, and no value, are told from all others; None: all."""
        column: Ranks = self.column[rows]
        if values is None:
            return column
        told = [self._codes[value] for value in (None, *sorted(values)) if value in self._codes]
        places = np.zeros(len(self._codes), np.int64)
        places[told] = np.arange(1, len(told) + 1)
        return places[column]

    def is_crowded(self, rows: int) -> bool:
        """Tell whether most of the values must be those of nodes long gone."""
        return len(self._codes) > 4 * rows + 64


def _grouped(codes: Ranks) -> tuple[Rows, Ranks]:
    """Give the different codes numbers from 0, the smallest first: the first place of each, and the number at each place."""
    size = int(codes.max(initial=0)) + 1
    if size > 4 * len(codes) + 64:
        return np.unique(codes, return_index=True, return_inverse=True)[1:]
    # What np.unique does by sorting, which takes many times as long where there are few codes.
    is_there = np.zeros(size, np.bool_)
    is_there[codes] = True
    numbers: Ranks = (np.cumsum(is_there) - 1)[codes]
    first = np.zeros(int(is_there.sum()), np.intp)
    first[numbers[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first, numbers


def _label(key: str) -> _Read:
    return lambda facts: facts.labels.get(key)


def _state(facts: NodeFacts) -> object:
    return facts.taints, facts.unschedulable, facts.deleting

"""Verdicts: what rules say about nodes, remembered until the nodes' facts change."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from scheduler.core.arrays import Codes, Ranks, Row
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.node_traits import NodeTraits

Judge = Callable[[NodeRules, str, NodeFacts], int]
"""A rule about one node: (what is demanded, node name, node facts) -> a code from 0 to 255.

It may read the node's taints, cordon, deletion, the labels in `label_values`, of which it tells no other values apart than
those, and the name if it is in `node_names`.
"""

_REMEMBERED: Final = 128


class Verdicts:
    """One array of codes for each judge and set of rules; the least recently asked for is forgotten first."""

    __slots__ = ("_capacity", "_epoch", "_nodes", "_remembered", "_written_at")

    def __init__(self, nodes: NodeTraits, capacity: int) -> None:
        self._nodes = nodes
        self._capacity = capacity
        self._epoch = 0
        self._written_at: Ranks = np.zeros(capacity, np.int64)
        self._remembered: dict[tuple[Judge, NodeRules], _Remembered] = {}

    def write(self, row: Row, name: str, facts: NodeFacts) -> None:
        """Take note of a row's node, new or changed; new rows come one after the other."""
        self._nodes.write(row, name, facts)
        self._epoch += 1
        self._written_at[row] = self._epoch

    def grow(self) -> None:
        """Double the capacity."""
        self._capacity *= 2
        self._written_at = np.concatenate([self._written_at, np.zeros_like(self._written_at)])

    def judged(self, judge: Judge, rules: NodeRules) -> Codes:
        """Return per row what the judge says; it is asked only about rows that were written since the last time."""
        remembered = self._remembered.pop((judge, rules), None) or _Remembered()
        self._remembered[judge, rules] = remembered
        if len(self._remembered) > _REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        if remembered.epoch != self._epoch:
            self._refresh(remembered, judge, rules)
        return remembered.codes

    def questions(self) -> Iterator[tuple[Judge, NodeRules]]:
        """Yield what is remembered."""
        yield from list(self._remembered)

    def _refresh(self, remembered: "_Remembered", judge: Judge, rules: NodeRules) -> None:
        missing = self._capacity - len(remembered.codes)
        if missing:
            remembered.codes = np.concatenate([remembered.codes, np.zeros(missing, np.uint8)])
        stale = np.flatnonzero(self._written_at > remembered.epoch)
        examples, places = self._nodes.alike(rules, stale)
        names, facts = self._nodes.names, self._nodes.facts
        codes = [judge(rules, names[row], facts[row]) for row in examples.tolist()]
        remembered.codes[stale] = np.array(codes, np.uint8)[places]
        remembered.epoch = self._epoch


class _Remembered:
    """Codes per row, and up to which epoch they are true."""

    __slots__ = ("codes", "epoch")

    def __init__(self) -> None:
        self.codes: Codes = np.zeros(0, np.uint8)
        self.epoch = 0

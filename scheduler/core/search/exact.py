"""Exact search for small gangs: which mixes of classes can be placed, node after node.

What members do on one node changes nothing on another, so a node is described by the mixes that fill it: vectors with
a count for each class. The search keeps the best mixes that the nodes so far can take together, of which none is
less than another in every class, and stops at a budget of steps.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from scheduler.core.arrays import Row
from scheduler.core.search.attempt import Attempt, Share
from scheduler.core.search.candidates import Candidates, capacity
from scheduler.core.snapshot import Snapshot

_STEPS: Final = 20_000

Mix = tuple[int, ...]
"""Members of each class, in the order of the classes."""


class _OutOfStepsError(Exception):
    """The gang is not small."""


class _Budget:
    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise _OutOfStepsError


class _Placed(Struct, frozen=True, eq=False):
    """The last step on the way to a mix: what this row took on top of what came before."""

    row: Row
    mix: Mix
    before: "_Placed | None"


def exact(snapshot: Snapshot, classes: Sequence[Candidates], need: int) -> Attempt:
    """Find the attempt that places most of the need: `is_best`, or nothing when the budget has ended the search."""
    budget = _Budget(_STEPS)
    try:
        frontier = _frontier(snapshot, classes, need, budget)
    except _OutOfStepsError:
        return Attempt((), 0, _STEPS)
    return _attempt(classes, frontier, need, _STEPS - budget.left)


def _frontier(
    snapshot: Snapshot, classes: Sequence[Candidates], need: int, budget: _Budget
) -> dict[Mix, _Placed | None]:
    """Return the best mixes that all rows can take together, or those of the first rows that suffice."""
    limits = tuple(candidates.count for candidates in classes)
    frontier: dict[Mix, _Placed | None] = {(0,) * len(classes): None}
    for mixes, rows in _alike(snapshot, classes, budget):
        for row in rows:
            wider = _extended(frontier, mixes, row, limits, budget)
            if wider.keys() == frontier.keys():
                break
            frontier = wider
            if max(map(sum, frontier)) >= need:
                return frontier
    return frontier


def _alike(
    snapshot: Snapshot, classes: Sequence[Candidates], budget: _Budget
) -> list[tuple[tuple[Mix, ...], list[Row]]]:
    """Group the rows by the mixes that fill them, in the order of node names."""
    groups: dict[tuple[Mix, ...], list[Row]] = {}
    members = np.zeros((len(classes), snapshot.free.shape[1]), np.int64)
    for place, candidates in enumerate(classes):
        members[place, candidates.rows] = np.minimum(capacity(snapshot, candidates), candidates.count)
    rows = np.flatnonzero(members.any(axis=0))
    for row in rows[np.argsort(snapshot.ranks()[rows])].tolist():
        mixes = _mixes(snapshot, classes, Row(row), tuple(members[:, row].tolist()), budget)
        groups.setdefault(mixes, []).append(Row(row))
    return list(groups.items())


def _mixes(snapshot: Snapshot, classes: Sequence[Candidates], row: Row, most: Mix, budget: _Budget) -> tuple[Mix, ...]:
    """Return the mixes that fill a row: no member can be added to them."""
    free: list[int] = snapshot.free[:, row].tolist()
    found = list(_fillings(classes, free, most, budget))
    return tuple(sorted(_undominated(found, budget), reverse=True))


def _fillings(classes: Sequence[Candidates], free: list[int], most: Mix, budget: _Budget) -> Iterator[Mix]:
    """Yield the mixes that fit, the last class always with as many as still fit."""
    request, ports = classes[0].request, classes[0].request.host_ports
    asked = [(line, amount) for line, amount in enumerate(request.amounts) if amount]
    fitting = min([most[0], *(free[line] // amount for line, amount in asked)]) if most[0] else 0
    budget.spend(1)
    if len(classes) == 1:
        yield (max(fitting, 0),)
        return
    for count in range(max(fitting, 0), -1, -1):
        rest = list(free)
        for line, amount in asked:
            rest[line] -= count * amount
        clashes = [
            bool(count) and any(port.conflicts_with(other) for port in ports for other in candidates.request.host_ports)
            for candidates in classes[1:]
        ]
        most_left = tuple(0 if clash else limit for clash, limit in zip(clashes, most[1:], strict=True))
        for mix in _fillings(classes[1:], rest, most_left, budget):
            yield (count, *mix)


def _extended(
    frontier: dict[Mix, _Placed | None], mixes: Sequence[Mix], row: Row, limits: Mix, budget: _Budget
) -> dict[Mix, _Placed | None]:
    """Return the best mixes with one row more."""
    budget.spend(len(frontier) * len(mixes))
    wider = dict(frontier)
    for mix, placed in frontier.items():
        for added in mixes:
            total = tuple(map(min, map(sum, zip(mix, added, strict=True)), limits))
            if total not in wider:
                taken = tuple(after - before for after, before in zip(total, mix, strict=True))
                wider[total] = _Placed(row, taken, placed)
    return {mix: wider[mix] for mix in _undominated(list(wider), budget)}


def _undominated(mixes: Sequence[Mix], budget: _Budget) -> list[Mix]:
    """Leave out every mix that another one equals or exceeds in each class."""
    kept: list[Mix] = []
    for mix in sorted(set(mixes), reverse=True):
        budget.spend(len(kept))
        if not any(all(map(int.__ge__, other, mix)) for other in kept):
            kept.append(mix)
    return kept


def _attempt(
    classes: Sequence[Candidates], frontier: dict[Mix, _Placed | None], need: int, rows_scanned: int
) -> Attempt:
    """Read a way back from the mix that places most; among equals from the one with most of the first classes."""
    mix = max(frontier, key=lambda each: (min(need, sum(each)), each))
    wanted = _trimmed(mix, need)
    takes: list[dict[Row, int]] = [{} for _ in classes]
    placed = frontier[mix]
    while placed is not None:
        for place, count in enumerate(placed.mix):
            taken = min(count, wanted[place] - sum(takes[place].values()))
            if taken:
                takes[place][placed.row] = taken
        placed = placed.before
    shares = tuple(
        Share(candidates, np.array(list(taken), np.intp), np.array(list(taken.values()), np.int64))
        for candidates, taken in zip(classes, takes, strict=True)
        if taken
    )
    return Attempt(shares, sum(wanted), rows_scanned, is_best=True)


def _trimmed(mix: Mix, need: int) -> Mix:
    """Leave out members beyond the need, from the last class on."""
    left, trimmed = need, []
    for count in mix:
        trimmed.append(min(count, left))
        left -= trimmed[-1]
    return tuple(trimmed)

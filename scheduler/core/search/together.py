"""The search for room for a whole gang: quick ways first, then all that are affordable, then proof."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Final

from msgspec.structs import replace

from scheduler.core.events import Scoring
from scheduler.core.filters.resources import total_free
from scheduler.core.search.attempt import Attempt, fill
from scheduler.core.search.candidates import Candidates, fits, union
from scheduler.core.search.exact import exact
from scheduler.core.snapshot import Snapshot

_ALL_ORDERS: Final = 4
"""Up to this many classes are tried in every order."""
_FEW_ORDERS: Final = 4
"""So many rotations of the tightest order are tried for more classes."""


def search(snapshot: Snapshot, classes: Sequence[Candidates], need: int, scoring: Scoring) -> Attempt:
    """Find the attempt that places most of the need."""
    if len(classes) == 1:
        return replace(fill(snapshot, classes, need, scoring), is_best=True)
    alone = [fits(snapshot, candidates) for candidates in classes]
    orders = _orders(classes, alone, need)
    best = fill(snapshot, next(orders), need, scoring)
    rows_scanned = best.rows_scanned + sum(len(candidates.rows) for candidates in classes)
    bound = need if best.placed == need else min(need, sum(alone), _bound_by_sums(snapshot, classes))
    while best.placed < bound and (order := next(orders, None)) is not None:
        attempt = fill(snapshot, order, need, scoring)
        rows_scanned += attempt.rows_scanned
        if attempt.placed > best.placed:
            best = attempt
    if best.placed == bound:
        return replace(best, rows_scanned=rows_scanned, is_best=True)
    found = exact(snapshot, classes, need)
    # An unfinished search may leave room for more members, and then no reason could be given against them.
    best = found if found.is_best else best
    return replace(best, rows_scanned=rows_scanned + found.rows_scanned)


def _orders(classes: Sequence[Candidates], alone: Sequence[int], need: int) -> Iterator[Sequence[Candidates]]:
    """Yield orders of the classes: tightest first where all must be placed, as given where some may be left out."""
    everyone = need == sum(candidates.count for candidates in classes)
    slack = [have / candidates.count for have, candidates in zip(alone, classes, strict=True)]
    tightest = [classes[place] for place in sorted(range(len(classes)), key=lambda place: (slack[place], place))]
    if not everyone:
        yield classes
    if len(classes) <= _ALL_ORDERS:
        yield from permutations(tightest)
    else:
        for shift in range(_FEW_ORDERS):
            first = shift * len(tightest) // _FEW_ORDERS
            yield tightest[first:] + tightest[:first]


def _bound_by_sums(snapshot: Snapshot, classes: Sequence[Candidates]) -> int:
    """Return how many members fit if each resource could be cut as one likes: an upper bound."""
    rows = union(snapshot, classes)
    amounts = [(dict(candidates.member_class.requests), candidates.count) for candidates in classes]
    bounds = []
    for resource in sorted({resource for request, _ in amounts for resource in request}):
        asked = sorted((request.get(resource, 0), count) for request, count in amounts)
        bounds.append(_members_within(total_free(snapshot, rows, resource), asked))
    return min(bounds)


def _members_within(free: int, amounts: Sequence[tuple[int, int]]) -> int:
    """Return how many members the amount serves, the most modest first."""
    members = 0
    for amount, count in amounts:
        served = count if not amount else min(count, free // amount)
        members += served
        free -= served * amount
    return members

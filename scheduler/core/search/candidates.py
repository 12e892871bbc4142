"""Candidates: where the members of one class may go, and how many of them there is room for now."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from msgspec import Struct

from scheduler.core.arrays import Counts, Mask, Rows
from scheduler.core.filters.closed import is_open
from scheduler.core.filters.host_ports import has_free_ports
from scheduler.core.filters.node_facts import first_failure
from scheduler.core.filters.resources import room
from scheduler.core.model.member_class import ClassId, MemberClass
from scheduler.core.snapshot import Request, Snapshot

WINDOW_SIZE: Final = 20_000
"""Clusters up to this many nodes are searched in one piece."""


class Candidates(Struct, frozen=True, eq=False):
    """The rows that members of one class may use as far as rules go, by node name, whatever the room in them."""

    class_id: ClassId
    member_class: MemberClass
    request: Request
    count: int
    rows: Rows


def windows(rows: Rows, size: int) -> Iterator[Rows]:
    """Yield pieces of the cluster to search one after the other, and at last the whole: only that proves a no."""
    if len(rows) > size:
        for start in range(0, len(rows), size):
            yield rows[start : start + size]
    yield rows


def candidates_of(snapshot: Snapshot, class_id: ClassId, count: int, *, within: Rows, apart: Rows) -> Candidates:
    """Find the candidates of a class among the rows `within`, leaving out those that are kept `apart` from it."""
    member_class, request = snapshot.class_of(class_id), snapshot.request_of(class_id)
    rows = within[:0] if member_class.unsupported else within[_admitted(snapshot, member_class, within)]
    if len(apart):
        rows = rows[~np.isin(rows, apart)]
    return Candidates(class_id, member_class, request, count, rows)


def capacity(snapshot: Snapshot, candidates: Candidates) -> Counts:
    """Return how many members each of the candidates has room for."""
    members = room(snapshot, candidates.rows, candidates.request)
    if candidates.request.host_ports:
        return np.minimum(members, has_free_ports(snapshot, candidates.rows, candidates.request))
    return members


def fits(snapshot: Snapshot, candidates: Candidates) -> int:
    """Return how many of the members find room when nobody else of the gang is there."""
    members = np.minimum(capacity(snapshot, candidates), candidates.count)
    return min(candidates.count, int(members.sum()))


def union(snapshot: Snapshot, classes: Iterable[Candidates]) -> Rows:
    """Return the rows that at least one of the classes may use, each once."""
    usable = np.zeros(snapshot.free.shape[1], np.bool_)
    for candidates in classes:
        usable[candidates.rows] = True
    return np.flatnonzero(usable)


def _admitted(snapshot: Snapshot, member_class: MemberClass, rows: Rows) -> Mask:
    codes = snapshot.judged(first_failure, member_class.rules)
    admitted: Mask = codes[rows] == 0
    return admitted & is_open(snapshot, rows)

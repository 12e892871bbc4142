"""Filter: what members ask for must be free (kube-scheduler NodeResourcesFit).

Integers, no epsilon, and only the resources that are asked for. A node has nothing of a resource that it does not list,
and a node where more is used than there is has no room. What changes the verdict: room in one of the resources
that are asked for (Cause.ROOM). Placing a member uses up what it asks for.
"""

import numpy as np

from scheduler.core.arrays import Counts, Mask, Rows
from scheduler.core.snapshot import Request, Snapshot


def room(snapshot: Snapshot, rows: Rows, request: Request) -> Counts:
    """Return how many members each of the rows has the resources for."""
    free, members = snapshot.free, np.full(len(rows), np.iinfo(np.int64).max)
    for _, line, amount in request.lines:
        if line is None:
            return np.zeros(len(rows), np.int64)
        have = free[line].take(rows)
        np.minimum(members, have if amount == 1 else have // amount, out=members)
    np.maximum(members, 0, out=members)
    return members


def lacking(snapshot: Snapshot, rows: Rows, request: Request) -> dict[str, Mask]:
    """Tell for each resource asked for which of the rows have too little of it for one member."""
    everywhere = np.ones(len(rows), np.bool_)
    return {
        resource: everywhere if line is None else snapshot.free[line].take(rows) < amount
        for resource, line, amount in request.lines
    }


def total_free(snapshot: Snapshot, rows: Rows, resource: str) -> int:
    """Sum what is free of a resource in the rows, exactly; rows where more is used than there is count as 0."""
    line = snapshot.line_of(resource)
    if line is None:
        return 0
    free = np.maximum(snapshot.free[line].take(rows), 0)
    # In two halves, because the sum of the whole could leave int64.
    return (int((free >> 32).sum()) << 32) + int((free & 0xFFFF_FFFF).sum())

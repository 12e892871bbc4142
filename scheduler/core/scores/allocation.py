"""Score: how much of what the members ask for is already in use (kube-scheduler MostAllocated, LeastAllocated)."""

from typing import Final

import numpy as np

from scheduler.core.arrays import Counts, Rows
from scheduler.core.snapshot import Request, Snapshot

WHOLE: Final = 1000
"""The score of rows that are all in use."""


def allocated(snapshot: Snapshot, rows: Rows, request: Request) -> Counts:
    """Return the share in use of each row in thousandths, the mean over the resources asked for (pods left out)."""
    lines = [line for resource, line, _ in request.lines if line is not None and resource != "pods"]
    if not lines:
        return np.zeros(len(rows), np.int64)
    total = np.zeros(len(rows))
    for line in lines:
        given = np.maximum(snapshot.allocatable[line].take(rows), 1)
        total += snapshot.free[line].take(rows) / given
    return WHOLE - np.clip(total * (WHOLE / len(lines)), 0, WHOLE).astype(np.int64)

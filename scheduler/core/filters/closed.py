"""Filter: a node that holds a pod that could never be read takes no members, for nobody knows what is free there.

What changes the verdict: that pod leaves or becomes readable (Cause.ROOM). Placing a member changes nothing.
"""

from scheduler.core.arrays import Mask, Rows
from scheduler.core.snapshot import Snapshot


def is_open(snapshot: Snapshot, rows: Rows) -> Mask:
    """Tell which of the rows are not closed."""
    return ~snapshot.closed[rows]

"""Filter: host ports must be free, and members that ask for one never share a node (kube-scheduler NodePorts).

What changes the verdict: a pod leaves (Cause.ROOM). Placing a member takes its ports on that node.
"""

import numpy as np

from scheduler.core.arrays import Mask, Rows
from scheduler.core.snapshot import Request, Snapshot


def has_free_ports(snapshot: Snapshot, rows: Rows, request: Request) -> Mask:
    """Tell on which of the rows all ports of a member are free."""
    in_use = np.zeros(snapshot.free.shape[1], np.bool_)
    in_use[snapshot.port_conflicts(request)] = True
    return ~in_use[rows]

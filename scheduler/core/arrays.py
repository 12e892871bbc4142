"""Array aliases of the scheduler's core: one name per meaning, with its dtype."""

from typing import NewType

import numpy as np
from numpy.typing import NDArray

Row = NewType("Row", int)
"""Index of a node's column; it stays the same while the node lives and is recycled afterwards."""

Rows = NDArray[np.intp]
"""Indices of nodes."""
Mask = NDArray[np.bool_]
"""One truth per node."""
Codes = NDArray[np.uint8]
"""One small code per node; 0 means nothing is wrong."""
Amounts = NDArray[np.int64]
"""Quantities of resources: milli-CPU, bytes, counts."""
Counts = NDArray[np.int64]
"""Numbers of members, one per node."""
Ranks = NDArray[np.int64]
"""Places in an order, one per node."""

AMOUNT_LIMIT = 2**53
"""Quantities in arrays stay below this: 9 PB, or 9e12 cores. A node that claims more has this much less one;
a member that asks for as much or more fits nowhere. So no sum of a few of them leaves int64."""

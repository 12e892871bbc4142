"""Choice: which of the rows that have room take how many of the members.

Rows come by node name, and places in that order break every tie, so the choice does not depend on row numbers.
Nodes with fewer PreferNoSchedule taints always come first.
"""

import numpy as np

from scheduler.core.arrays import Counts, Ranks, Rows
from scheduler.core.events import Scoring
from scheduler.core.scores.allocation import WHOLE, allocated
from scheduler.core.scores.soft_taints import unwelcome
from scheduler.core.search.candidates import Candidates
from scheduler.core.snapshot import Snapshot


def choose(
    snapshot: Snapshot, candidates: Candidates, members: Counts, wanted: int, scoring: Scoring
) -> tuple[Rows, Counts]:
    """Choose rows for `wanted` members, or for as many as there is room for; `members` is the capacity of each row."""
    usable = np.flatnonzero(members)
    rows, members = candidates.rows[usable], np.minimum(members[usable], wanted)
    soft = snapshot.judged(unwelcome, candidates.member_class.rules)[rows].astype(np.int64)
    score = allocated(snapshot, rows, candidates.request)
    if scoring is Scoring.PACK:
        # Among equals the larger room first, so that the gang takes few nodes.
        order = _first(soft * (WHOLE + 1) + (WHOLE - score), wanted - members, wanted)
        counts = _pack(members[order], wanted)
    else:
        order = _first(soft * (WHOLE + 1) + score, np.zeros_like(members), len(rows))
        counts = _spread(members[order], soft[order], wanted)
    taken = np.flatnonzero(counts)
    return rows[order[taken]], counts[taken]


def _first(key: Ranks, second_key: Ranks, limit: int) -> Rows:
    """Return the places of the `limit` smallest keys, sorted; the second key, then the place breaks ties."""
    size = len(key)
    unique = (key * (int(second_key.max(initial=0)) + 1) + second_key) * size + np.arange(size)
    nearest: Rows = np.argpartition(unique, limit)[:limit] if limit < size else np.arange(size)
    order: Rows = nearest[np.argsort(unique[nearest])]
    return order


def _pack(members: Counts, wanted: int) -> Counts:
    """Fill row after row."""
    before: Counts = np.cumsum(members) - members
    counts: Counts = np.clip(wanted - before, 0, members)
    return counts


def _spread(members: Counts, soft: Ranks, wanted: int) -> Counts:
    """Give every row the same, as far as it has room; rows with more soft taints only when the others are full."""
    counts = np.zeros_like(members)
    for taints in np.unique(soft).tolist():
        alike = np.flatnonzero(soft == taints)
        counts[alike] = _level(members[alike], wanted)
        wanted -= int(counts[alike].sum())
    return counts


def _level(members: Counts, wanted: int) -> Counts:
    """Find the height to which every row is filled; the rest goes one by one to the first rows that have more room."""
    if int(members.sum()) <= wanted:
        return members
    low, high = 0, wanted
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(members, middle).sum()) <= wanted:
            low = middle
        else:
            high = middle - 1
    counts = np.minimum(members, low)
    rest = wanted - int(counts.sum())
    counts[np.flatnonzero(members > low)[:rest]] += 1
    return counts

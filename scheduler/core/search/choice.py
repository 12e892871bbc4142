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
        counts = _pack(members, soft * (WHOLE + 1) + (WHOLE - score), wanted)
    else:
        counts = _spread(members, soft, score, wanted)
    taken = np.flatnonzero(counts)
    return rows[taken], counts[taken]


def _pack(members: Counts, key: Ranks, wanted: int) -> Counts:
    """Fill row after row, the smallest key first; among equals the larger room, so that the gang takes few nodes."""
    order = _first(key * (wanted + 1) + (wanted - members), wanted)
    before: Counts = np.cumsum(members[order]) - members[order]
    counts = np.zeros_like(members)
    counts[order] = np.clip(wanted - before, 0, members[order])
    return counts


def _spread(members: Counts, soft: Ranks, score: Ranks, wanted: int) -> Counts:
    """Give every row the same as far as it has room; rows with more soft taints only when the others are full."""
    if not soft.any():
        return _level(members, score, wanted)
    counts = np.zeros_like(members)
    for taints in np.unique(soft).tolist():
        alike = np.flatnonzero(soft == taints)
        counts[alike] = _level(members[alike], score[alike], wanted)
        wanted -= int(counts[alike].sum())
    return counts


def _level(members: Counts, key: Ranks, wanted: int) -> Counts:
    """Fill every row to one height; the rest goes one by one to the smallest keys among rows that have more room."""
    if int(members.sum()) <= wanted:
        return members
    low, high = 0, 0 if wanted < len(members) else wanted
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(members, middle).sum()) <= wanted:
            low = middle
        else:
            high = middle - 1
    counts: Counts = np.minimum(members, low)
    roomier = np.flatnonzero(members > low)
    counts[roomier[_first(key[roomier], wanted - int(counts.sum()))]] += 1
    return counts


def _first(key: Ranks, limit: int) -> Rows:
    """Return the places of the `limit` smallest keys, sorted; the place breaks ties."""
    size = len(key)
    unique = key * size + np.arange(size)
    nearest: Rows = np.argpartition(unique, limit)[:limit] if limit < size else np.arange(size)
    order: Rows = nearest[np.argsort(unique[nearest])]
    return order

"""Explanation: why a gang was not placed, counted on the snapshot with the members that do fit already there.

So a node that took some of them and has no room for one more counts as lacking what that one needs, as it would for
kube-scheduler, and "0 of all nodes are available" is true of every class that misses a member.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from scheduler.core.arrays import AMOUNT_LIMIT, Rows
from scheduler.core.filters.closed import is_open
from scheduler.core.filters.host_ports import has_free_ports
from scheduler.core.filters.node_facts import first_failure, reason_of
from scheduler.core.filters.resources import lacking
from scheduler.core.reasons import Cause, ClassVerdict, Missing, NodeReason, Shortfall, Unplaced, insufficient
from scheduler.core.search.attempt import Attempt
from scheduler.core.search.candidates import Candidates, fits, union
from scheduler.core.snapshot import Snapshot

_CHANGED_BY_RULES: Final = frozenset(
    {
        NodeReason.DELETING,
        NodeReason.NODE_NAME,
        NodeReason.UNSCHEDULABLE,
        NodeReason.TAINT,
        NodeReason.NODE_AFFINITY,
        NodeReason.CLOSED,
    }
)
_CHANGED_BY_ANY_POD: Final = frozenset({NodeReason.HOST_PORT, NodeReason.CLOSED})


class _Standing(Struct, frozen=True):
    """What keeps one more member of a class from all nodes: counted reasons, and the resources among them."""

    reasons: Counter[str]
    lacks: frozenset[str]


def explain(
    snapshot: Snapshot,
    classes: Sequence[Candidates],
    attempt: Attempt,
    *,
    need: int,
    shortfall: tuple[Shortfall, ...],
    rows_scanned: int,
) -> Unplaced:
    """Put the reasons together; `attempt` is the most that was placed, on a snapshot as it was then."""
    alone = [fits(snapshot, candidates) for candidates in classes]
    with snapshot.trial() as trial:
        attempt.take(trial)
        standings = [_standing(snapshot, candidates) for candidates in classes]
    texts = {text for standing in standings for text in standing.reasons}
    return Unplaced(
        node_count=snapshot.node_count,
        need=need,
        classes=tuple(map(_verdict, classes, standings, alone)),
        fitting=attempt.placed,
        exact=attempt.is_best,
        missing=_missing(classes, standings, attempt, need),
        shortfall=shortfall,
        wake=_causes(texts, has_shortfall=bool(shortfall)),
        wake_resources=_scarce(snapshot, classes, standings)
        | {each.resource for each in shortfall}
        | ({"pods"} if texts & _CHANGED_BY_ANY_POD else set()),
        rows_scanned=rows_scanned,
    )


def _standing(snapshot: Snapshot, candidates: Candidates) -> _Standing:
    rows = snapshot.rows()
    if candidates.member_class.unsupported:
        return _Standing(Counter({NodeReason.UNSUPPORTED: len(rows)}), frozenset())
    codes = snapshot.judged(first_failure, candidates.member_class.rules)[rows]
    reasons: Counter[str] = Counter()
    for code, count in enumerate(np.bincount(codes).tolist()[1:], 1):
        reasons[reason_of(code)] = count
    admitted = rows[codes == 0]
    opened = admitted[is_open(snapshot, admitted)]
    reasons[NodeReason.CLOSED] = len(admitted) - len(opened)
    together = opened[np.isin(opened, candidates.rows)]
    reasons[NodeReason.KEPT_APART] = len(opened) - len(together)
    free = together[has_free_ports(snapshot, together, candidates.request)]
    reasons[NodeReason.HOST_PORT] = len(together) - len(free)
    lacks = {name: int(short.sum()) for name, short in lacking(snapshot, free, candidates.request).items()}
    reasons.update({insufficient(name): count for name, count in lacks.items()})
    return _Standing(+reasons, frozenset(name for name, count in lacks.items() if count))


def _verdict(candidates: Candidates, standing: _Standing, alone: int) -> ClassVerdict:
    return ClassVerdict(
        class_id=candidates.class_id,
        node_reasons=tuple(sorted(standing.reasons.items(), key=lambda item: (-item[1], item[0]))),
        fits=alone,
    )


def _missing(
    classes: Sequence[Candidates], standings: Sequence[_Standing], attempt: Attempt, need: int
) -> tuple[Missing, ...]:
    """Say which members are missing, those of earlier classes first, and what each of them needs of what lacks."""
    left, missing, placed = need - attempt.placed, [], attempt.placed_by_class()
    for candidates, standing in zip(classes, standings, strict=True):
        count = min(left, candidates.count - placed.get(candidates.class_id, 0))
        if count:
            each = tuple(item for item in candidates.member_class.requests if item[0] in standing.lacks)
            missing.append(Missing(candidates.class_id, count, each))
            left -= count
    return tuple(missing)


def _causes(texts: set[str], *, has_shortfall: bool) -> frozenset[Cause]:
    causes = {Cause.ROOM, Cause.MEMBERS}
    if has_shortfall or texts & _CHANGED_BY_RULES:
        causes.add(Cause.NODE_RULES)
    if NodeReason.KEPT_APART in texts:
        causes.add(Cause.TIME)
    return frozenset(causes)


def _scarce(snapshot: Snapshot, classes: Sequence[Candidates], standings: Sequence[_Standing]) -> frozenset[str]:
    """Return the resources of which more on some node could help.

    For one class those that its members lack. Classes could share nodes in other ways than the one that was tried, so
    for several it is every resource of which some node has too little for the whole gang.
    """
    if len(classes) == 1:
        return standings[0].lacks
    rows = union(snapshot, classes)
    wanted: Counter[str] = Counter()
    for candidates in classes:
        wanted.update({name: amount * candidates.count for name, amount in candidates.member_class.requests})
    return frozenset(name for name, amount in wanted.items() if _is_scarce(snapshot, rows, name, amount))


def _is_scarce(snapshot: Snapshot, rows: Rows, resource: str, amount: int) -> bool:
    line = snapshot.line_of(resource)
    return line is None or bool((snapshot.free[line][rows] < min(amount, AMOUNT_LIMIT)).any())

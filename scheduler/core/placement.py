"""Placement: from a demand and a snapshot to a plan, or to the reasons why there is none."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from scheduler.core.arrays import Rows
from scheduler.core.events import Scoring
from scheduler.core.filters.resources import total_free
from scheduler.core.model.member_class import ClassId
from scheduler.core.reasons import Shortfall, Unplaced
from scheduler.core.search.attempt import Attempt
from scheduler.core.search.candidates import WINDOW_SIZE, Candidates, candidates_of, union, windows
from scheduler.core.search.explanation import explain
from scheduler.core.search.together import search
from scheduler.core.snapshot import Snapshot, Trial


class ClassDemand(Struct, frozen=True):
    """Members of one class that wait."""

    class_id: ClassId
    count: int


class Hold(Struct, frozen=True):
    """Room on a node for one member of another gang; to be treated as used."""

    node: str
    class_id: ClassId


class Demand(Struct, frozen=True):
    """What must be placed together: `need` of the members, 1 to the sum of the counts.

    `excluded` are (class, node) pairs kept apart. `min_resources` must be reached by what is free on usable nodes
    plus what the gang itself already holds there: `own` has (node, resource, amount), also of nodes that are not usable.
    """

    classes: tuple[ClassDemand, ...]
    need: int
    excluded: tuple[tuple[ClassId, str], ...] = ()
    holds: tuple[Hold, ...] = ()
    min_resources: tuple[tuple[str, int], ...] = ()
    own: tuple[tuple[str, str, int], ...] = ()


class Assignment(Struct, frozen=True):
    """So many members of the class go to the node."""

    class_id: ClassId
    node: str
    count: int


class Plan(Struct, frozen=True):
    """Where exactly `need` members go: each pair of class and node once."""

    assignments: tuple[Assignment, ...]
    rows_scanned: int


def place(demand: Demand, snapshot: Snapshot, *, scoring: Scoring, window_size: int = WINDOW_SIZE) -> Plan | Unplaced:
    """Find room for `need` members at once, on the snapshot as it is; it is the same afterwards.

    Clusters larger than `window_size` nodes are searched piece by piece, then whole.

    Where need is less than all members, any of them may be left out, the later classes first if that works.
    Equal input gives an equal answer, whatever the rows. With several classes a plan may be missed only where the gang
    is too big for exact search; then `Unplaced.exact` is False. Raises ValueError for a need that cannot be and for a class without members.
    """
    members = sum(each.count for each in demand.classes)
    if any(each.count < 1 for each in demand.classes):
        raise ValueError(f"a class without members is no demand: {demand.classes}")
    if not 1 <= demand.need <= members:
        raise ValueError(
            f"need is {demand.need}: it must be at least 1 and at most the {members} members of the demand"
        )
    unplaced = _placed(demand, snapshot, scoring, window_size)
    if isinstance(unplaced, Plan):
        return unplaced
    return replace(unplaced, obstructed=unplaced.fitting == demand.need or _is_obstructed(demand, snapshot, scoring))


def _placed(demand: Demand, snapshot: Snapshot, scoring: Scoring, window_size: int) -> Plan | Unplaced:
    rows_scanned, need = 0, demand.need
    attempt, classes = Attempt((), 0, 0), list[Candidates]()
    shortfall: tuple[Shortfall, ...] = ()
    with snapshot.trial() as trial:
        _take_holds(demand, snapshot, trial)
        for window in windows(snapshot.rows(), window_size):
            classes = _candidates(demand, snapshot, window)
            shortfall = _shortfall(demand, snapshot, classes)
            attempt = search(snapshot, classes, need, scoring)
            rows_scanned += attempt.rows_scanned
            if attempt.placed == need and not shortfall:
                return Plan(_assignments(snapshot, attempt), rows_scanned)
        return explain(snapshot, classes, attempt, need=need, shortfall=shortfall, rows_scanned=rows_scanned)


def _take_holds(demand: Demand, snapshot: Snapshot, trial: Trial) -> None:
    requests = {class_id: snapshot.request_of(class_id) for class_id in {hold.class_id for hold in demand.holds}}
    held = [hold for hold in demand.holds if hold.node in snapshot.node_names]
    trial.take_each(snapshot.find([hold.node for hold in held]), [requests[hold.class_id] for hold in held])


def _candidates(demand: Demand, snapshot: Snapshot, within: Rows) -> list[Candidates]:
    apart: dict[ClassId, list[str]] = {}
    for class_id, node in demand.excluded:
        apart.setdefault(class_id, []).append(node)
    return [
        candidates_of(
            snapshot, each.class_id, each.count, within=within, apart=snapshot.find(apart.get(each.class_id, ()))
        )
        for each in demand.classes
    ]


def _shortfall(demand: Demand, snapshot: Snapshot, classes: Sequence[Candidates]) -> tuple[Shortfall, ...]:
    """Compare minResources, of which `pods` always means the need, with what usable nodes have free (Coscheduling)."""
    if not demand.min_resources:
        return ()
    rows = union(snapshot, classes)
    usable = set(snapshot.names(rows)) if demand.own else set()
    own: Counter[str] = Counter()
    for node, resource, amount in demand.own:
        own[resource] += amount if node in usable else 0
    wanted = {**dict(demand.min_resources), "pods": demand.need}
    have = {resource: total_free(snapshot, rows, resource) + own[resource] for resource in wanted}
    return tuple(Shortfall(each, wanted[each], have[each]) for each in sorted(wanted) if have[each] < wanted[each])


def _is_obstructed(demand: Demand, snapshot: Snapshot, scoring: Scoring) -> bool:
    """Tell whether the gang would fit if no room were held and no pair kept apart."""
    if not demand.holds and not demand.excluded:
        return False
    classes = _candidates(replace(demand, excluded=()), snapshot, snapshot.rows())
    return search(snapshot, classes, demand.need, scoring).placed == demand.need


def _assignments(snapshot: Snapshot, attempt: Attempt) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(share.candidates.class_id, node, count)
        for share in attempt.shares
        for node, count in zip(snapshot.names(share.rows), share.counts.tolist(), strict=True)
    )

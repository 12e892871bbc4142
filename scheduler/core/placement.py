"""Placement: from a demand and a snapshot to a plan, or to the reasons why there is none."""

from msgspec import Struct

from scheduler.core.events import Scoring
from scheduler.core.model.member_class import ClassId
from scheduler.core.reasons import Unplaced
from scheduler.core.snapshot import Snapshot


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
    plus `own`, what the gang itself already holds there.
    """

    classes: tuple[ClassDemand, ...]
    need: int
    excluded: tuple[tuple[ClassId, str], ...] = ()
    holds: tuple[Hold, ...] = ()
    min_resources: tuple[tuple[str, int], ...] = ()
    own: tuple[tuple[str, int], ...] = ()


class Assignment(Struct, frozen=True):
    """So many members of the class go to the node."""

    class_id: ClassId
    node: str
    count: int


class Plan(Struct, frozen=True):
    """Where exactly `need` members go; sorted by class in the demand's order, then by preference of node."""

    assignments: tuple[Assignment, ...]
    rows_scanned: int


def place(demand: Demand, snapshot: Snapshot, *, scoring: Scoring) -> Plan | Unplaced:
    """Find room for `need` members at once."""
    raise NotImplementedError

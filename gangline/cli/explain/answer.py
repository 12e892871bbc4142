"""The answer: why a pod or gang waits, as data; text and JSON are made of it."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """States beside the scheduler's own reasons (docs/reasons.md)."""

    JUST_CREATED = "JustCreated"
    """It is a few seconds old, and is being decided or waits for the rest of its pods."""
    NOT_SCHEDULED_YET = "NotScheduledYet"
    """It could start now, and no scheduler has bound it."""
    BINDING = "Binding"
    """Its binds were sent; what became of them is not known yet."""
    STARTING = "Starting"
    """It is bound; its containers do not run yet."""
    RUNNING = "Running"
    """Nothing of it waits."""
    FINISHED = "Finished"
    """All of it has succeeded."""
    FAILED = "Failed"
    """Members failed, and the others cannot reach minMember."""
    NO_PODS = "NoPods"
    """The PodGroup exists, and no pod belongs to it."""
    GATED = "SchedulingGated"
    """It has scheduling gates, which somebody else must take away."""
    DELETING = "Deleting"
    """It is being deleted, and counts in no figure."""


class Figures(Struct, frozen=True, kw_only=True, rename="camel"):
    """The gang in numbers, of its current run."""

    min_member: int
    waiting: int = 0
    bound: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    gated: int = 0
    deleting: int = 0
    other_scheduler: int = 0
    unplaceable: int = 0


class NodeLine(Struct, frozen=True):
    """One node and how it stands."""

    node: str
    detail: str


class NodeLines(Struct, frozen=True):
    """Nodes that stand alike, the nearest fit first; `room` is how many members they could take.

    `otherwise` is how many they would take but for their reason, where that is a rule and not lack of room.
    """

    reason: str
    count: int
    room: int
    nodes: tuple[NodeLine, ...]
    otherwise: int = 0


class ClassNodes(Struct, frozen=True):
    """How the nodes stand to members that ask for the same."""

    members: int
    asks: str
    groups: tuple[NodeLines, ...]


class Taker(Struct, frozen=True):
    """Who has room that this gang lacks: so many pods, what they take of it together, and their priority."""

    name: str
    pods: int
    takes: str
    priority: int


class Ahead(Struct, frozen=True, rename="camel"):
    """A gang that is tried before this one."""

    gang: str
    priority: int
    need: int | None
    turn: str | None
    reason: str | None


class Happening(Struct, frozen=True):
    """Something that happened, newest first."""

    at: datetime | None
    what: str
    reason: str
    note: str


class Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why, what is needed, what is missing, who is ahead, what happened, what to do, and what is not known.

    `reason` is one of docs/reasons.md or a State. `source` says whose verdict it is: scheduler, rehearsal, condition
    or objects.
    """

    subject: str
    name: str
    gang: str
    reason: str
    summary: str
    source: str
    figures: Figures
    priority: int = 0
    waits_seconds: float | None = None
    needs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    nodes: tuple[ClassNodes, ...] = ()
    takers: tuple[Taker, ...] = ()
    place: int | None = None
    ahead: tuple[Ahead, ...] = ()
    happened: tuple[Happening, ...] = ()
    next: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

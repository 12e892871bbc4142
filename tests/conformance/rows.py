"""The rows of Coscheduling's behaviour as data: each is written once, together with the check that holds us to it.

    @row("M5", "minMember 1", "success at once", stage=Stage.SHARED)
    async def at_once(cluster: Cluster) -> None: ...

A row without `ours` comes out as it does there; one with `ours` differs on purpose and says why. `docs/coscheduling.md`
is made of this, and so are the tests in `test_rows.py`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from typing import Any, Final, TypeVar

from msgspec import Struct

from tests.conformance.lanes import Lane
from tests.support.cluster import Cluster

_IDS: Final = """
A1 A2 A3 A4 A5 A6 A7 A8 A9 A11 A12 A13
B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11 B12 B13 B14 B15 B17 B18 B19 B20 B21 B22 B23 B24 B25 B26 B27 B28 B30 B31 B32 B33 B34
B36 B37 B38 B39 B40 B41 B42 B43 B44 B45 B47 B48 B51 B52 B53
Q1 Q2 Q3 Q4 Q5 Q6 Q7 Q8 Q9 Q10 Q11 Q12 Q15 Q17
P1 P2 P3 P4 P5 P6 P8 P9 P10 P11 P12 P13 P15 P16 P17
R1 R2 R3 R4
M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 M11 M12 M13 M14 M16 M17 M19 M20 M21 M22
F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F12 F14 F15 F16
K1 K2 K3 K4 K6 K7 K8 K9 K10
D1 D3 D4 D6 D8 D9 D10 D11 D12 D13 D14 D17 D18 D20 D21 D22 D23 D25 D27 D29 D32 D33 D34
"""
KNOWN: Final = tuple(_IDS.split())
"""Ids of all rows that are known of Coscheduling: its tests, documents and bug reports, and what its code says."""


class Stage(StrEnum):
    """Where a row is checked."""

    CORE = "core"
    """On a pure core: what it is about is a function of ours, or something that exists only there."""
    CONTROLLER = "controller"
    """On one cluster with the controller alone, beside other rows: pods do what the row says, and no scheduler acts."""
    SHARED = "cluster"
    """On one cluster with both services, beside other rows."""
    OWN = "own cluster"
    """On a cluster of its own."""


CoreCheck = Callable[[], None]
OwnCheck = Callable[[], Awaitable[None]]
SharedCheck = Callable[[Cluster], Awaitable[None]]
LaneCheck = Callable[[Lane], Awaitable[None]]
ControllerCheck = Callable[[Cluster], AsyncIterator[None]]
"""What comes before its `yield` has happened when the controller starts."""
Check = CoreCheck | OwnCheck | SharedCheck | ControllerCheck
C = TypeVar("C", bound=Callable[..., Any])


class Row(Struct, frozen=True, kw_only=True):
    """One thing that Coscheduling does, and what we do there; `sandbox`: only the sandbox can bring it about."""

    id: str
    given: str
    upstream: str
    ours: str = ""
    why: str = ""
    stage: Stage
    sandbox: bool = False
    check: Check

    @property
    def differs(self) -> bool:
        """Whether it comes out differently, on purpose."""
        return bool(self.ours)


class Report(Struct, frozen=True, kw_only=True):
    """A bug that the public has reported of another gang scheduler, and the check that would have caught it."""

    id: str
    symptom: str
    stage: Stage
    sandbox: bool = False
    check: Check


ROWS: Final[dict[str, Row]] = {}
REPORTS: Final[dict[str, Report]] = {}
ON_A_CLUSTER_TOO: Final[dict[str, LaneCheck]] = {}
"""By id: what is checked on the core, once more on a cluster, where it can be brought about there."""


def row(
    id_: str,
    given: str,
    upstream: str,
    ours: str = "",
    why: str = "",
    *,
    stage: Stage = Stage.CORE,
    sandbox: bool = False,
) -> Callable[[C], C]:
    """Make a row of a check."""
    if bool(ours) != bool(why):
        raise ValueError(f"{id_}: what differs needs a reason, and only that does")

    def keep(check: C) -> C:
        _add(
            ROWS,
            Row(
                id=id_,
                given=given,
                upstream=upstream,
                ours=ours,
                why=why,
                stage=stage,
                sandbox=sandbox,
                check=check,
            ),
        )
        return check

    return keep


def report(id_: str, symptom: str, *, stage: Stage = Stage.CORE, sandbox: bool = False) -> Callable[[C], C]:
    """Make a report of a check; the id names tracker and number: KB (kube-batch), V (Volcano), SP (scheduler-plugins)."""

    def keep(check: C) -> C:
        _add(REPORTS, Report(id=id_, symptom=symptom, stage=stage, sandbox=sandbox, check=check))
        return check

    return keep


R = TypeVar("R", Row, Report)


def _add(known: dict[str, R], one: R) -> None:
    if one.id in known:
        raise ValueError(f"{one.id} is there twice")
    known[one.id] = one


L = TypeVar("L", bound=LaneCheck)


def on_a_cluster_too(id_: str) -> Callable[[L], L]:
    """Check a row or report of the core on a cluster as well, in a lane of its own."""

    def keep(check: L) -> L:
        if id_ in ON_A_CLUSTER_TOO:
            raise ValueError(f"{id_} is there twice")
        ON_A_CLUSTER_TOO[id_] = check
        return check

    return keep

"""Rows of `gangline status`: each gang in one line, from its pods and its PodGroup alone."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from msgspec import Struct

from gangline.cli.cluster.told import told
from gangline.cli.explain.answer import State
from gangline.cli.explain.case import Case
from gangline.cli.explain.verdict import DECIDED_WITHIN_S
from gangline.cli.terminal import counted, duration
from gangline.contract.membership import GangKind
from gangline.contract.meta import created_time, epoch_seconds
from gangline.contract.ordering import gang_priority, priorities
from scheduler.core.reasons import Reason

_FITTING: Final = re.compile(r"(?:Room was found for )?(\d+) of (\d+) members(?: fit)?[.;]")
_SHOWN: Final = 60
_REFUSAL: Final = re.compile(r"was refused: (.*?)\.?(?:; it is tried again|$)")
_HELD: Final = re.compile(r"Room is (held for the repair of .*?)\.?$")


class GangRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One gang. `name` is `NAME`, or `kind/NAME` of the owner of a gang without PodGroup.

    `phase` and `min_member` are None where pods name a PodGroup that does not exist.
    """

    namespace: str
    name: str
    kind: str
    phase: str | None
    min_member: int | None
    waiting: int
    scheduled: int
    running: int
    succeeded: int
    failed: int
    priority: int
    age_seconds: float
    waits_seconds: float | None = None
    why: str = ""
    reason: str | None = None
    message: str | None = None
    owners: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """By which names users may ask for it."""
        return (self.name, self.resource_name, f"podgroup/{self.name}", f"pg/{self.name}")

    @property
    def resource_name(self) -> str:
        """What `-o name` prints."""
        return f"podgroup.scheduling.x-k8s.io/{self.name}" if self.kind == GangKind.POD_GROUP else self.name


def rows(cases: Iterable[Case], now: datetime) -> list[GangRow]:
    """Return a row for each gang, in the order given."""
    return [_row(case, epoch_seconds(now)) for case in cases]


def _row(case: Case, now_s: float) -> GangRow:
    counts, waiting = case.counts, (*case.waiting, *case.unplaceable)
    reason, message = _said(case, now_s)
    exists = case.group is not None or case.key.kind is not GangKind.POD_GROUP
    born = [created_time(case.group.metadata)] if case.group is not None else [each.created_s for each in case.members]
    return GangRow(
        namespace=case.key.namespace,
        name=_name(case),
        kind=case.key.kind,
        phase=case.phase if exists else None,
        min_member=case.min_member if exists else None,
        waiting=len(waiting),
        scheduled=counts.scheduled,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        priority=gang_priority(priorities(case.members), None),
        age_seconds=max(0.0, now_s - min(born, default=now_s)),
        waits_seconds=max(0.0, now_s - min(each.created_s for each in waiting)) if waiting else None,
        why=brief(reason, message),
        reason=reason,
        message=message,
        owners=tuple(sorted({"/".join(one.template.owner).lower() for one in case.members if one.template.owner})),
    )


def _name(case: Case) -> str:
    if case.key.kind is GangKind.POD_GROUP:
        return case.key.name
    kind, name, *_ = case.key.name.split("/")
    return f"{kind.lower()}/{name}"


def _said(case: Case, now_s: float) -> tuple[str | None, str | None]:
    """Say why members wait: what is wrong with the gang itself, else what its pods were last told."""
    if case.unplaceable and not case.waiting:
        problem = case.unplaceable[0].template.problem
        return (problem.reason, problem.message) if problem is not None else (None, None)
    if case.foreign and case.need:
        names = "name" if len(case.foreign) > 1 else "names"
        return Reason.SCHEDULER_MISMATCH, f"{counted(len(case.foreign), 'member')} {names} another scheduler"
    if case.waiting:
        said = told(case.pods)
        return (said.reason, said.message) if said is not None else _unheard(case, now_s)
    if case.gated and case.need:
        return State.GATED, f"{counted(len(case.gated), 'member')} held back by scheduling gates"
    if not case.pods:
        return State.NO_PODS, f"0 of {case.min_member} pods are here"
    if case.need and not case.counts.failed:
        missing = f"{case.need} of {case.min_member} members are missing"
        return Reason.GANG_INCOMPLETE, missing
    return None, None


def _unheard(case: Case, now_s: float) -> tuple[str, str]:
    """Say of members that no scheduler has spoken of: a gang that is new may well be under decision."""
    waits_s = now_s - min(each.created_s for each in case.waiting)
    if waits_s >= DECIDED_WITHIN_S:
        return State.NOT_SCHEDULED_YET, f"no scheduler has spoken for {duration(waits_s)}"
    if len(case.waiting) < case.need:
        return State.JUST_CREATED, f"{len(case.waiting)} of {case.need} are here so far"
    return State.JUST_CREATED, "being decided"


def brief(reason: str | None, message: str | None) -> str:
    """Put a reason and its message into a few words: `Unschedulable: 2 of 4 fit, Insufficient cpu`."""
    if reason is None:
        return ""
    return f"{reason}: {_digest(message or '')}" if message else reason


def _digest(message: str) -> str:
    """Take the figures out of what the scheduler says; else its first clause."""
    parts = []
    fitting = _FITTING.search(message)
    if fitting is not None:
        parts.append(f"{fitting.group(1)} of {fitting.group(2)} fit")
    if (refusal := _REFUSAL.search(message)) or (refusal := _HELD.search(message)):
        parts = [refusal.group(1)]
    elif message.startswith("0/"):
        reasons = message.partition(": ")[2].partition(". ")[0].rstrip(".")
        parts.append(re.sub(r"^\d+ (node\(s\) )?", "", reasons.split(", ")[0]))
    if incomplete := re.search(r"(\d+ of \d+) members that must start together are here", message):
        parts.append(f"{incomplete.group(1)} are here")
    text = ", ".join(parts) or message.partition(";")[0]
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

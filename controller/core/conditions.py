"""The conditions of a PodGroup, derived from what its pods are and say.

| type               | status | reason                                                                        |
|--------------------|--------|-------------------------------------------------------------------------------|
| Scheduled          | True   | QuorumReached: bound and succeeded members reach minMember                    |
|                    | False  | what the waiting members say (Unschedulable ...); otherwise GangIncomplete,   |
|                    |        | SchedulingGated, AwaitingScheduler, MembersFailed                             |
| TimedOut           | True   | ScheduleTimeoutExceeded: scheduling takes longer than scheduleTimeoutSeconds  |
|                    | False  | it did once, and does not now: QuorumReached, NotScheduling (the gang is not  |
|                    |        | complete), or WithinScheduleTimeout (it was raised, or runs anew)             |
| SchedulerMismatch  | True   | OtherSchedulerNamed: waiting members name a scheduler that is none of ours    |
|                    | False  | some did once, and none does now: SchedulersAgree                             |

Members do not count while gated, deleted, or waiting for another scheduler.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from controller.core.member import Member, Said
from controller.core.timeouts import is_complete
from gangline.contract.counting import Counts, is_mismatched, need
from gangline.contract.meta import Condition
from gangline.contract.podgroup import Phase

_NAMES_SHOWN: Final = 3
_MEMBERS_MISSING: Final = frozenset({"GangIncomplete", "SchedulerMismatch"})
"""Reasons of waiting pods that say that the gang is incomplete."""
_GROUP_MISSING: Final = "PodGroupNotFound"
"""Reason of pods that wait for a PodGroup to be made."""


class ConditionType(StrEnum):
    """Types of conditions that a PodGroup can have."""

    SCHEDULED = "Scheduled"
    TIMED_OUT = "TimedOut"
    SCHEDULER_MISMATCH = "SchedulerMismatch"


class ConditionReason(StrEnum):
    """Reasons that the controller itself gives; those of waiting pods come on top."""

    QUORUM_REACHED = "QuorumReached"
    GANG_INCOMPLETE = "GangIncomplete"
    SCHEDULING_GATED = "SchedulingGated"
    AWAITING_SCHEDULER = "AwaitingScheduler"
    MEMBERS_FAILED = "MembersFailed"
    SCHEDULE_TIMEOUT_EXCEEDED = "ScheduleTimeoutExceeded"
    NOT_SCHEDULING = "NotScheduling"
    WITHIN_SCHEDULE_TIMEOUT = "WithinScheduleTimeout"
    OTHER_SCHEDULER_NAMED = "OtherSchedulerNamed"
    SCHEDULERS_AGREE = "SchedulersAgree"


class GroupFacts(Struct, frozen=True, kw_only=True):
    """What the conditions are derived from. `members` are all pods that name the group, `run` those that count."""

    min_member: int
    phase: Phase
    counts: Counts
    members: Collection[Member]
    run: Collection[Member]
    overdue_timeout_s: int | None = None
    """scheduleTimeoutSeconds, once it is exceeded."""


def conditions_of(facts: GroupFacts, stored: Iterable[Condition]) -> list[Condition]:
    """Return the conditions that hold, without times; a type that never was True is left out, not False."""
    raised = {condition.type for condition in stored if condition.status == "True"}
    found = [_scheduled(facts)]
    found += _timed_out(facts, was_raised=ConditionType.TIMED_OUT in raised)
    found += _scheduler_mismatch(facts, was_raised=ConditionType.SCHEDULER_MISMATCH in raised)
    return found


def _condition(type_: ConditionType, *, status: bool, reason: str, message: str) -> Condition:
    return Condition(type=type_, status=str(status), reason=reason, message=message)


def _scheduled(facts: GroupFacts) -> Condition:
    quorum = need(facts.min_member, facts.counts) == 0
    said = _quorum(facts) if quorum else _shortfall(facts)
    return _condition(ConditionType.SCHEDULED, status=quorum, reason=said.reason, message=said.message)


def _quorum(facts: GroupFacts) -> Said:
    return Said(
        reason=ConditionReason.QUORUM_REACHED,
        message=f"bound and succeeded members reach minMember ({facts.min_member})",
    )


def _shortfall(facts: GroupFacts) -> Said:
    counts = facts.counts
    if facts.phase is Phase.FAILED:
        words = f"{counts.failed} members failed; the others cannot reach minMember ({facts.min_member})"
        return Said(reason=ConditionReason.MEMBERS_FAILED, message=words)
    said = _said_by_most(facts.run)
    incomplete = not is_complete(facts.min_member, counts)
    # A pod's word may be older than what we see: it is repeated only where it can be true.
    if said is not None and said.reason != _GROUP_MISSING and incomplete == (said.reason in _MEMBERS_MISSING):
        return said
    return _too_few(facts) if incomplete else _unanswered(facts)


def _unanswered(facts: GroupFacts) -> Said:
    words = f"enough members exist for minMember ({facts.min_member}); no scheduler has said yet why they wait"
    return Said(reason=ConditionReason.AWAITING_SCHEDULER, message=words)


def _too_few(facts: GroupFacts) -> Said:
    present = facts.counts.unfinished + facts.counts.succeeded
    gated = sum(member.facts.gated and not member.facts.deleting for member in facts.members)
    if gated and present + gated >= facts.min_member:
        words = f"{gated} members carry scheduling gates; minMember ({facts.min_member}) needs them"
        return Said(reason=ConditionReason.SCHEDULING_GATED, message=words)
    words = f"{present} members exist of the {facts.min_member} that minMember asks for"
    return Said(reason=ConditionReason.GANG_INCOMPLETE, message=words)


def _said_by_most(run: Iterable[Member]) -> Said | None:
    """Return what most waiting members say: the scheduler writes one text to all, one pod after the other."""
    said = Counter(member.said for member in run if member.said is not None and member.said.reason)
    return min(said, key=lambda each: (-said[each], each.reason, each.message), default=None)


def _timed_out(facts: GroupFacts, *, was_raised: bool) -> list[Condition]:
    if facts.overdue_timeout_s is not None:
        words = f"not scheduled within {facts.overdue_timeout_s} s; scheduling goes on"
        reason = ConditionReason.SCHEDULE_TIMEOUT_EXCEEDED
        return [_condition(ConditionType.TIMED_OUT, status=True, reason=reason, message=words)]
    if not was_raised:
        return []
    return [_condition(ConditionType.TIMED_OUT, status=False, reason=_in_time_because(facts), message="")]


def _in_time_because(facts: GroupFacts) -> ConditionReason:
    if need(facts.min_member, facts.counts) == 0:
        return ConditionReason.QUORUM_REACHED
    if is_complete(facts.min_member, facts.counts):
        return ConditionReason.WITHIN_SCHEDULE_TIMEOUT
    return ConditionReason.NOT_SCHEDULING


def _scheduler_mismatch(facts: GroupFacts, *, was_raised: bool) -> list[Condition]:
    strangers = [member for member in facts.members if is_mismatched(member.facts)]
    if strangers:
        names = sorted({member.scheduler_name for member in strangers})[:_NAMES_SHOWN]
        words = f"{len(strangers)} members wait for another scheduler ({', '.join(names)}) and do not count until bound"
        reason = ConditionReason.OTHER_SCHEDULER_NAMED
        return [_condition(ConditionType.SCHEDULER_MISMATCH, status=True, reason=reason, message=words)]
    if not was_raised:
        return []
    reason = ConditionReason.SCHEDULERS_AGREE
    return [_condition(ConditionType.SCHEDULER_MISMATCH, status=False, reason=reason, message="")]

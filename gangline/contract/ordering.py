"""In which order gangs are tried."""

from collections.abc import Iterable
from enum import IntEnum

from gangline.contract.counting import Countable, Counts, is_finished, is_member, need


class Turn(IntEnum):
    """Within one priority, who goes first."""

    REPAIR = 0
    """The gang has started and lacks members of its quorum."""
    QUORUM = 1
    """Nothing of the gang is bound: all it needs or nothing."""
    SURPLUS = 2
    """The quorum stands; further members are placed one by one."""


OrderKey = tuple[int, Turn, float, str, str, str]


def turn_of(min_member: int | None, counts: Counts) -> Turn:
    """Say what the waiting members of a gang are to it, from the counts of its current run."""
    if need(min_member, counts) == 0:
        return Turn.SURPLUS
    return Turn.REPAIR if counts.bound else Turn.QUORUM


def priorities(members: Iterable[Countable]) -> tuple[int, ...]:
    """Return the different priorities of the unfinished members, lowest first; more than one deserves a Warning."""
    return tuple(sorted({member.priority for member in members if is_member(member) and not is_finished(member)}))


def gang_priority(priorities: Iterable[int], class_priority: int | None) -> int:
    """Return the lowest priority of the unfinished members; the PodGroup's class may only lower it.

    A gang without unfinished members has its class's priority, or 0.
    """
    limit = () if class_priority is None else (class_priority,)
    return min((*priorities, *limit), default=0)


def order_key(
    *,
    priority: int,
    turn: Turn,
    group_created_s: float,
    oldest_waiting_s: float,
    namespace: str,
    name: str,
    uid: str,
) -> OrderKey:
    """Return a key that sorts gangs as they are tried: the smallest first, never two alike.

    Time is when the gang could first be asked for: the PodGroup's creation (0 without one) or its oldest
    waiting member's, whichever is later.
    """
    return (-priority, turn, max(group_created_s, oldest_waiting_s), namespace, name, uid)

"""The gang rule: what is to be done with a gang now, from its counts alone (no nodes are looked at)."""

from typing import Final

from msgspec import Struct

from gangline.contract.counting import need
from gangline.contract.membership import GangKind
from gangline.contract.ordering import Turn, turn_of
from scheduler.core.gang import Gang, Standing, min_member_of, missing_of, title
from scheduler.core.model.group import GroupFacts
from scheduler.core.model.member import Said
from scheduler.core.reasons import Reason


class Idle(Struct, frozen=True, tag=True):
    """Nothing waits."""


class InFlight(Struct, frozen=True, tag=True):
    """Binds were sent, and none is known to be done: whether the gang has started is not known."""


class Blocked(Struct, frozen=True, tag=True):
    """It waits for something other than nodes; `cure` is said instead once it has lasted."""

    said: Said
    cure: Said | None = None


class Ready(Struct, frozen=True, tag=True):
    """It can be decided: `need` members at once; when `divisible`, fewer are better than none."""

    turn: Turn
    need: int
    divisible: bool


Assessment = Idle | InFlight | Blocked | Ready

_NO_GROUP: Final = "PodGroup {label} does not exist; create it in namespace {namespace}, or correct the pods' label"


def assess(gang: Gang, group: GroupFacts | None) -> Assessment:
    """Apply the gang rule."""
    waiting = gang.size(Standing.WAITING)
    if not waiting and not gang.unplaceable:
        return Idle()
    problem = problem_of_group(gang, group)
    if problem is not None:
        return Blocked(problem)
    if not waiting:
        return Blocked(_first_problem(gang))
    bound = gang.size(Standing.BOUND)
    if not bound and gang.size(Standing.SENT):
        return InFlight()
    min_member = min_member_of(gang, group)
    missing = need(min_member, gang.counts)
    if not bound and missing > waiting:
        return Blocked(_incomplete(gang, min_member, missing), _incomplete_with_cure(gang, min_member, missing))
    if not missing:
        since = max(gang.oldest_waiting_s, group.created_s if group is not None else 0.0)
        return Ready(Turn.SURPLUS, gang.waiting_no_younger_than(since), divisible=True)
    return Ready(turn_of(min_member, gang.counts), min(missing, waiting), divisible=bound > 0)


def problem_of_group(gang: Gang, group: GroupFacts | None) -> Said | None:
    """Say what is wrong with the PodGroup that a gang is named by; None if nothing is, or if no PodGroup names it."""
    if gang.key.kind is not GangKind.POD_GROUP:
        return None
    if group is None:
        return Said(Reason.POD_GROUP_NOT_FOUND, _no_group(gang))
    if group.problem is not None:
        return Said(Reason.POD_GROUP_INVALID, f"PodGroup {title(gang.key)}: {group.problem}")
    return None


def lacks_quorum(gang: Gang, group: GroupFacts | None) -> int:
    """How many members a gang that has started lacks; 0 for one at quorum or not started."""
    if not gang.size(Standing.BOUND):
        return 0
    return missing_of(gang, group)


def _no_group(gang: Gang) -> str:
    return _NO_GROUP.format(label=title(gang.key), namespace=gang.key.namespace)


def _incomplete(gang: Gang, min_member: int, missing: int) -> Said:
    """Say how many members are there, what the others are, and how many must still come."""
    waiting = gang.size(Standing.WAITING)
    more = missing - waiting
    here = f"gang {title(gang.key)}: {waiting} of {missing} members that must start together are here"
    if missing != min_member:
        here += f" (minMember {min_member}, {gang.succeeded} succeeded)"
    others = _others(gang)
    message = f"{here}; waiting for {more} more" + (f" ({others})" if others else "")
    reason = Reason.SCHEDULER_MISMATCH if _foreign_would_do(gang, more) else Reason.GANG_INCOMPLETE
    return Said(reason, message)


def _foreign_would_do(gang: Gang, more: int) -> bool:
    return 0 < more <= gang.size(Standing.FOREIGN)


def _others(gang: Gang) -> str:
    """Name the pods of the gang that do not count, and why."""
    parts = [
        (gang.size(Standing.GATED), "have scheduling gates"),
        (gang.size(Standing.DELETING, Standing.LOST), "are being deleted"),
        (gang.size(Standing.FOREIGN), "name another scheduler"),
    ]
    if gang.unplaceable:
        parts.append((len(gang.unplaceable), f"cannot be placed: {_first_problem(gang).message}"))
    return ", ".join(f"{number} {words}" for number, words in parts if number)


def _first_problem(gang: Gang) -> Said:
    """Of all that is wrong with members themselves, what comes first by its words."""
    problems = (member.template.problem for member in gang.unplaceable.values())
    return min((problem for problem in problems if problem is not None), key=lambda problem: problem.message)


def _incomplete_with_cure(gang: Gang, min_member: int, missing: int) -> Said | None:
    """Add what the owner must change, where the pods reveal it."""
    cure = next((cure for kind, name in gang.owners if (cure := _cure(kind, name, min_member))), None)
    said = _incomplete(gang, min_member, missing)
    if cure is None or said.reason != Reason.GANG_INCOMPLETE:
        return None
    return Said(said.reason, f"{said.message}; {cure}")


def _cure(kind: str, name: str, min_member: int) -> str | None:
    match kind:
        case "StatefulSet":
            return (
                f"StatefulSet {name} makes one pod at a time unless it has podManagementPolicy: Parallel; "
                "re-create it with that"
            )
        case "Job":
            return f"Job {name} may have parallelism below minMember {min_member}; raise parallelism or lower minMember"
        case _:
            return None

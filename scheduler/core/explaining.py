"""Verdicts: what the pods of a gang that was not placed say."""

from typing import Final, assert_never

from gangline.contract.membership import GangKind
from gangline.contract.ordering import Turn
from scheduler.core.gang import Gang, Standing, title
from scheduler.core.gang_rule import Ready
from scheduler.core.model.member import Said
from scheduler.core.placement import Demand
from scheduler.core.reasons import Reason, Unplaced, listed, sentence

_GANGS_NAMED: Final = 4


def verdict(gang: Gang, ready: Ready, demand: Demand, unplaced: Unplaced, *, holders: list[str], refusal: str) -> Said:
    """Say why: the nodes first, as kube-scheduler does, then how the gang stands and what it waits for."""
    reason = _reason(demand, unplaced)
    parts = [sentence(unplaced)]
    if gang.key.kind is not GangKind.POD:
        parts.append(_standing(gang, ready))
    if reason is Reason.HELD_FOR_GANG:
        parts.append(f"Room is held for the repair of {listed(holders, _GANGS_NAMED, 'gangs')}.")
    if reason is Reason.BIND_FAILED and refusal:
        parts.append(f"Last refusal: {refusal}.")
    return Said(reason, " ".join(parts))


def _reason(demand: Demand, unplaced: Unplaced) -> Reason:
    """Only where more nodes would help it is Unschedulable, which makes node autoscalers act."""
    if not unplaced.obstructed or unplaced.shortfall:
        return Reason.UNSCHEDULABLE
    return Reason.HELD_FOR_GANG if demand.holds else Reason.BIND_FAILED


def _standing(gang: Gang, ready: Ready) -> str:
    unplaceable = f"; {len(gang.unplaceable)} cannot be placed as they are" if gang.unplaceable else ""
    return f"Gang {title(gang.key)} {_turn(gang, ready)}{unplaceable}."


def _turn(gang: Gang, ready: Ready) -> str:
    match ready.turn:
        case Turn.QUORUM:
            return f"starts when {ready.need} fit together"
        case Turn.REPAIR:
            return f"has started with {gang.size(Standing.BOUND)} members and lacks {ready.need}"
        case Turn.SURPLUS:
            waiting = gang.size(Standing.WAITING)
            return f"has its quorum; {waiting} more {'waits' if waiting == 1 else 'wait'}"
        case _:
            assert_never(ready.turn)

"""Conditions of an object, changed only where they differ."""

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from gangline.contract.meta import Condition


def merged(conditions: tuple[Condition, ...] | None, new: Iterable[Condition], now: datetime) -> tuple[Condition, ...]:
    """Return the conditions with the new ones in place of those of their types; others stay, in their order.

    `lastTransitionTime` is the time at which the status last changed: it is kept while the status is the
    same, and otherwise set to `now` in whole seconds. Where nothing differs the same tuple comes back.
    Conditions without a type, which the API server would refuse, are left out.
    """
    present = conditions or ()
    by_type = {condition.type: condition for condition in present if condition.type}
    for condition in new:
        by_type[condition.type] = _timed(condition, by_type.get(condition.type), now)
    result = tuple(by_type.values())
    return present if result == present else result


def _timed(condition: Condition, previous: Condition | None, now: datetime) -> Condition:
    is_unchanged = previous is not None and previous.status == condition.status
    kept = previous.last_transition_time if previous is not None and is_unchanged else None
    return replace(condition, last_transition_time=kept or now.replace(microsecond=0))

"""Durations as people read them (`k8s.io/apimachinery/pkg/util/duration`, HumanDuration)."""

from typing import Final

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 86400 * 365
# Up to where a unit is used, the unit, and the smaller one that shows the rest.
_UNITS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def human_duration(seconds: int) -> str:
    """Write whole seconds in at most two units, as kubectl shows ages; what is yet to come is `<invalid>`."""
    if seconds < 0:
        return "0s" if seconds >= -1 else "<invalid>"
    for limit, unit, letter, rest_unit, rest_letter in _UNITS:
        if seconds < limit:
            rest = seconds % unit // rest_unit if rest_unit else 0
            return f"{seconds // unit}{letter}" + (f"{rest}{rest_letter}" if rest else "")
    return f"{seconds // _YEAR}y"

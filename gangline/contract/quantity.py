"""Kubernetes quantities as exact integers.

The grammar is that of apimachinery's `resource.Quantity`: a decimal number and one of
`n u m k M G T P E`, `Ki Mi Gi Ti Pi Ei`, or a decimal exponent (`e3`, `E-2`). Fractions of the wanted
unit are rounded away from zero, as kube-scheduler does. A value that int64 cannot hold is refused here
(the API server caps it), so sums never meet a figure that somebody else has already bent.
"""

import re
from typing import Final

from gangline.contract.pod import Quantity

INT64_MAX: Final = 2**63 - 1
PATTERN: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$"
"""The grammar as a regular expression for schemas; sizes are checked by the parser alone."""

_LONGEST_TEXT: Final = 64
_LARGEST_EXPONENT: Final = 64
_NUMBER: Final = re.compile(
    r"(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BYTE_RESOURCES: Final = frozenset({"memory", "ephemeral-storage", "storage"})


class QuantityError(ValueError):
    """A quantity that does not parse or does not fit; the message has the value and what is legal."""


def parse_units(quantity: Quantity) -> int:
    """Read a quantity in whole units (bytes, devices, pods), rounded up. Raises QuantityError."""
    return _scaled(quantity, 0)


def parse_milli(quantity: Quantity) -> int:
    """Read a quantity in thousandths (milli-CPU), rounded up. Raises QuantityError."""
    return _scaled(quantity, 3)


def format_cpu(milli: int) -> str:
    """Write milli-CPU as users do: `4`, `1500m`."""
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def format_bytes(number: int) -> str:
    """Write bytes with the largest suffix that is exact, else with two decimals of a binary one."""
    for suffix, size in (*_sizes(_BINARY, 2), *_sizes(_DECIMAL, 10)):
        if abs(number) >= size and number % size == 0 and abs(number) // size < 10_000:
            return f"{number // size}{suffix}"
    for suffix, size in _sizes(_BINARY, 2):
        if abs(number) >= size:
            return f"{number / size:.2f}{suffix}"
    return str(number)


def format_amount(resource_name: str, amount: int) -> str:
    """Write an amount as `contract.requests` counts it, in the unit that the resource is asked for in."""
    if resource_name == "cpu":
        return format_cpu(amount)
    if resource_name in _BYTE_RESOURCES or resource_name.startswith("hugepages-"):
        return format_bytes(amount)
    return str(amount)


def _sizes(suffixes: dict[str, int], base: int) -> list[tuple[str, int]]:
    """Suffixes above one unit with their sizes, largest first."""
    return [(suffix, base**power) for suffix, power in reversed(suffixes.items()) if power > 0]


def _scaled(quantity: Quantity, decimals: int) -> int:
    """Return quantity * 10**decimals, rounded away from zero."""
    if type(quantity) is int:
        return _checked(quantity * 10**decimals, f"of {quantity.bit_length()} bits")
    text = repr(quantity) if isinstance(quantity, float) else str(quantity)
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise QuantityError(
            f"quantity {_shown(text)} is not a number with an optional suffix: write 4, 500m, 1.5Gi or 2e3"
        )
    sign, whole, fraction, suffix, exponent = match.group("sign", "whole", "fraction", "suffix", "exponent")
    fraction, suffix, power = fraction or "", suffix or "", int(exponent or 0)
    if abs(power) > _LARGEST_EXPONENT:
        raise QuantityError(f"quantity {_shown(text)} has an exponent beyond {_LARGEST_EXPONENT}: write a smaller one")
    power += _DECIMAL.get(suffix, 0) + decimals - len(fraction)
    numerator = int(whole + fraction) << _BINARY.get(suffix, 0)
    magnitude = numerator * 10**power if power >= 0 else -(-numerator // 10**-power)
    return _checked(-magnitude if sign == "-" else magnitude, _shown(text))


def _checked(value: int, shown: str) -> int:
    if abs(value) > INT64_MAX:
        raise QuantityError(f"quantity {shown} does not fit in 64 bits: write a smaller one")
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "...")

"""Quantities as the API server writes them back: "1000m" is "1", "1024Mi" is "1Gi", 0.5 is "500m".

The rules are those of `k8s.io/apimachinery/pkg/api/resource`: the family of the suffix is kept, the value is
rounded up to nano-units, and the largest suffix that needs no fraction is chosen.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

UNIT = 10**9
PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
# What one of each is, in nano-units.
_DECIMAL = {suffix: 1000**power for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"))}
_EXPONENT = {f"e{3 * power - 9}" if power != 3 else "": 1000**power for power in range(10)}
_BINARY = {suffix: UNIT * 1024**power for power, suffix in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}
_LIMIT = (2**63 - 1) * UNIT


@lru_cache(maxsize=4096)
def canonical(quantity: str | float) -> str:
    """Return the canonical text; raises ValueError with the server's words."""
    nanos, sizes = _read(quantity)
    if sizes is _BINARY and (nanos % UNIT or abs(nanos) < _BINARY["Ki"]):
        sizes = _DECIMAL
    suffix = max((suffix for suffix in sizes if nanos % sizes[suffix] == 0), key=sizes.__getitem__) if nanos else ""
    return f"{nanos // sizes[suffix]}{suffix}"


@lru_cache(maxsize=4096)
def nano_units(quantity: str | float) -> int:
    """Return the value in nano-units, rounded up; raises ValueError."""
    return _read(quantity)[0]


def _read(quantity: str | float) -> tuple[int, Mapping[str, int]]:
    """Return the value in nano-units, and the sizes of the suffixes of its family."""
    text = quantity if isinstance(quantity, str) else str(Decimal(repr(quantity)))
    form = _FORM.fullmatch(text)
    if form is None:
        known = re.match(PATTERN, text)
        wanted = f"quantities must match the regular expression '{PATTERN}'"
        raise ValueError("unable to parse quantity's suffix" if known else wanted)
    number, exponent, suffix = form.groups(default="")
    sizes = _BINARY if suffix in _BINARY and suffix else _EXPONENT if exponent else _DECIMAL
    exact = Fraction(number + exponent) * sizes[suffix]
    nanos = -(-exact.numerator // exact.denominator)
    return max(min(nanos, _LIMIT), -_LIMIT), sizes

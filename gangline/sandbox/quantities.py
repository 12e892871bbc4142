"""Quantities as the API server writes them back: "1000m" is "1", "1024Mi" is "1Gi", 0.5 is "500m".

The rules are those of `k8s.io/apimachinery/pkg/api/resource`: the family of the suffix is kept, the value is
rounded up to nano-units, and the largest suffix that needs no fraction is chosen.
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
_DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
_BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
_LIMIT = 2**63 - 1
PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"


@lru_cache(maxsize=4096)
def canonical(quantity: str | float) -> str:
    """Return the canonical text; raises ValueError with the server's words."""
    text, exponent, suffix = _parts(quantity)
    value = _value(text, exponent, suffix)
    if suffix in _BINARY[1:]:
        return _binary(value)
    return _decimal(value, exponent_form=bool(exponent))


@lru_cache(maxsize=4096)
def value(quantity: str | float) -> Fraction:
    """Return the exact value, rounded up to nano-units; raises ValueError."""
    return _value(*_parts(quantity))


def _parts(quantity: str | float) -> tuple[str, str, str]:
    text = quantity if isinstance(quantity, str) else str(Decimal(repr(quantity)))
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(_complaint(text))
    number, exponent, suffix = form.groups(default="")
    return number, exponent, suffix


def _complaint(text: str) -> str:
    if re.match(PATTERN, text):
        return "unable to parse quantity's suffix"
    return f"quantities must match the regular expression '{PATTERN}'"


def _value(number: str, exponent: str, suffix: str) -> Fraction:
    if suffix in _BINARY[1:]:
        exact = Fraction(number) * 1024 ** _BINARY.index(suffix)
    else:
        exact = Fraction(number + exponent) * Fraction(1000) ** (_DECIMAL.index(suffix) - 3)
    return max(min(_rounded(exact), Fraction(_LIMIT)), Fraction(-_LIMIT))


def _rounded(exact: Fraction) -> Fraction:
    nano = exact * 10**9
    return Fraction(-(-nano.numerator // nano.denominator), 10**9) if nano.denominator != 1 else exact


def _decimal(amount: Fraction, *, exponent_form: bool = False) -> str:
    if not amount:
        return "0"
    power = next(step for step in range(9, -1, -1) if (amount / Fraction(1000) ** (step - 3)).denominator == 1)
    digits = int(amount / Fraction(1000) ** (power - 3))
    if exponent_form:
        return f"{digits}e{3 * (power - 3)}" if power != 3 else str(digits)
    return f"{digits}{_DECIMAL[power]}"


def _binary(amount: Fraction) -> str:
    if amount.denominator != 1 or abs(amount) < 1024:
        return _decimal(amount)
    power = next(step for step in range(6, -1, -1) if (amount / 1024**step).denominator == 1)
    return f"{int(amount / 1024**power)}{_BINARY[power]}"

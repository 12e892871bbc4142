"""Label selectors in one line, as queries and command lines have them: `team=ml,tier notin (free, test),!gpu`."""

import re
from collections.abc import Iterator
from typing import Final

from gangline.contract.policy import LabelSelector, LabelSelectorRequirement

_REQUIREMENT: Final = re.compile(
    r"""\s*(?:
        !\s*(?P<absent>[^\s,=!()<>]+)
      | (?P<set_key>[^\s,=!()<>]+)\s+(?P<set_operator>in|notin)\s*\((?P<values>[^()]*)\)
      | (?P<key>[^\s,=!()<>]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s,=!()<>]*)
      | (?P<present>[^\s,=!()<>]+)
    )\s*(?:,|$)""",
    re.VERBOSE,
)
_OPERATORS: Final = {"=": "In", "==": "In", "in": "In", "!=": "NotIn", "notin": "NotIn"}


def label_selector_of(text: str) -> LabelSelector | None:
    """Read a selector; None when it selects everything. Raises ValueError."""
    return LabelSelector(match_expressions=tuple(_requirements(text))) if text.strip() else None


def _requirements(text: str) -> Iterator[LabelSelectorRequirement]:
    position = 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise ValueError(f"unable to parse requirement: {text[position:]}")
        yield _requirement(found)
        position = found.end()


def _requirement(found: re.Match[str]) -> LabelSelectorRequirement:
    if key := found["absent"] or found["present"]:
        return LabelSelectorRequirement(key=key, operator="DoesNotExist" if found["absent"] else "Exists")
    operator = _OPERATORS[found["operator"] or found["set_operator"]]
    values = (found["value"],) if found["key"] else tuple(value.strip() for value in found["values"].split(","))
    return LabelSelectorRequirement(key=found["key"] or found["set_key"], operator=operator, values=values)

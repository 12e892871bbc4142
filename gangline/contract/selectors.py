"""Selectors and tolerations, with the meaning that kube-scheduler gives them.

A requirement that the API server would refuse (unknown operator, missing value, a text where Gt wants an
integer) never matches and never raises.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from operator import gt, lt
from typing import Final

from gangline.contract.node import Taint
from gangline.contract.pod import NodeSelectorTerm, SelectorRequirement, Toleration
from gangline.contract.policy import LabelSelector, LabelSelectorRequirement

NAME_FIELD: Final = "metadata.name"
"""The only field that terms can read."""

_HARD_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
_SIGNED_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_PLAIN_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_INT64: Final = range(-(2**63), 2**63)


def node_selector_matches(
    terms: Sequence[NodeSelectorTerm] | None, labels: Mapping[str, str] | None, node_name: str
) -> bool:
    """Tell whether one term matches the node; no terms, or an empty term, match nothing (kube-scheduler NodeAffinity)."""
    return NodeSelectorMatcher(terms or ()).matches(labels or {}, node_name)


class NodeSelectorMatcher:
    """Terms that many nodes are compared with: whatever of them does not depend on the node is read once."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Sequence[NodeSelectorTerm]) -> None:
        self._terms = [
            (
                [(expression.key, _expression_test(expression)) for expression in term.match_expressions or ()],
                [_field_test(field) for field in term.match_fields or ()],
            )
            for term in terms
            if term.match_expressions or term.match_fields
        ]

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Tell whether one term matches a node."""
        for expressions, fields in self._terms:
            for key, matches in expressions:
                if not matches(labels.get(key)):
                    break
            else:
                if all(matches(node_name) for matches in fields):
                    return True
        return False


def tolerates(tolerations: Sequence[Toleration] | None, taint: Taint) -> bool:
    """Tell whether one of the tolerations tolerates the taint, whatever its effect."""
    return any(_tolerates(toleration, taint) for toleration in tolerations or ())


def untolerated(tolerations: Sequence[Toleration] | None, taints: Sequence[Taint] | None) -> Taint | None:
    """Return the first NoSchedule or NoExecute taint that is not tolerated (kube-scheduler TaintToleration)."""
    hard = (taint for taint in taints or () if taint.effect in _HARD_EFFECTS)
    return next((taint for taint in hard if not tolerates(tolerations, taint)), None)


def label_selector_matches(selector: LabelSelector | None, labels: Mapping[str, str] | None) -> bool:
    """Tell whether a label selector matches: None matches nothing, an empty one everything."""
    if selector is None:
        return False
    present = labels or {}
    return all(present.get(key) == value for key, value in (selector.match_labels or {}).items()) and all(
        _label_test(requirement)(present.get(requirement.key)) for requirement in selector.match_expressions or ()
    )


_Test = Callable[[str | None], bool]
"""Whether the value that a node has, None for none, is as required."""


def _label_test(requirement: SelectorRequirement | LabelSelectorRequirement) -> _Test:
    values = frozenset(requirement.values or ())
    match requirement.operator:
        case "In":
            return lambda value: value is not None and value in values
        case "NotIn" if values:
            return lambda value: value not in values
        case "Exists" if not values:
            return lambda value: value is not None
        case "DoesNotExist" if not values:
            return lambda value: value is None
        case _:
            return _never


def _expression_test(requirement: SelectorRequirement) -> _Test:
    if requirement.operator not in ("Gt", "Lt"):
        return _label_test(requirement)
    values = requirement.values or ()
    limit = _signed_integer(values[0]) if len(values) == 1 else None
    if limit is None:
        return _never
    return partial(_compares, gt if requirement.operator == "Gt" else lt, limit)


def _field_test(field: SelectorRequirement) -> _Test:
    """Only `metadata.name`, In or NotIn, one value."""
    if field.key != NAME_FIELD or len(field.values or ()) != 1 or field.operator not in ("In", "NotIn"):
        return _never
    return _label_test(field)


def _never(_value: str | None) -> bool:
    return False


def _compares(holds: Callable[[int, int], bool], limit: int, value: str | None) -> bool:
    number = _signed_integer(value) if value is not None else None
    return number is not None and holds(number, limit)


@lru_cache(maxsize=4096)
def _signed_integer(text: str) -> int | None:
    return _integer(_SIGNED_INTEGER, text)


def _integer(form: re.Pattern[str], text: str) -> int | None:
    """Read a 64-bit decimal integer of the given form."""
    number = int(text) if form.fullmatch(text) else None
    return number if number is not None and number in _INT64 else None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Equal":
            return (toleration.value or "") == (taint.value or "")
        case "Exists":
            return True
        case "Gt" | "Lt":
            return _taint_compares(toleration, taint)
        case _:
            return False


def _taint_compares(toleration: Toleration, taint: Taint) -> bool:
    """Compare the taint's value with the toleration's, both plain 64-bit integers."""
    left, right = _integer(_PLAIN_INTEGER, taint.value or ""), _integer(_PLAIN_INTEGER, toleration.value or "")
    if left is None or right is None:
        return False
    return left > right if toleration.operator == "Gt" else left < right

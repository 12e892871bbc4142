"""Selectors and tolerations, with the meaning that kube-scheduler gives them.

A requirement that the API server would refuse (unknown operator, missing value, a text where Gt wants an
integer) never matches and never raises.
"""

import re
from collections.abc import Mapping, Sequence
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
    return any(_term_matches(term, labels or {}, node_name) for term in terms or ())


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
        _label_matches(requirement, present) for requirement in selector.match_expressions or ()
    )


def _term_matches(term: NodeSelectorTerm, labels: Mapping[str, str], node_name: str) -> bool:
    expressions, fields = term.match_expressions or (), term.match_fields or ()
    if not expressions and not fields:
        return False
    return all(_expression_matches(expression, labels) for expression in expressions) and all(
        _field_matches(field, node_name) for field in fields
    )


def _expression_matches(expression: SelectorRequirement, labels: Mapping[str, str]) -> bool:
    if expression.operator in ("Gt", "Lt"):
        return _compares(expression, labels.get(expression.key))
    return _label_matches(expression, labels)


def _label_matches(requirement: SelectorRequirement | LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement.key), requirement.values or ()
    match requirement.operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return bool(values) and value not in values
        case "Exists":
            return value is not None and not values
        case "DoesNotExist":
            return value is None and not values
        case _:
            return False


def _field_matches(field: SelectorRequirement, node_name: str) -> bool:
    """Only `metadata.name`, In or NotIn, one value."""
    if field.key != NAME_FIELD or len(field.values or ()) != 1:
        return False
    return field.operator in ("In", "NotIn") and _label_matches(field, {NAME_FIELD: node_name})


def _compares(expression: SelectorRequirement, value: str | None) -> bool:
    values = expression.values or ()
    if value is None or len(values) != 1:
        return False
    left, right = _integer(_SIGNED_INTEGER, value), _integer(_SIGNED_INTEGER, values[0])
    if left is None or right is None:
        return False
    return left > right if expression.operator == "Gt" else left < right


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

"""Label and field selectors in their query-string form, as predicates on objects."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from gangline.contract.label_query import label_selector_of
from gangline.contract.selectors import label_selector_matches
from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.kinds import Kind

Predicate = Callable[[dict[str, Any]], bool]

_FOUND_AT = {"status.successful": ("status.succeeded",), "source": ("source.component", "reportingComponent")}
"""Where fields are that have another name in selectors; the first place with a value counts."""
_DEFAULTS = {"unschedulable": "false", "hostNetwork": "false", "succeeded": "0", "replicas": "0"}
_FIELD_TERM = re.compile(r"\s*(?P<path>[^=!]*?)\s*(?P<operator>!=|==?)\s*(?P<value>.*?)\s*")


def labels_predicate(text: str) -> Predicate | None:
    """Read a label selector; None when it selects everything. Raises a 400 Failure."""
    try:
        selector = label_selector_of(text)
    except ValueError as problem:
        raise failures.bad_request(str(problem)) from problem
    if selector is None:
        return None

    def matches(item: dict[str, Any]) -> bool:
        labels = item["metadata"].get("labels")
        return label_selector_matches(selector, labels if isinstance(labels, dict) else {})

    return matches


def fields_predicate(text: str, kind: Kind) -> Predicate | None:
    """Read a field selector over the kind's own fields; None when it selects everything. Raises a 400 Failure."""
    if not text.strip():
        return None
    tests: list[tuple[Sequence[Sequence[str]], str, bool]] = []
    stored_names = {here: stored for stored, here in kind.renames}
    for term in text.split(","):
        found = _FIELD_TERM.fullmatch(term)
        if found is None:
            raise failures.bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        path, operator, value = found.groups()
        if path not in ("metadata.name", "metadata.namespace", *kind.selectable):
            raise failures.bad_request(_unknown(path, kind))
        places = [place.split(".") for place in _FOUND_AT.get(path, (path,))]
        stored = [[stored_names.get(head, head), *rest] for head, *rest in places]
        tests.append((stored, value, operator != "!="))

    def matches(item: dict[str, Any]) -> bool:
        return all((_first(item, places) == value) is equal for places, value, equal in tests)

    return matches


def _unknown(path: str, kind: Kind) -> str:
    if kind.selectable or kind.custom:
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _first(item: dict[str, Any], places: Sequence[Sequence[str]]) -> str:
    return next(filter(None, (_field(item, place) for place in places)), "")


def _field(item: Any, path: Sequence[str]) -> str:
    for step in path:
        item = item.get(step) if isinstance(item, dict) else None
    match item:
        case None:
            return _DEFAULTS.get(path[-1], "")
        case bool():
            return str(item).lower()
        case _:
            return str(item)

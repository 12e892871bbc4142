"""Label and field selectors in their query-string form, as predicates on objects."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.kinds import Kind

Predicate = Callable[[dict[str, Any]], bool]

_REQUIREMENT = re.compile(
    r"""\s*(?:
        !\s*(?P<absent>[^\s,=!()<>]+)
      | (?P<set_key>[^\s,=!()<>]+)\s+(?P<set_operator>in|notin)\s*\((?P<values>[^()]*)\)
      | (?P<key>[^\s,=!()<>]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s,=!()<>]*)
      | (?P<present>[^\s,=!()<>]+)
    )\s*(?:,|$)""",
    re.VERBOSE,
)
_FIELD_TERM = re.compile(r"\s*(?P<path>[^=!]*?)\s*(?P<operator>!=|==?)\s*(?P<value>.*?)\s*")


def labels_predicate(text: str) -> Predicate | None:
    """Read a label selector; None when it selects everything. Raises a 400 Failure."""
    if not text.strip():
        return None
    requirements = list(_requirements(text))

    def matches(item: dict[str, Any]) -> bool:
        labels = item["metadata"].get("labels")
        known = labels if isinstance(labels, dict) else {}
        return all(requirement(known) for requirement in requirements)

    return matches


def _requirements(text: str) -> Iterator[Predicate]:
    position = 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise failures.bad_request(f"unable to parse requirement: {text[position:]}")
        yield _requirement(found)
        position = found.end()


def _requirement(found: re.Match[str]) -> Predicate:
    if key := found["absent"]:
        return lambda labels: key not in labels
    if key := found["present"]:
        return lambda labels: key in labels
    if key := found["key"]:
        values, wanted = {found["value"]}, found["operator"] != "!="
    else:
        key, wanted = found["set_key"], found["set_operator"] == "in"
        values = {value.strip() for value in found["values"].split(",")}
    return lambda labels: (labels.get(key) in values) is wanted


def fields_predicate(text: str, kind: Kind) -> Predicate | None:
    """Read a field selector over the kind's own fields; None when it selects everything. Raises a 400 Failure."""
    if not text.strip():
        return None
    tests: list[tuple[Sequence[str], str, bool]] = []
    stored_names = {here: stored for stored, here in kind.renames}
    for term in text.split(","):
        found = _FIELD_TERM.fullmatch(term)
        if found is None:
            raise failures.bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        path, operator, value = found.groups()
        if path not in ("metadata.name", "metadata.namespace", *kind.selectable):
            raise failures.bad_request(f"field label not supported: {path}")
        head, *rest = path.split(".")
        tests.append(([stored_names.get(head, head), *rest], value, operator != "!="))

    def matches(item: dict[str, Any]) -> bool:
        return all((_field(item, path) == value) is equal for path, value, equal in tests)

    return matches


def _field(item: Any, path: Sequence[str]) -> str:
    for step in path:
        item = item.get(step) if isinstance(item, dict) else None
    match item:
        case None:
            return "false" if path[-1] in ("unschedulable", "hostNetwork") else ""
        case bool():
            return str(item).lower()
        case _:
            return str(item)


def all_of(predicates: Sequence[Predicate | None]) -> Predicate | None:
    """One predicate that holds when all hold."""
    present = [predicate for predicate in predicates if predicate is not None]
    if len(present) <= 1:
        return present[0] if present else None
    return lambda item: all(predicate(item) for predicate in present)

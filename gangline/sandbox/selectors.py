"""Label and field selectors in their query-string form, as predicates on objects."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from gangline.sandbox import failures
from gangline.sandbox.kinds import Kind

Predicate = Callable[[dict[str, Any]], bool]

_REQUIREMENT = re.compile(
    r"""\s*(?:
        (?P<absent>!)\s*(?P<absent_key>[^\s,=!()<>]+)
      | (?P<set_key>[^\s,=!()<>]+)\s+(?P<set_operator>in|notin)\s*\((?P<values>[^()]*)\)
      | (?P<key>[^\s,=!()<>]+)\s*(?P<operator>==|=|!=|>|<)\s*(?P<value>[^\s,=!()<>]*)
      | (?P<present_key>[^\s,=!()<>]+)
    )\s*(?:,|$)""",
    re.VERBOSE,
)


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


def _requirements(text: str) -> list[Predicate]:
    requirements, position = [], 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise failures.bad_request(_problem(text[position:]))
        requirements.append(_requirement(found.groupdict()))
        position = found.end()
    return requirements


def _problem(rest: str) -> str:
    """Say where a selector cannot be read, as the server's lexer does."""
    words = re.findall(r"[^\s,=!()<>]+|[(),]|[=!<>]+", rest)
    if words[-1:] in (["in"], ["notin"]):
        return "unable to parse requirement: found '' expected: '('"
    odd = next((later for earlier, later in pairwise(words) if earlier.isidentifier() and later.isidentifier()), rest)
    return f"found '{odd}', expected: ',' or 'end of string'"


def _requirement(parts: dict[str, str | None]) -> Predicate:
    match parts:
        case {"absent_key": str(key)}:
            return lambda labels: key not in labels
        case {"present_key": str(key)}:
            return lambda labels: key in labels
        case {"set_key": str(key), "set_operator": "in", "values": str(values)}:
            wanted = {value.strip() for value in values.split(",")}
            return lambda labels: labels.get(key) in wanted
        case {"set_key": str(key), "values": str(values)}:
            unwanted = {value.strip() for value in values.split(",")}
            return lambda labels: labels.get(key) not in unwanted
        case {"key": str(key), "operator": "!=", "value": str(value)}:
            return lambda labels: labels.get(key) != value
        case {"key": str(key), "operator": ("<" | ">") as operator, "value": str(value)}:
            return _comparison(key, value, above=operator == ">")
        case {"key": str(key), "value": str(value)}:
            return lambda labels: labels.get(key) == value
    raise AssertionError(parts)


def _comparison(key: str, value: str, *, above: bool) -> Predicate:
    if not re.fullmatch(r"-?\d+", value):
        raise failures.bad_request(
            f"unable to parse requirement: values[0]: Invalid value: {failures.quoted(value)}: "
            "for 'Gt', 'Lt' operators, the value must be an integer"
        )
    bound = int(value)

    def matches(labels: dict[str, Any]) -> bool:
        found = str(labels.get(key, ""))
        return bool(re.fullmatch(r"-?\d+", found)) and (int(found) > bound if above else int(found) < bound)

    return matches


def fields_predicate(text: str, kind: Kind) -> Predicate | None:
    """Read a field selector over the kind's own fields; None when it selects everything. Raises a 400 Failure."""
    if not text.strip():
        return None
    tests: list[tuple[Sequence[str], str, bool]] = []
    stored_names = {here: stored for stored, here in kind.renames}
    for term in text.split(","):
        path, operator, value = _field_term(term)
        if path not in ("metadata.name", "metadata.namespace", *kind.selectable):
            raise failures.bad_request(f"field label not supported: {path}")
        head, *rest = path.split(".")
        tests.append(([stored_names.get(head, head), *rest], value, operator != "!="))

    def matches(item: dict[str, Any]) -> bool:
        return all((_field(item, path) == value) is equal for path, value, equal in tests)

    return matches


def _field_term(term: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        path, found, value = term.partition(operator)
        if found:
            return path.strip(), operator, value.strip().replace("\\,", ",").replace("\\=", "=")
    raise failures.bad_request(f"invalid selector: '{term}'; can't understand '{term}'")


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

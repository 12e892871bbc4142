"""JSONPath as printer columns, scale subresources and selectable fields use it: fields, indexes, one equality filter."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

_STEP = re.compile(
    r"""\.?(?P<field>[^.\[\]'"]+)
      | \[(?P<index>\d+)\]
      | \[(?P<star>\*)\]
      | \[(?P<quote>['"])(?P<name>.*?)(?P=quote)\]
      | \[\?\(@\.(?P<filter>[\w.-]+)\s*==\s*(?P<mark>['"])(?P<value>.*?)(?P=mark)\)\]""",
    re.VERBOSE,
)
Step = Callable[[Any], list[Any]]


def first(item: Any, path: str) -> Any:
    """Return the first value at a path, or None."""
    found = [item]
    for step in _steps(path):
        found = [inner for each in found for inner in step(each)]
    return found[0] if found else None


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    """Parse a path; one that is not understood leads nowhere."""
    text = path.replace("\\.", "\0")
    matches = list(_STEP.finditer(text))
    if "".join(match[0] for match in matches) != text:
        return (lambda _item: [],)
    return tuple(map(_step, matches))


def _step(match: re.Match[str]) -> Step:
    if wanted := match["filter"]:
        value = match["value"]
        return lambda item: [each for each in _list(item) if isinstance(each, dict) and str(each.get(wanted)) == value]
    if match["index"]:
        place = int(match["index"])
        return lambda item: _list(item)[place : place + 1]
    if match["star"]:
        return _list
    name = (match["field"] or match["name"]).replace("\0", ".")
    return lambda item: [item[name]] if isinstance(item, dict) and name in item else []


def _list(item: Any) -> list[Any]:
    return item if isinstance(item, list) else []

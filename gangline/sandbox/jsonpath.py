"""JSONPath as printer columns, scale subresources and selectable fields use it: fields, indexes, one equality filter."""

import re
from collections.abc import Iterator
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
Step = tuple[str, str, str]


@lru_cache(maxsize=1024)
def steps(path: str) -> tuple[Step, ...]:
    """Parse a path into (kind, argument, value) steps; what is not understood ends the path."""
    found: list[Step] = []
    position = 0
    text = path.replace("\\.", "\0")
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            return (("nothing", "", ""),)
        position = step.end()
        if step["filter"]:
            found.append(("filter", step["filter"], step["value"]))
        elif step["index"]:
            found.append(("index", step["index"], ""))
        elif step["star"]:
            found.append(("star", "", ""))
        else:
            found.append(("field", (step["field"] or step["name"]).replace("\0", "."), ""))
    return tuple(found)


def first(item: Any, path: str) -> Any:
    """Return the first value at a path, or None."""
    return next(values(item, path), None)


def values(item: Any, path: str) -> Iterator[Any]:
    """Yield the values at a path."""
    yield from _walk(item, steps(path))


def _walk(item: Any, rest: tuple[Step, ...]) -> Iterator[Any]:
    if not rest:
        yield item
        return
    (kind, argument, value), *more = rest
    match kind, item:
        case "field", dict() if argument in item:
            yield from _walk(item[argument], tuple(more))
        case "index", list() if int(argument) < len(item):
            yield from _walk(item[int(argument)], tuple(more))
        case "star", list():
            for inner in item:
                yield from _walk(inner, tuple(more))
        case "filter", list():
            for inner in item:
                if isinstance(inner, dict) and str(inner.get(argument)) == value:
                    yield from _walk(inner, tuple(more))

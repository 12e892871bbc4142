"""Structs as they are written to the API server."""

from datetime import datetime
from typing import Any

from msgspec import Struct, to_builtins

from gangline.contract.timestamps import timestamp


def wire(value: Struct) -> dict[str, Any]:
    """Write a Struct as JSON for a patch: what is None left out, zeros kept so that they overwrite."""
    pruned = _pruned(to_builtins(value, builtin_types=(datetime,)))
    assert isinstance(pruned, dict)
    return pruned


def status_patch(status: Struct, *always: str) -> dict[str, Any]:
    """Write a status as a merge patch: as Kubernetes does, zeros and empty texts are left out but for some fields."""
    body = to_builtins(status, builtin_types=(datetime,))
    kept = {field: (None if value in (0, "") and field not in always else value) for field, value in body.items()}
    return {field: None if value is None else _pruned(value) for field, value in kept.items()}


def timed(conditions: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Give conditions one more time, equal to that of their last change, as some kinds have it."""
    return [{field: each.get("lastTransitionTime")} | each for each in conditions]


def _pruned(value: object) -> Any:
    match value:
        case dict():
            return {field: _pruned(each) for field, each in value.items() if each is not None}
        case list() | tuple():
            return [_pruned(each) for each in value]
        case datetime():
            return timestamp(value)
        case _:
            return value

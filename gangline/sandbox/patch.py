"""JSON patch, JSON merge patch and strategic merge patch, on plain objects; none changes its arguments."""

from collections.abc import Callable, Mapping
from typing import Any

import jsonpatch
import jsonpointer

from gangline.sandbox import failures

ListKeys = Callable[[tuple[str, ...]], tuple[str, ...]]


def json_patch(document: Any, operations: Any) -> Any:
    """RFC 6902; raises a 422 Failure when the patch does not apply and a 400 one when it is none."""
    if not isinstance(operations, list):
        raise failures.bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    try:
        return jsonpatch.JsonPatch(operations).apply(document)
    except jsonpatch.InvalidJsonPatch as problem:
        raise failures.bad_request(str(problem)) from problem
    except (jsonpatch.JsonPatchConflict, jsonpatch.JsonPatchTestFailed, jsonpointer.JsonPointerException) as problem:
        raise failures.Failure(
            422, "Invalid", f"the server rejected our request due to an error in our request: {problem}"
        ) from problem


def merge_patch(document: Any, changes: Any) -> Any:
    """RFC 7386."""
    if not isinstance(changes, dict):
        return changes
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged

"""JSON patch, JSON merge patch and strategic merge patch, on plain objects; none changes its arguments."""

from typing import Any

import jsonpatch
import jsonpointer

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.schema.shapes import Schema, below, items_of

_ORDER = "$setElementOrder/"
_DELETIONS = "$deleteFromPrimitiveList/"


def json_patch(document: Any, operations: Any) -> Any:
    """Apply RFC 6902; raises 422."""
    try:
        return jsonpatch.JsonPatch(operations).apply(document)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, AttributeError) as problem:
        message = "the server rejected our request due to an error in our request"
        raise failures.Failure(422, message, details={}) from problem


def merge_patch(document: Any, changes: Any) -> Any:
    """Apply RFC 7386."""
    if not isinstance(changes, dict):
        return changes
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def strategic_merge_patch(document: Any, changes: Any, schema: Schema) -> Any:
    """Merge by the schema's merge keys, with `$patch`, `$retainKeys`, `$setElementOrder` and deletions."""
    if not isinstance(changes, dict):
        return changes
    directive = changes.get("$patch")
    if directive == "replace":
        return _plain({key: value for key, value in changes.items() if key != "$patch"})
    if directive == "delete":
        return {}
    merged = dict(document) if isinstance(document, dict) else {}
    if "$retainKeys" in changes:
        merged = {key: value for key, value in merged.items() if key in changes["$retainKeys"]}
    for key, value in changes.items():
        if key.startswith(_DELETIONS):
            field = key.removeprefix(_DELETIONS)
            merged[field] = [item for item in merged.get(field) or [] if item not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged_field(merged.get(key), value, below(schema, key))
    for key, order in changes.items():
        if key.startswith(_ORDER):
            field = key.removeprefix(_ORDER)
            merged[field] = _in_order(merged.get(field) or [], order, below(schema, field))
    return merged


def _merged_field(document: Any, change: Any, schema: Schema) -> Any:
    strategies = schema.get("x-kubernetes-patch-strategy", "").split(",")
    if isinstance(change, list):
        return _merged_list(document or [], change, schema) if "merge" in strategies else change
    if "replace" in strategies:
        return change
    return strategic_merge_patch(document, change, schema)


def _merged_list(document: list[Any], changes: list[Any], schema: Schema) -> list[Any]:
    key = schema.get("x-kubernetes-patch-merge-key")
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in changes):
        return [_plain(item) for item in changes if item.get("$patch") != "replace"]
    if key is None:
        return [*document, *(item for item in changes if item not in document)]
    merged, inner = list(document), items_of(schema)
    before = [item.get(key) for item in document if isinstance(item, dict)]
    for change in changes:
        if not isinstance(change, dict) or key not in change:
            raise failures.Failure(422, f"map: {change} does not contain declared merge key: {key}")
        at = next((index for index, item in enumerate(merged) if item.get(key) == change[key]), None)
        if change.get("$patch") == "delete":
            merged = [item for item in merged if item.get(key) != change[key]]
        elif at is None:
            merged.append(_plain(change))
        else:
            merged[at] = strategic_merge_patch(merged[at], change, inner)
    return _interleaved(merged, [change[key] for change in changes], before, key)


def _interleaved(items: list[Any], named: list[Any], before: list[Any], key: str) -> list[Any]:
    """Order a merged list: what the patch names in its order, and before each what stood there before it did.

    So an item that is new comes first (`mergeSortedSlice` of `k8s.io/apimachinery/pkg/util/strategicpatch`).
    """
    by_key = {item.get(key): item for item in items}
    patched = [by_key[each] for each in dict.fromkeys(named) if each in by_key]
    others = [item for item in items if item.get(key) not in named]
    ordered: list[Any] = []
    for item in patched:
        while others and item[key] in before and before.index(others[0][key]) < before.index(item[key]):
            ordered.append(others.pop(0))
        ordered.append(item)
    return [*ordered, *others]


def _in_order(items: list[Any], order: list[Any], schema: Schema) -> list[Any]:
    """Sort items as the caller's list has them; items that it does not name keep their place at the end."""
    key = schema.get("x-kubernetes-patch-merge-key")
    places = {str(entry[key] if key else entry): place for place, entry in enumerate(order)}
    return sorted(items, key=lambda item: places.get(str(item.get(key) if key else item), len(places)))


def _plain(value: Any) -> Any:
    """Drop directives and nulls from a part of a patch that is new as a whole."""
    match value:
        case dict():
            return {key: _plain(inner) for key, inner in value.items() if not key.startswith("$") and inner is not None}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value

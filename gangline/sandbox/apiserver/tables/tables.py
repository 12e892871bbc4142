"""Server-side tables (`meta.k8s.io/v1 Table`): what `kubectl get` prints."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gangline.sandbox.apiserver.kinds import Column, Kind
from gangline.sandbox.apiserver.schema import jsonpath
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.tables.cells import since
from gangline.sandbox.apiserver.tables.columns import columns_of

_PARTIAL = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
_ENDS = {
    reason: {"type": "Completed", "status": "True", "reason": reason, "message": f"The pod {words}."}
    for reason, words in (("Succeeded", "has completed successfully"), ("Failed", "failed"))
}


def table(kind: Kind, items: Sequence[Object], now: datetime, *, metadata: Object, whole: bool, head: bool) -> Object:
    """Return a table of the items; `whole`: rows have more than their metadata, `head`: columns are named."""
    columns = columns_of(kind)
    body: Object = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    body["columnDefinitions"] = [_definition(column) for column in columns] if head else None
    body["rows"] = [_row(columns, item, now, whole=whole) for item in items]
    return body


def _definition(column: Column) -> Object:
    return {field: getattr(column, field) for field in ("name", "type", "format", "description", "priority")}


def _row(columns: Sequence[Column], item: Object, now: datetime, *, whole: bool) -> Object:
    row: Object = {"cells": [_cell(column, item, now) for column in columns]}
    if item.get("kind") == "Pod" and (end := _ENDS.get((item.get("status") or {}).get("phase", ""))):
        row["conditions"] = [end]
    row["object"] = item if whole else {**_PARTIAL, "metadata": item["metadata"]}
    return row


def _cell(column: Column, item: Object, now: datetime) -> Any:
    if not isinstance(column.source, str):
        try:
            return column.source(item, now)
        except (AttributeError, KeyError, TypeError, ValueError):
            return "<invalid>"  # only an object put past validation has such a shape
    path, _, fallback = column.source.partition("|")
    value = jsonpath.first(item, path)
    if value is None or value == "":
        return _as_type(fallback, column.type) if fallback or column.type == "string" else None
    return since(value, now) if column.type == "date" else _as_type(value, column.type)


def _as_type(value: Any, wanted: str) -> Any:
    match wanted:
        case "integer" if isinstance(value, str):
            return int(value) if value.lstrip("-").isdigit() else None
        case "boolean" if isinstance(value, str):
            return value == "true"
        case "string" if not isinstance(value, str):
            return str(value).lower() if isinstance(value, bool) else str(value)
        case _:
            return value

"""Steps through a schema: what is below a field, and how lists and maps merge."""

from collections.abc import Mapping
from typing import Any

from gangline.sandbox.kinds import Kind
from gangline.sandbox.types.definitions import OBJECT_META, definition_name, definitions

Schema = Mapping[str, Any]

_NOTHING: Schema = {}


def shape_of(kind: Kind) -> Schema:
    """Return the schema of a whole object of the kind."""
    name = definition_name(kind)
    if name:
        return {"$ref": name}
    schema = kind.schema or {}
    return {**schema, "properties": {**schema.get("properties", {}), "metadata": {"$ref": OBJECT_META}}}


def resolved(schema: Schema) -> Schema:
    """Follow references; what stands beside a reference stays."""
    while "$ref" in schema:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**definitions()[schema["$ref"]], **beside}
    return schema


def below(schema: Schema, field: str) -> Schema:
    """Return the schema of a field; an empty one when nothing is known."""
    inner = schema.get("properties", {}).get(field)
    if inner is None:
        more = schema.get("additionalProperties")
        inner = more if isinstance(more, Mapping) else _NOTHING
    return resolved(inner)


def items_of(schema: Schema) -> Schema:
    """Return the schema of a list's items."""
    items = schema.get("items")
    return resolved(items) if isinstance(items, Mapping) else _NOTHING


def item_key(item: Mapping[str, Any], keys: list[str], schema: Schema) -> tuple[tuple[str, Any], ...]:
    """Return what identifies an item of a list map; absent keys have their defaults."""
    properties = schema.get("properties", {})
    return tuple((key, item.get(key, properties.get(key, {}).get("default"))) for key in sorted(keys))

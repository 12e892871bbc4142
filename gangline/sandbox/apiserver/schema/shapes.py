"""The schemas of objects, and steps through them: what is below a field, and how lists and maps merge.

`types.json` has those of the built-in kinds, with their defaults, closed sets and protobuf numbers; it is made by
`python -m tests.gangline.sandbox.types.generate`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from gangline.sandbox.apiserver.kinds import Kind

Schema = Mapping[str, Any]

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_NOTHING: Schema = {}


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(Path(__file__).with_name("types.json").read_bytes())
    return document


def definitions() -> dict[str, dict[str, Any]]:
    """Schemas by definition name."""
    found: dict[str, dict[str, Any]] = _document()["definitions"]
    return found


def definition_of(api_version: str, kind: str) -> str | None:
    """Name of the definition of what calls itself so; None when it is no built-in kind."""
    name: str | None = _document()["kinds"].get(f"{api_version} {kind}")
    return name


def shape_of(kind: Kind) -> Schema:
    """Return the schema of a whole object of the kind."""
    if not kind.custom:
        return definitions()[definition_of(kind.api_version, kind.kind) or ""]
    schema = kind.schema or {"type": "object"}
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


def references(schema: Any) -> list[str]:
    """Return the names of the definitions that a schema refers to by itself."""
    match schema:
        case {"$ref": str(name)}:
            return [name]
        case dict():
            return [name for inner in schema.values() for name in references(inner)]
        case _:
            return []

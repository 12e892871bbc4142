"""OpenAPI documents from the shapes of kinds: enough for `kubectl explain`, `apply` and server-side validation.

Built-in kinds have no descriptions; custom kinds have those of their definitions.
"""

import hashlib
from typing import Any

import msgspec

from gangline.sandbox.discovery import VERSION
from gangline.sandbox.kinds import Kind
from gangline.sandbox.registry import Registry
from gangline.sandbox.shapes import OBJECT_META, definition_of, definitions, resolved, shape_of

_V2, _V3 = "#/definitions/", "#/components/schemas/"
_INFO = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
_VALIDATION = {"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": True}}
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC_PATCH = "application/strategic-merge-patch+json"


def index(registry: Registry) -> dict[str, Any]:
    """Return the answer of /openapi/v3: one document per group and version, with a hash that changes with it."""
    paths = {}
    for group, versions in registry.group_versions().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            shapes = [(kind.plural, kind.schema) for kind in registry.kinds() if kind.group == group]
            digest = hashlib.sha256(msgspec.json.encode(shapes)).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def version_3(parts: list[str], registry: Registry) -> dict[str, Any] | None:
    """Return the answer of /openapi/v3/api/v1 and /openapi/v3/apis/<group>/<version>."""
    match parts:
        case ["api", version]:
            group = ""
        case ["apis", group, version]:
            pass
        case _:
            return None
    kinds = [kind for kind in registry.kinds() if (kind.group, kind.version) == (group, version)]
    if not kinds:
        return None
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": {path: item for kind in kinds for path, item in _paths(kind).items()},
        "components": {"schemas": _schemas(kinds, _V3)},
    }


def version_2(registry: Registry) -> dict[str, Any]:
    """Return the answer of /openapi/v2, as JSON."""
    return {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": _schemas(registry.kinds(), _V2)}


def _paths(kind: Kind) -> dict[str, Any]:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    collection = f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    patches = _PATCHES if kind.custom else (*_PATCHES, _STRATEGIC_PATCH)
    content = {"schema": {"$ref": _V3 + _schema_name(kind)}}
    return {
        collection: {"get": _operation(kind, "list"), "post": _operation(kind, "post", content)},
        f"{collection}/{{name}}": {
            "get": _operation(kind, "get"),
            "put": _operation(kind, "put", content),
            "patch": {
                **_operation(kind, "patch"),
                "requestBody": {"content": {media_type: {} for media_type in patches}},
            },
        },
    }


def _operation(kind: Kind, action: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _identity(kind),
    }
    if action in ("post", "put", "patch"):
        operation["parameters"] = [_VALIDATION]
    if content:
        operation["requestBody"] = {"content": {"application/json": content}}
    return operation


def _identity(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _schema_name(kind: Kind) -> str:
    own = ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
    return own if kind.custom else definition_of(kind.api_version, kind.kind) or own


def _schemas(kinds: list[Kind], prefix: str) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    waiting = [OBJECT_META]
    for kind in kinds:
        name = _schema_name(kind)
        waiting.append(name)
        schemas[name] = {
            **_shown(resolved(shape_of(kind)), prefix),
            "x-kubernetes-group-version-kind": [_identity(kind)],
        }
    done: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        if name in definitions():
            schemas.setdefault(name, _shown(definitions()[name], prefix))
            waiting.extend(_references(definitions()[name]))
    return schemas


def _references(schema: Any) -> list[str]:
    match schema:
        case {"$ref": str(name)}:
            return [name]
        case dict():
            return [name for inner in schema.values() for name in _references(inner)]
        case _:
            return []


def _shown(schema: Any, prefix: str) -> Any:
    """Return a schema in OpenAPI's spelling."""
    match schema:
        case {"number": str(), **more}:
            return _shown(more, prefix)
        case {"$ref": str(name), **beside}:
            return (
                {"allOf": [{"$ref": prefix + name}], **beside} if beside and prefix == _V3 else {"$ref": prefix + name}
            )
        case {"format": "quantity"}:
            return {"oneOf": [{"type": "string"}, {"type": "number"}]} if prefix == _V3 else {"type": "string"}
        case {"x-kubernetes-int-or-string": True, **more}:
            inner = {key: value for key, value in more.items() if key != "anyOf"}
            return {**inner, "format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
        case dict():
            return {key: _shown(inner, prefix) for key, inner in schema.items()}
        case _:
            return schema

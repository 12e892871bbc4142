"""OpenAPI documents from the shapes of kinds: enough for `kubectl explain`, `apply` and server-side validation.

Built-in kinds have no descriptions; custom kinds have those of their definitions.
"""

import hashlib
from typing import Any

import msgspec

from gangline.sandbox.apiserver.http.discovery import VERSION, Document
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.registry import Registry
from gangline.sandbox.apiserver.schema.shapes import OBJECT_META, definition_of, definitions, references, shape_of

_SCHEMAS = "#/components/schemas/"
_INFO = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
_VALIDATION = {"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": True}}
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC_PATCH = "application/strategic-merge-patch+json"


def document(parts: list[str], registry: Registry) -> Document | None:
    """Return the answer of /openapi/v3, /openapi/v3/api/v1 and /openapi/v3/apis/<group>/<version>."""
    match parts:
        case ["v3"]:
            return _index(registry)
        case ["v3", "api", version]:
            kinds = registry.served_in("", version)
        case ["v3", "apis", group, version]:
            kinds = registry.served_in(group, version)
        case _:
            return None
    if not kinds:
        return None
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": {path: item for kind in kinds for path, item in _paths(kind).items()},
        "components": {"schemas": _schemas(kinds)},
    }


def _index(registry: Registry) -> Document:
    """Name the document of each group and version, with a hash that changes with it."""
    paths = {}
    for group, versions in registry.group_versions().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            shapes = [(kind.plural, kind.schema) for kind in registry.served_in(group, version)]
            digest = hashlib.sha256(msgspec.json.encode(shapes)).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def _paths(kind: Kind) -> Document:
    """Describe the one operation that clients look up: a patch, its forms and that it is validated."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    collection = f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    patches = _PATCHES if kind.custom else (*_PATCHES, _STRATEGIC_PATCH)
    operation = {
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": _identity(kind),
        "parameters": [_VALIDATION],
        "requestBody": {"content": {media_type: {} for media_type in patches}},
    }
    return {f"{collection}/{{name}}": {"patch": operation}}


def _identity(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _schema_name(kind: Kind) -> str:
    own = ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
    return own if kind.custom else definition_of(kind.api_version, kind.kind) or own


def _schemas(kinds: list[Kind]) -> Document:
    """Return the schemas of kinds, and of all that they refer to."""
    kinds_by_name = {_schema_name(kind): kind for kind in kinds}
    schemas: Document = {}
    waiting = [OBJECT_META, *kinds_by_name]
    while waiting:
        name = waiting.pop()
        if name in schemas:
            continue
        kind = kinds_by_name.get(name)
        schema = shape_of(kind) if kind else definitions()[name]
        schemas[name] = _shown(schema)
        if kind:
            schemas[name]["x-kubernetes-group-version-kind"] = [_identity(kind)]
        waiting.extend(references(schema))
    return schemas


def _shown(schema: Any) -> Any:
    """Return a schema in OpenAPI's spelling."""
    match schema:
        case {"number": str(), **more}:
            return _shown(more)
        case {"$ref": str(name), **beside}:
            reference = {"$ref": _SCHEMAS + name}
            return {"allOf": [reference], **beside} if beside else reference
        case {"format": "quantity"}:
            return {"oneOf": [{"type": "string"}, {"type": "number"}]}
        case {"x-kubernetes-int-or-string": True, **more}:
            inner = {key: value for key, value in more.items() if key != "anyOf"}
            return {**inner, "format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
        case dict():
            return {key: _shown(inner) for key, inner in schema.items()}
        case _:
            return schema

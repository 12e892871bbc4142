"""Bodies of writes: the envelope, and the walk through the kind's schema.

What is wrong is said as the real server says it: 400 for what Go cannot decode, causes for what breaks a custom
resource's schema, a warning or a refusal for unknown fields (`fieldValidation`).
"""

from enum import StrEnum
from typing import Any

from gangline.sandbox import failures
from gangline.sandbox.failures import Cause
from gangline.sandbox.kinds import Kind
from gangline.sandbox.schema import Undecodable, Walk
from gangline.sandbox.store import Object
from gangline.sandbox.types.definitions import OBJECT_META, definition_name, definitions


class FieldValidation(StrEnum):
    """What becomes of unknown fields."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


def check_envelope(kind: Kind, namespace: str, body: Any) -> Object:
    """Check apiVersion, kind and namespace against the URL; raises 400."""
    if not isinstance(body, dict):
        raise undecodable(kind, f"json: cannot unmarshal into Go value of type {kind.version}.{kind.kind}")
    api_version = body.setdefault("apiVersion", kind.api_version)
    if api_version != kind.api_version:
        raise failures.bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version ({kind.api_version})"
        )
    if body.setdefault("kind", kind.kind) != kind.kind:
        raise undecodable(kind, f"no kind {failures.quoted(body['kind'])} is registered")
    if body.get("metadata") is None:
        body["metadata"] = {}
    metadata = body["metadata"]
    if not isinstance(metadata, dict):
        raise undecodable(kind, "json: cannot unmarshal into Go struct field .metadata of type v1.ObjectMeta")
    if namespace and metadata.get("namespace") not in (None, "", namespace):
        raise failures.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return body


def reviewed(kind: Kind, new: Object, old: Object | None) -> tuple[list[str], list[Cause]]:
    """Prune, default and check `new` in place; return its unknown fields and what breaks its schema."""
    name = definition_name(kind)
    typed = Walk(definitions(), typed=True)
    try:
        if name:
            typed.visit(new, old, {"$ref": name})
            return typed.findings.unknown, typed.findings.causes
        before = (old or {}).get("metadata")
        typed.visit(new["metadata"], before, {"$ref": OBJECT_META}, "metadata")
    except Undecodable as problem:
        raise undecodable(kind, str(problem)) from problem
    structural = Walk({}, typed=False)
    metadata = new.pop("metadata")
    structural.visit(new, {**old, "metadata": None} if old else None, kind.schema or {})
    new["metadata"] = metadata
    return typed.findings.unknown + structural.findings.unknown, structural.findings.causes


def undecodable(kind: Kind, problem: str) -> failures.Failure:
    """400: the body is not of the kind."""
    return failures.bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {problem}'
    )


def unknown_fields(kind: Kind, paths: list[str], policy: FieldValidation) -> tuple[str, ...]:
    """Return warnings about unknown fields, or refuse them with 400."""
    complaints = tuple(f'unknown field "{path}"' for path in paths)
    if complaints and policy is FieldValidation.STRICT:
        raise undecodable(kind, "strict decoding error: " + ", ".join(complaints))
    return complaints if policy is FieldValidation.WARN else ()

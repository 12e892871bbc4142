"""Bodies of writes: the envelope, and the walk through the kind's schema.

What is wrong is refused as the real server does: 400 for what is of another type, causes for what breaks a custom
resource's schema, a warning or a refusal for unknown fields (`fieldValidation`).
"""

from enum import StrEnum
from typing import Any

import msgspec

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.schema.shapes import OBJECT_META, definition_of
from gangline.sandbox.apiserver.schema.walk import Undecodable, Walk, json_type
from gangline.sandbox.apiserver.store import Object

_SHOWN_LENGTH = 30


class FieldValidation(StrEnum):
    """What becomes of unknown fields."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


def check_envelope(kind: Kind, namespace: str, body: Any) -> Object:
    """Check apiVersion, kind and namespace against the URL; raises 400."""
    if not isinstance(body, dict):
        raise unrecognized(kind.kind, f"it is of type {json_type(body)}", msgspec.json.encode(body))
    for field, type_ in (("apiVersion", str), ("kind", str), ("metadata", dict)):
        if body.get(field) is None:
            body.pop(field, None)
        elif not isinstance(body[field], type_):
            raise UndecodableBody(kind, f"{field}: {json_type(body[field])} is not of type {json_type(type_())}")
    (_check_custom_identity if kind.custom else _check_identity)(kind, body)
    metadata = body.setdefault("metadata", {})
    if namespace and metadata.get("namespace") not in (None, "", namespace):
        raise failures.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return body


def _check_identity(kind: Kind, body: Object) -> None:
    """Check apiVersion and kind, which may be left out."""
    api_version = body.setdefault("apiVersion", kind.api_version)
    given = body.setdefault("kind", kind.kind)
    if api_version == kind.api_version and given == kind.kind:
        return
    raise failures.bad_request(f"{given} of {api_version} cannot be handled as a {kind.kind} of {kind.api_version}")


def _check_custom_identity(kind: Kind, body: Object) -> None:
    """Check apiVersion and kind of a custom resource, which must be there."""
    if not body.get("kind"):
        text = msgspec.json.encode(body)
        raise unrecognized(kind.kind, f"Object 'Kind' is missing in '{text.decode()}'", text)
    if body.setdefault("apiVersion", kind.api_version) != kind.api_version:
        raise failures.bad_request(
            f"the API version in the data ({body['apiVersion']}) does not match the expected API version "
            f"({kind.api_version})"
        )
    if body["kind"] != kind.kind:
        cause = Cause.invalid("kind", body["kind"], f"must be {kind.kind}")
        raise failures.invalid_as(body["kind"], kind.group, body.get("metadata", {}).get("name", ""), [cause])


def unrecognized(noun: str, problem: str, body: bytes) -> failures.Failure:
    """400: the body is not even an object with a kind."""
    text = body.decode(errors="replace") or "<empty>"
    shown = text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]} ..."
    return failures.bad_request(f"the object provided is unrecognized (must be of type {noun}): {problem} ({shown})")


def reviewed(
    kind: Kind, new: Object, old: Object | None, policy: FieldValidation, subresource: str = ""
) -> tuple[tuple[str, ...], list[Cause]]:
    """Prune, default and check `new` in place; return warnings, and what breaks its schema. Raises 400."""
    typed, structural = Walk(typed=True), Walk(typed=False)
    try:
        if kind.custom:
            typed.visit(new["metadata"], (old or {}).get("metadata"), {"$ref": OBJECT_META}, "metadata")
        else:
            typed.visit(new, old, {"$ref": definition_of(kind.api_version, kind.kind)})
    except Undecodable as problem:
        raise UndecodableBody(kind, str(problem)) from problem
    if kind.custom:
        metadata = new.pop("metadata")
        structural.visit(new, {**old, "metadata": None} if old else None, kind.schema or {})
        new["metadata"] = metadata
    causes = typed.causes + structural.causes
    if kind.custom and subresource == "status":  # which is checked as if it stood alone
        causes = [cause._replace(message=cause.message.replace("status.", "", 1)) for cause in causes]
    return _complaints(kind, typed.unknown + structural.unknown, policy), causes


def _complaints(kind: Kind, paths: list[str], policy: FieldValidation) -> tuple[str, ...]:
    """Return warnings about unknown fields, or refuse them with 400."""
    complaints = tuple(f'unknown field "{path}"' for path in paths)
    if complaints and policy is FieldValidation.STRICT:
        raise UndecodableBody(kind, "strict decoding error: " + ", ".join(complaints))
    return complaints if policy is FieldValidation.WARN else ()


class UndecodableBody(failures.Failure):
    """400: the body is not of the kind; `problem` says why."""

    def __init__(self, kind: Kind, problem: str) -> None:
        text = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {problem}'
        super().__init__(400, text)
        self.problem = problem

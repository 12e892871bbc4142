"""Failures as the API server words them: one exception that carries a `Status` body.

The constructors give reason, message, details and code as kube-apiserver 1.37 does
(`k8s.io/apimachinery/pkg/api/errors`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import json

from gangline.sandbox.apiserver.kinds import Kind


class Cause(NamedTuple):
    """One thing that is wrong with one field."""

    reason: str
    message: str
    field: str

    @classmethod
    def required(cls, field: str, detail: str = "") -> "Cause":
        """Say that a field must be there and is not."""
        return cls("FieldValueRequired", "Required value" + (f": {detail}" if detail else ""), field)

    @classmethod
    def invalid(cls, field: str, value: object, detail: str) -> "Cause":
        """Say that a value breaks a rule."""
        return cls("FieldValueInvalid", f"Invalid value: {quoted(value)}: {detail}", field)

    @classmethod
    def wrong_type(cls, field: str, value: object, detail: str) -> "Cause":
        """Say that a value is of another type than the schema has."""
        return cls("FieldValueTypeInvalid", f"Invalid value: {quoted(value)}: {detail}", field)

    @classmethod
    def unsupported(cls, field: str, value: object, supported: Sequence[str]) -> "Cause":
        """Say that a value is outside a closed set."""
        choices = ", ".join(quoted(choice) for choice in supported)
        return cls("FieldValueNotSupported", f"Unsupported value: {quoted(value)}: supported values: {choices}", field)

    @classmethod
    def forbidden(cls, field: str, detail: str) -> "Cause":
        """Say that a field may not be set or changed."""
        return cls("FieldValueForbidden", f"Forbidden: {detail}", field)

    @classmethod
    def duplicate(cls, field: str, value: object) -> "Cause":
        """Say that a value must be unique and is not."""
        return cls("FieldValueDuplicate", f"Duplicate value: {quoted(value)}", field)


_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Failure(Exception):  # noqa: N818 - it is an answer, as good as any other
    """A request that is refused; `status` is the body of the answer. The reason is that of the code, if not given."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str | None = None,
        details: dict[str, Any] | None = None,
        causes: Sequence[Cause] = (),
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_s = retry_after_s
        if causes:
            details = {**(details or {}), "causes": [_present(cause._asdict()) for cause in causes]}
        if retry_after_s is not None:
            details = {**(details or {}), "retryAfterSeconds": retry_after_s}
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            **_present({"reason": _REASONS.get(code, "") if reason is None else reason}),
            **({} if details is None else {"details": details}),
            "code": code,
        }


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if value}


def quoted(value: object) -> str:
    """Return a value as Go's error texts show it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() | dict() | list():
            return json.encode(value).decode()
        case _:
            return str(value)


def _details(kind: Kind, name: str) -> dict[str, Any]:
    return _present({"name": name, "group": kind.group, "kind": kind.plural})


def not_found(kind: Kind, name: str) -> Failure:
    """404: no such object."""
    return Failure(404, f'{kind.resource_name} "{name}" not found', details=_details(kind, name))


def no_such_resource() -> Failure:
    """404: the group and version are served, but no such resource."""
    return Failure(404, "the server could not find the requested resource", details={})


class NoSuchPath(Failure):
    """404 in plain text: nothing is served there, not even a `Status`."""

    def __init__(self) -> None:
        super().__init__(404, "404 page not found\n")


def already_exists(kind: Kind, name: str) -> Failure:
    """409: the name is taken."""
    message = f'{kind.resource_name} "{name}" already exists'
    return Failure(409, message, reason="AlreadyExists", details=_details(kind, name))


def conflict(kind: Kind, name: str, why: str, *, noun: str = "") -> Failure:
    """409: the object is not as the caller thinks; `noun` stands for the plural where the server says another."""
    plural = noun or kind.plural
    resource = f"{plural}.{kind.group}" if kind.group else plural
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return Failure(409, message, details={**_details(kind, name), "kind": plural})


def stale(kind: Kind, name: str) -> Failure:
    """409: the caller's resourceVersion is not the current one."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, why)


def wrong_uid(kind: Kind, key: str, name: str, *, wanted: str, found: str) -> Failure:
    """409: another object has the name now."""
    directory = f"{kind.group}/{kind.plural}" if kind.custom else kind.plural
    return conflict(
        kind,
        name,
        f"StorageError: invalid object, Code: 4, Key: /registry/{directory}/{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}",
    )


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> Failure:
    """422: the object breaks rules; those of an event say nothing of its group."""
    return invalid_as(kind.kind, "" if kind.renames else kind.group, name, causes)


def invalid_options(noun: str, *causes: Cause) -> Failure:
    """422: parameters of the request are outside of what they may be."""
    return invalid_as(noun, "meta.k8s.io", "", causes)


def invalid_as(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Failure:
    """422: of something that is no kind of ours."""
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    message = f'{f"{kind}.{group}" if group else kind} "{name}" is invalid: {joined}'
    return Failure(422, message, details=_present({"name": name, "group": group, "kind": kind}), causes=causes)


def bad_request(message: str) -> Failure:
    """400: the request makes no sense."""
    return Failure(400, message)


def forbidden(kind: Kind, name: str, why: str, *, causes: Sequence[Cause] = ()) -> Failure:
    """403: admission refuses."""
    message = f'{kind.resource_name} "{name}" is forbidden: {why}'
    return Failure(403, message, details=_details(kind, name), causes=causes)


def method_not_allowed() -> Failure:
    """405: the resource has no such verb."""
    return Failure(405, "the server does not allow this method on the requested resource", details={})


def not_acceptable() -> Failure:
    """406: none of the forms that the caller reads is served."""
    return Failure(406, "only the following media types are accepted: application/json", details={})


def internal(message: str) -> Failure:
    """500: what a server says of an error without a status of its own."""
    return Failure(500, message, reason="")

"""Failures as the API server words them: one exception that carries a `Status` body.

The constructors give reason, message, details and code as kube-apiserver 1.37 does
(`k8s.io/apimachinery/pkg/api/errors`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import json

from gangline.sandbox.kinds import Kind


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

    @classmethod
    def not_found(cls, field: str, value: object) -> "Cause":
        """Say that a reference leads nowhere."""
        return cls("FieldValueNotFound", f"Not found: {quoted(value)}", field)


class Failure(Exception):  # noqa: N818 - it is an answer, as good as any other
    """A request that is refused; `status` is the body of the answer."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_s = retry_after_s
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if retry_after_s is not None:
            details = {**(details or {}), "retryAfterSeconds": retry_after_s}
        if details is not None:
            self.status["details"] = details
        self.status["code"] = code


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


def _details(kind: Kind, name: str, **more: Any) -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    return {**details, "kind": kind.plural, **more}


def not_found(kind: Kind, name: str) -> Failure:
    """404: no such object."""
    return Failure(404, "NotFound", f'{kind.resource_name} "{name}" not found', details=_details(kind, name))


def no_such_resource() -> Failure:
    """404: the group and version are served, but no such resource."""
    return Failure(404, "NotFound", "the server could not find the requested resource", details={})


class NoSuchPath(Failure):
    """404 in plain text: nothing is served there, not even a `Status`."""

    def __init__(self) -> None:
        super().__init__(404, "NotFound", "404 page not found\n")


def already_exists(kind: Kind, name: str) -> Failure:
    """409: the name is taken."""
    return Failure(409, "AlreadyExists", f'{kind.resource_name} "{name}" already exists', details=_details(kind, name))


def conflict(kind: Kind, name: str, why: str, *, noun: str = "") -> Failure:
    """409: the object is not as the caller thinks; `noun` stands for the plural where the server says another."""
    plural = noun or kind.plural
    resource = f"{plural}.{kind.group}" if kind.group else plural
    return Failure(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource} "{name}": {why}',
        details={**_details(kind, name), "kind": plural},
    )


def stale(kind: Kind, name: str) -> Failure:
    """409: the caller's resourceVersion is not the current one."""
    return conflict(
        kind,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )


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


def invalid_options(noun: str, cause: Cause) -> Failure:
    """422: a parameter of the request is outside of what it may be."""
    return invalid_as(noun, "meta.k8s.io", "", [cause])


def undecodable_patch(problem: str, patched: object) -> Failure:
    """422: what a patch makes of an object is not of its kind."""
    return invalid_as("", "", "", [Cause.invalid("patch", quoted(patched), problem)])


def invalid_as(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Failure:
    """422: of something that is no kind of ours."""
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    qualified = f"{kind}.{group}" if group else kind
    details: dict[str, Any] = {"name": name, "group": group, "kind": kind}
    details = {key: part for key, part in details.items() if part}
    details["causes"] = [cause._asdict() for cause in causes]
    return Failure(422, "Invalid", f'{qualified} "{name}" is invalid: {joined}', details=details)


def bad_request(message: str) -> Failure:
    """400: the request makes no sense."""
    return Failure(400, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str, *, causes: Sequence[Cause] = ()) -> Failure:
    """403: admission refuses."""
    details = _details(kind, name)
    if causes:
        details["causes"] = [cause._asdict() for cause in causes]
    return Failure(403, "Forbidden", f'{kind.resource_name} "{name}" is forbidden: {why}', details=details)


def expired(message: str) -> Failure:
    """410: that far back the log is gone."""
    return Failure(410, "Expired", message)


def method_not_allowed() -> Failure:
    """405: the resource has no such verb."""
    message = "the server does not allow this method on the requested resource"
    return Failure(405, "MethodNotAllowed", message, details={})


def unsupported_patch() -> Failure:
    """415: no patch has this form."""
    return Failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})


def unsupported_media_type(supported: Sequence[str]) -> Failure:
    """415: the body is in a form that the verb does not read."""
    listed = ", ".join(supported)
    return Failure(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {listed}",
    )


def too_many_requests(message: str, *, retry_after_s: int | None = None, causes: Sequence[Cause] = ()) -> Failure:
    """429: not now."""
    details: dict[str, Any] = {}
    if causes:
        details["causes"] = [{"reason": cause.reason, "message": cause.message} for cause in causes]
    return Failure(429, "TooManyRequests", message, details=details, retry_after_s=retry_after_s)


def not_acceptable() -> Failure:
    """406: none of the forms that the caller reads is served."""
    return Failure(406, "NotAcceptable", "only the following media types are accepted: application/json", details={})


def internal(message: str) -> Failure:
    """500: what a server says of an error without a status of its own."""
    return Failure(500, "", message)


def request_too_large(limit_bytes: int) -> Failure:
    """413: the body is over the limit."""
    message = f"Request entity too large: limit is {limit_bytes}"
    return Failure(413, "RequestEntityTooLarge", message)


_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def refusal(code: int, retry_after_s: int | None = None, *, message: str = "") -> Failure:
    """Any code: for the bench of faults, and for defects of our own."""
    return Failure(code, _REASONS.get(code, ""), message or f"injected fault {code}", retry_after_s=retry_after_s)

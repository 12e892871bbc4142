"""What an answer that is not a success means, and what is known of the request it answers.

    ApiError
    ├── Unreachable       no connection: the request was never sent
    ├── Interrupted       no answer, or half of one: the request may have been acted on
    │   └── Silent        nothing arrived for longer than the request allows
    ├── Undecodable       a success whose body is not what it should be
    ├── BadRequest        400
    ├── Unauthorized      401
    ├── Forbidden         403
    ├── NotFound          404
    ├── Conflict          409
    │   └── AlreadyExists 409 to a create
    ├── Gone              410
    ├── Invalid           422
    ├── TooManyRequests   429
    └── ServerError       5xx

Statuses that have no class of their own are plain `ApiError`.
"""

# ruff: noqa: N818 - named after what the server says

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import ClassVar, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

EXCERPT_LIMIT: Final = 256
MESSAGE_LIMIT: Final = 1024
RETRY_AFTER_LIMIT_S: Final = 300.0


class ApiError(Exception):
    """An answer that is not a success. `status` is 0 where there was no answer."""

    transient: ClassVar[bool] = False
    """Whether the same request may succeed later without anybody changing anything."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        retry_after_s: float | None = None,
        causes: tuple[str, ...] = (),
        fields: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.causes = causes
        self.fields = fields

    @property
    def code(self) -> str:
        """A metric label: the status, or the name of the error where there was no answer."""
        return str(self.status) if self.status else type(self).__name__

    def __str__(self) -> str:
        label = self.reason or type(self).__name__
        return f"{self.status} {label}: {self.message}" if self.status else f"{label}: {self.message}"


class Unreachable(ApiError):
    """No connection could be made: refused, no route, no such host, TLS refused."""

    transient = True


class Interrupted(ApiError):
    """The connection broke or the deadline passed after the request may have been sent."""

    transient = True


class Silent(Interrupted):
    """Nothing arrived for longer than the request allows: the peer may be gone without a word."""


class Undecodable(ApiError):
    """The server said success, but the body does not decode as what was asked for."""


class BadRequest(ApiError):
    """400."""


class Unauthorized(ApiError):
    """401: the credentials were not accepted, after they had been read again."""


class Forbidden(ApiError):
    """403: RBAC, admission, or a namespace that is being deleted."""


class NotFound(ApiError):
    """404: no such object, or no such kind."""


class Conflict(ApiError):
    """409: another version, another UID, or (pods/binding) already bound."""


class AlreadyExists(Conflict):
    """409 to a create: the name is taken."""


class Gone(ApiError):
    """410: the resourceVersion or the continue token is too old."""


class Invalid(ApiError):
    """422: the object breaks the rules of its kind."""


class TooManyRequests(ApiError):
    """429: priority and fairness, or (eviction) a disruption budget; treated as unknown because proxies send it too."""

    transient = True


class ServerError(ApiError):
    """5xx, from the API server or from something in front of it."""

    transient = True


_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


class StatusCause(Struct, frozen=True, kw_only=True):
    """One cause in a Status."""

    reason: str | None = None
    field: str | None = None


class StatusDetails(Struct, frozen=True, kw_only=True, rename="camel"):
    """Details of a Status."""

    causes: tuple[StatusCause, ...] | None = None
    retry_after_seconds: int | None = None


class Status(Struct, frozen=True, kw_only=True):
    """`metav1.Status`, as failed requests and ERROR events in a watch carry it."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: StatusDetails | None = None


_DENIAL: Final = re.compile(r'User ".*" cannot \w+ (resource|path) ')
"""How the API server puts it (apiserver responsewriters.Forbidden)."""
_status_decoder: Final = msgspec.json.Decoder(Status)


def classify(status: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """Turn an answer outside 2xx into the error it means; bodies that are no Status (HTML) are cut to 256 characters.

    The answer's own status counts, not the body's `code`: proxies put codes of other protocols there.
    """
    retry_after_s = retry_after(headers.get("Retry-After"), headers.get("Date"))
    try:
        answer = _status_decoder.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return _class_of(status, "")(_excerpt(body), status=status, retry_after_s=retry_after_s)
    return from_status(replace(answer, code=status), retry_after_s=retry_after_s)


def from_status(status: Status, *, retry_after_s: float | None = None) -> ApiError:
    """Turn a Status into the error it means; its own retryAfterSeconds counts where no header said more."""
    code = status.code or 500
    reason = status.reason or ""
    details = status.details or StatusDetails()
    if retry_after_s is None and details.retry_after_seconds is not None:
        retry_after_s = _bounded(details.retry_after_seconds)
    return _class_of(code, reason)(
        _cut(status.message or reason or "no message", MESSAGE_LIMIT),
        status=code,
        reason=reason,
        retry_after_s=retry_after_s,
        causes=tuple(cause.reason for cause in details.causes or () if cause.reason),
        fields=tuple(cause.field for cause in details.causes or () if cause.field),
    )


def retry_after(value: str | None, date: str | None) -> float | None:
    """Seconds to wait by a Retry-After header: a number, or a date that is read against the answer's own Date.

    None where the header is absent or makes no sense; never negative, at most 300 s.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return _bounded(float(value))
    try:
        until = parsedate_to_datetime(value)
        return _bounded((until - parsedate_to_datetime(date or "")).total_seconds())
    except (ValueError, TypeError):
        return None


def version_too_large(error: ApiError) -> bool:
    """Whether the server has not yet seen the resourceVersion we asked for (a lagging replica, or a restore)."""
    return "ResourceVersionTooLarge" in error.causes or "too large resource version" in error.message.lower()


def is_away(error: ApiError) -> bool:
    """Whether there is no API server behind the address, or one that has just started (or whose etcd has)."""
    if isinstance(error, Unreachable) or error.status in {502, 503}:
        return True
    return isinstance(error, TooManyRequests) and "storage is (re)initializing" in error.message


def is_unanswered(error: ApiError) -> bool:
    """Whether the request may have met no API server: cut off, timed out, or timed out in a gateway."""
    return isinstance(error, Interrupted) or error.status == 504


def is_denied(error: ApiError) -> bool:
    """Whether an authorizer refused it, and not admission: we lack the right, whatever the request says."""
    return isinstance(error, Forbidden) and _DENIAL.search(error.message) is not None


def is_another(error: ApiError) -> bool:
    """Whether a patch with a UID met another object under the same name (pods; custom resources ignore the UID)."""
    return isinstance(error, Invalid) and "metadata.uid" in error.fields


def is_ending(error: ApiError) -> bool:
    """Whether something was to be created in a namespace that is being deleted."""
    return "NamespaceTerminating" in error.causes


def _class_of(status: int, reason: str) -> type[ApiError]:
    if status == 409 and reason == "AlreadyExists":
        return AlreadyExists
    if status >= 500:
        return ServerError
    return _BY_STATUS.get(status, ApiError)


def _excerpt(body: bytes) -> str:
    text = " ".join(body[: 4 * EXCERPT_LIMIT].decode("utf-8", "replace").split())
    return _cut(text or "empty answer", EXCERPT_LIMIT)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), RETRY_AFTER_LIMIT_S)

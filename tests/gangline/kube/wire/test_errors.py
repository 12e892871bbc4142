"""What an answer outside 2xx means."""

import json
from typing import Any

import pytest

from gangline.kube.wire import errors
from gangline.kube.wire.errors import ApiError, classify, retry_after


def status(code: int, reason: str, message: str = "sorry", **details: Any) -> bytes:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details or None}
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("code", "body", "type_", "transient"),
    [
        pytest.param(400, status(400, "BadRequest"), errors.BadRequest, False, id="400"),
        pytest.param(401, status(401, "Unauthorized"), errors.Unauthorized, False, id="401"),
        pytest.param(403, status(403, "Forbidden"), errors.Forbidden, False, id="403"),
        pytest.param(404, status(404, "NotFound"), errors.NotFound, False, id="404"),
        pytest.param(404, b"404 page not found\n", errors.NotFound, False, id="404-as-text"),
        pytest.param(409, status(409, "Conflict"), errors.Conflict, False, id="409"),
        pytest.param(409, status(409, "AlreadyExists"), errors.AlreadyExists, False, id="409-exists"),
        pytest.param(410, status(410, "Expired"), errors.Gone, False, id="410"),
        pytest.param(413, b"too big", ApiError, False, id="413-has-no-class"),
        pytest.param(302, b"", ApiError, False, id="redirects-are-not-followed"),
        pytest.param(422, status(422, "Invalid"), errors.Invalid, False, id="422"),
        pytest.param(429, status(429, "TooManyRequests"), errors.TooManyRequests, True, id="429"),
        pytest.param(500, status(500, "InternalError"), errors.ServerError, True, id="500"),
        pytest.param(502, b"<html>Bad gateway</html>", errors.ServerError, True, id="502-html"),
        pytest.param(504, status(504, "Timeout"), errors.ServerError, True, id="504"),
        pytest.param(500, b"[" * 100_000, errors.ServerError, True, id="500-bottomless"),
        pytest.param(500, b'{"code":"x"}', errors.ServerError, True, id="500-status-of-wrong-types"),
        pytest.param(503, b"", errors.ServerError, True, id="503-empty"),
        pytest.param(503, b'{"code":14,"message":"x"}', errors.ServerError, True, id="503-of-a-proxy"),
        pytest.param(502, status(404, "NotFound"), errors.ServerError, True, id="502-saying-404"),
        pytest.param(500, status(500, "AlreadyExists"), errors.ServerError, True, id="500-exists"),
        pytest.param(404, b'{"code":987654321}', errors.NotFound, False, id="404-with-a-wild-code"),
    ],
)
def test_classes(code: int, body: bytes, type_: type[ApiError], *, transient: bool) -> None:
    error = classify(code, body, {})

    assert type(error) is type_
    assert (error.status, error.transient) == (code, transient)


def test_a_status_says_why() -> None:
    error = classify(403, status(403, "Forbidden", "pods is forbidden"), {})

    assert (error.reason, error.message) == ("Forbidden", "pods is forbidden")
    assert str(error) == "403 Forbidden: pods is forbidden"


def test_a_page_of_html_is_cut_to_one_short_line() -> None:
    error = classify(502, b"<html>\n\n  <h1>Bad   gateway</h1>" + b"x" * 5000, {})

    assert error.message.startswith("<html> <h1>Bad gateway</h1>x")
    assert len(error.message) == 256


def test_an_error_without_an_answer_is_named_by_its_class() -> None:
    assert errors.Unreachable("no route").code == "Unreachable"
    assert str(errors.Unreachable("no route")) == "Unreachable: no route"
    assert classify(404, b"", {}).code == "404"


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        pytest.param(None, None, None, id="absent"),
        pytest.param("7", None, 7.0, id="seconds"),
        pytest.param(" 7 ", None, 7.0, id="spaces"),
        pytest.param("0", None, 0.0, id="zero"),
        pytest.param("86400", None, 300.0, id="a-day-is-too-long"),
        pytest.param("9" * 400, None, 300.0, id="huge"),
        pytest.param("-5", None, None, id="negative"),
        pytest.param("soon", None, None, id="word"),
        pytest.param("٣", None, None, id="other-digits"),
        pytest.param("Mon, 30 Nov 2026 10:00:30 GMT", "Mon, 30 Nov 2026 10:00:00 GMT", 30.0, id="date"),
        pytest.param("Mon, 30 Nov 2026 09:00:00 GMT", "Mon, 30 Nov 2026 10:00:00 GMT", 0.0, id="date-in-the-past"),
        pytest.param("Mon, 30 Nov 2026 10:00:30 GMT", None, None, id="date-without-date"),
        pytest.param("Mon, 30 Nov 2026 10:00:30", "Mon, 30 Nov 2026 10:00:00 GMT", None, id="date-without-zone"),
    ],
)
def test_retry_after(value: str | None, date: str | None, seconds: float | None) -> None:
    assert retry_after(value, date) == seconds


def test_a_status_may_say_when_to_retry_and_the_header_is_stronger() -> None:
    body = status(429, "TooManyRequests", retryAfterSeconds=3)

    assert classify(429, body, {}).retry_after_s == 3.0
    assert classify(429, body, {"Retry-After": "9"}).retry_after_s == 9.0


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        pytest.param(
            403,
            'pods "a" is forbidden: User "system:serviceaccount:s:n" cannot patch resource "pods/status" in API group ""',
            True,
            id="rbac",
        ),
        pytest.param(
            403,
            'pods "a" is forbidden: unable to create new content in namespace x because it is being',
            False,
            id="full",
        ),
        pytest.param(403, 'admission webhook "w" denied the request', False, id="webhook"),
        pytest.param(401, 'User "x" cannot patch resource "pods"', False, id="401"),
    ],
)
def test_a_right_that_is_missing(code: int, message: str, *, expected: bool) -> None:
    assert errors.is_denied(classify(code, status(code, "", message), {})) == expected


@pytest.mark.parametrize(
    ("code", "fields", "expected"),
    [
        pytest.param(422, ["metadata.uid"], True, id="another-uid"),
        pytest.param(422, ["spec", "metadata.uid"], True, id="among-others"),
        pytest.param(422, ["spec"], False, id="another-rule"),
        pytest.param(422, [], False, id="no-field"),
        pytest.param(409, ["metadata.uid"], False, id="409"),
    ],
)
def test_a_patch_that_met_another_object(code: int, fields: list[str], *, expected: bool) -> None:
    causes = [{"reason": "FieldValueInvalid", "field": field} for field in fields]

    assert errors.is_another(classify(code, status(code, "", causes=causes), {})) == expected


@pytest.mark.parametrize(
    ("error", "away", "unanswered"),
    [
        pytest.param(errors.Unreachable("refused"), True, False, id="refused"),
        pytest.param(errors.Interrupted("reset"), False, True, id="reset"),
        pytest.param(classify(502, b"<html>", {}), True, False, id="502"),
        pytest.param(classify(503, status(503, "ServiceUnavailable"), {}), True, False, id="503"),
        pytest.param(classify(504, b"", {}), False, True, id="504"),
        pytest.param(classify(500, b"", {}), False, False, id="500"),
        pytest.param(classify(429, status(429, "", "storage is (re)initializing"), {}), True, False, id="etcd-started"),
        pytest.param(classify(429, status(429, "", "too many requests"), {}), False, False, id="429"),
    ],
)
def test_a_server_that_may_have_been_away(error: errors.ApiError, *, away: bool, unanswered: bool) -> None:
    assert (errors.is_away(error), errors.is_unanswered(error)) == (away, unanswered)


def test_a_version_that_the_server_has_not_seen() -> None:
    cause = classify(504, status(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge"}]), {})
    text = classify(504, status(504, "Timeout", "Too large resource version: 9, current: 3"), {})

    assert errors.version_too_large(cause)
    assert errors.version_too_large(text)
    assert not errors.version_too_large(classify(504, status(504, "Timeout"), {}))


@pytest.mark.parametrize(("reason", "expected"), [("NamespaceTerminating", True), ("Other", False)])
def test_something_new_in_a_namespace_that_ends(reason: str, *, expected: bool) -> None:
    assert errors.is_ending(classify(403, status(403, "", causes=[{"reason": reason}]), {})) == expected

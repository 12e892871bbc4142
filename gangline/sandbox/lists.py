"""Lists: selectors, pages and revisions.

A continue token is opaque to clients; inside it binds the rest of a list to the revision of its first page.
"""

import base64
import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from gangline.sandbox import failures
from gangline.sandbox.failures import Cause
from gangline.sandbox.kinds import Kind
from gangline.sandbox.selectors import Predicate, all_of, fields_predicate, labels_predicate
from gangline.sandbox.store import Compacted, Store, Version


class Token(Struct, frozen=True):
    """Where the next page begins."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"


class Page(Struct, frozen=True, kw_only=True):
    """One page of a list."""

    versions: list[Version]
    revision: int
    next_token: str
    remaining: int | None


def selection(query: Mapping[str, str], kind: Kind) -> Predicate | None:
    """Return the label and field selectors of a query as one predicate."""
    return all_of(
        [labels_predicate(query.get("labelSelector", "")), fields_predicate(query.get("fieldSelector", ""), kind)]
    )


def unreadable_revision(text: str) -> str | None:
    """Say what is wrong with a resourceVersion of a query; None when it is a number or empty."""
    if re.fullmatch(r"\d{0,19}", text):
        return None
    cause = Cause.invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": invalid syntax')
    return f"{cause.field}: {cause.message}"


def page(store: Store, kind: Kind, namespace: str, query: Mapping[str, str]) -> Page:
    """Answer a list query; raises 400, 410, 422 and 504 Failures."""
    matches = selection(query, kind)
    limit = parsed_count(query, "limit")
    token = _token(query)
    revision = token.rv if token else _exact_revision(store, query, limit)
    try:
        exact = revision is not None and revision != store.revision
        versions = (
            store.at(kind.resource, revision or 0, namespace) if exact else store.current(kind.resource, namespace)
        )
    except Compacted as gone:
        raise _expired(token, gone, store) from gone
    start = token.start if token else ""
    matching = [
        version for version in versions if version.key >= start and (matches is None or matches(version.object))
    ]
    shown = matching[:limit] if limit else matching
    rest = len(matching) - len(shown)
    shown_revision = store.revision if revision is None else revision
    return Page(
        versions=shown,
        revision=shown_revision,
        next_token=_encoded(Token(shown_revision, shown[-1].key + "\0")) if rest else "",
        remaining=rest if rest and matches is None else None,
    )


def parsed_count(query: Mapping[str, str], parameter: str) -> int:
    """Return a number of a query; absent and negative ones are 0. Raises 400."""
    text = query.get(parameter) or "0"
    if not re.fullmatch(r"-?\d{1,18}", text):
        raise failures.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return max(0, int(text))


def _token(query: Mapping[str, str]) -> Token | None:
    text = query.get("continue", "")
    if not text:
        return None
    if query.get("resourceVersion", "0") not in ("", "0"):
        raise failures.bad_request("specifying resource version is not allowed when using continue")
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Token)
    except (ValueError, msgspec.MsgspecError) as problem:
        raise failures.bad_request(f"invalid continue token: continue key is not valid: {problem}") from problem


def _encoded(token: Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _exact_revision(store: Store, query: Mapping[str, str], limit: int) -> int | None:
    """Return the revision that the list must show; None for the newest."""
    text, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if problem := unreadable_revision(text):
        raise failures.bad_request(f"invalid resource version: {problem}")
    revision = int(text or 0)
    causes = []
    if match and not text:
        causes.append(
            Cause.forbidden(
                "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
            )
        )
    elif match not in ("", "Exact", "NotOlderThan"):
        causes.append(Cause.unsupported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
    elif match == "Exact" and text == "0":
        causes.append(
            Cause.forbidden(
                "resourceVersionMatch",
                'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
            )
        )
    if causes:
        raise failures.invalid_options("ListOptions", *causes)
    if revision > store.revision:
        raise _too_large(revision, store.revision)
    return revision if revision and (match == "Exact" or (limit and not match)) else None


def _too_large(revision: int, current: int) -> failures.Failure:
    return failures.Failure(
        504,
        f"Timeout: Too large resource version: {revision}, current: {current}",
        causes=[Cause("ResourceVersionTooLarge", "Too large resource version", "")],
        retry_after_s=1,
    )


def _expired(token: Token | None, gone: Compacted, store: Store) -> failures.Failure:
    if token is None:
        return failures.Failure(410, f"The resourceVersion for the provided list is too old: {gone}")
    failure = failures.Failure(
        410,
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    )
    failure.status["metadata"] = {"continue": _encoded(Token(store.revision, token.start))}
    return failure

"""Lists: selectors, pages and revisions.

A continue token is opaque to clients; inside it binds the rest of a list to the revision of its first page.
"""

import base64
from collections.abc import Mapping

import msgspec
from msgspec import Struct, field

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause, Failure
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.store import Compacted, Store, Version
from gangline.sandbox.apiserver.verbs.selectors import Predicate, fields_predicate, labels_predicate

_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


class ListOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a list or a watch asks for (`metav1.ListOptions`)."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    token: str = field(default="", name="continue")
    resource_version: int | None = None
    resource_version_match: str = ""
    timeout_seconds: int = 0
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None

    def selection(self, kind: Kind) -> Predicate | None:
        """Return both selectors as one predicate; raises 400."""
        labelled, with_fields = labels_predicate(self.label_selector), fields_predicate(self.field_selector, kind)
        if labelled and with_fields:
            return lambda item: labelled(item) and with_fields(item)
        return labelled or with_fields


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


def options_of(query: Mapping[str, str]) -> ListOptions:
    """Read a query; empty parameters are as good as none. Raises 400."""
    try:
        return msgspec.convert({key: value for key, value in query.items() if value}, ListOptions, strict=False)
    except msgspec.ValidationError as problem:
        raise failures.bad_request(str(problem)) from problem


def page(store: Store, kind: Kind, namespace: str, query: Mapping[str, str]) -> Page:
    """Answer a list query; raises 400, 410, 422 and 504 Failures."""
    options = options_of(query)
    matches = options.selection(kind)
    token = _token(options)
    revision = token.rv if token else _exact_revision(store, options)
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
    shown = matching[: options.limit] if options.limit > 0 else matching
    rest = len(matching) - len(shown)
    shown_revision = store.revision if revision is None else revision
    return Page(
        versions=shown,
        revision=shown_revision,
        next_token=_encoded(Token(shown_revision, shown[-1].key + "\0")) if rest else "",
        remaining=rest if rest and matches is None else None,
    )


def _token(options: ListOptions) -> Token | None:
    if not options.token:
        return None
    if options.resource_version:
        raise failures.bad_request("specifying resource version is not allowed when using continue")
    try:
        padding = "=" * (-len(options.token) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(options.token + padding), type=Token)
    except (ValueError, msgspec.MsgspecError) as problem:
        raise failures.bad_request(f"invalid continue token: continue key is not valid: {problem}") from problem


def _encoded(token: Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _exact_revision(store: Store, options: ListOptions) -> int | None:
    """Return the revision that the list must show; None for the newest."""
    revision, match = options.resource_version, options.resource_version_match
    field, cause = "resourceVersionMatch", None
    if match and revision is None:
        cause = Cause.forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided")
    elif match not in ("", "Exact", "NotOlderThan"):
        cause = Cause.unsupported(field, match, ("Exact", "NotOlderThan", ""))
    elif match == "Exact" and revision == 0:
        cause = Cause.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    if cause:
        raise failures.invalid_options("ListOptions", cause)
    if revision and revision > store.revision:
        message = f"Timeout: Too large resource version: {revision}, current: {store.revision}"
        reason = Cause("ResourceVersionTooLarge", "Too large resource version", "")
        raise Failure(504, message, causes=[reason], retry_after_s=1)
    return revision if revision and (match == "Exact" or (options.limit > 0 and not match)) else None


def _expired(token: Token | None, gone: Compacted, store: Store) -> Failure:
    if token is None:
        return Failure(410, f"The resourceVersion for the provided list is too old: {gone}")
    failure = Failure(410, _EXPIRED)
    failure.status["metadata"] = {"continue": _encoded(Token(store.revision, token.start))}
    return failure

"""Watches: the log as a stream of JSON lines.

`Watch` is synchronous and pure over the store; the server sends what it makes. A watch with selectors reports an
object that stops matching as DELETED and one that begins to match as ADDED, as the real server's cache does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause, Failure
from gangline.sandbox.apiserver.kinds import GroupResource
from gangline.sandbox.apiserver.store import Change, Compacted, Store, Version
from gangline.sandbox.apiserver.verbs.lists import ListOptions, options_of
from gangline.sandbox.apiserver.verbs.paths import Target
from gangline.sandbox.apiserver.verbs.selectors import Predicate

Show = Callable[[Version], bytes]

_HEADS = {change: b'{"type":"%s","object":' % change.encode() for change in Change}


class Watch:
    """One watcher's view: which objects it sees, in which form, and how far it is.

    It is over when the watcher lets more versions wait than `backlog_limit`.
    """

    def __init__(
        self, store: Store, target: Target, query: Mapping[str, str], show: Show, *, backlog_limit: int = 50_000
    ) -> None:
        self._pending: list[Version] = []
        self._backlog_limit = backlog_limit
        self._store = store
        self._kind = target.kind
        self._namespace = target.namespace
        self._prefix = f"{target.namespace}/" if target.namespace else ""
        options = options_of(query)
        self._matches = options.selection(target.kind)
        self._show = show
        self._after = options.resource_version or 0
        self._initial_events = options.send_initial_events
        self.bookmarks = options.allow_watch_bookmarks
        self.timeout_s = max(0, options.timeout_seconds)
        self.is_over = False
        _check_match(options)

    @property
    def resource(self) -> GroupResource:
        """What is watched."""
        return self._kind.resource

    @contextmanager
    def subscribed(self, wake: Callable[[], None]) -> Iterator[None]:
        """Collect what is committed from now on; subscribe before `opening`, in one go, and nothing is missed."""

        def listener(version: Version) -> None:
            if len(self._pending) < self._backlog_limit:
                self._pending.append(version)
            else:
                self.is_over = True
            wake()

        self._store.subscribe(self._kind.resource, listener)
        try:
            yield
        finally:
            self._store.unsubscribe(self._kind.resource, listener)

    def opening(self) -> bytes:
        """Return the first lines: what is there, or what happened since; or the one error that ends the watch."""
        if self._initial_events is None and self._after:
            try:
                return self._lines(self._store.since(self._kind.resource, self._after))
            except Compacted as gone:
                self.is_over = True
                return _error_line(Failure(410, f"too old resource version: {gone.revision} ({gone.oldest})"))
        if self._initial_events is False:
            return b""
        matches: Predicate = self._matches or (lambda _item: True)
        current = self._store.current(self._kind.resource, self._namespace)
        lines = b"".join(_line(Change.ADDED, self._show(version)) for version in current if matches(version.object))
        self._after = self._store.revision
        return lines + (self.bookmark(initial_end=True) if self._initial_events and self.bookmarks else b"")

    def news(self) -> bytes:
        """Return what has been committed since the last time, in order, as this watcher sees it."""
        pending, self._pending = self._pending, []
        return self._lines(pending)

    def _lines(self, versions: Iterable[Version]) -> bytes:
        return b"".join(filter(None, map(self._event, versions)))

    def bookmark(self, *, initial_end: bool = False) -> bytes:
        """Return a line that says how far the stream is."""
        metadata: dict[str, Any] = {"resourceVersion": str(self._store.revision)}
        if initial_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        item = {"kind": self._kind.kind, "apiVersion": self._kind.api_version, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": item}) + b"\n"

    def _event(self, version: Version) -> bytes | None:
        if version.revision <= self._after or not version.key.startswith(self._prefix):
            return None
        if self._matches is None:
            return _line(version.change, self._show(version))
        is_seen = version.change is not Change.DELETED and self._matches(version.object)
        was_seen = version.previous is not None and self._matches(version.previous.object)
        if is_seen:
            return _line(Change.MODIFIED if was_seen else Change.ADDED, self._show(version))
        return self._departure(version) if was_seen else None

    def _departure(self, version: Version) -> bytes:
        """Show what the watcher saw last, for one that it may not see any more."""
        last = version.object
        if version.change is not Change.DELETED and version.previous is not None:
            seen = version.previous.object
            last = {**seen, "metadata": {**seen["metadata"], "resourceVersion": str(version.revision)}}
        return _line(Change.DELETED, self._show(msgspec.structs.replace(version, object=last, encoded={})))


def _error_line(failure: Failure) -> bytes:
    """Return an ERROR event."""
    return msgspec.json.encode({"type": "ERROR", "object": failure.status}) + b"\n"


def _line(change: Change, item: bytes) -> bytes:
    return _HEADS[change] + item + b"}\n"


def _check_match(options: ListOptions) -> None:
    """Check that a watch begins in one way; raises 422."""
    asks, match = options.send_initial_events is not None, options.resource_version_match
    if asks and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    elif match and not asks:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    else:
        return
    raise failures.invalid_options("ListOptions", Cause.forbidden("resourceVersionMatch", detail))

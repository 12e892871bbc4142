"""Watches: the log as a stream of JSON lines.

`lines` is synchronous and pure over the store; the server sends what it makes. A watch with selectors reports an
object that stops matching as DELETED and one that begins to match as ADDED, as the real server's cache does.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from gangline.sandbox import failures, lists
from gangline.sandbox.kinds import Kind
from gangline.sandbox.selectors import Predicate
from gangline.sandbox.store import Change, Compacted, Store, Version

Show = Callable[[Version], bytes]

_HEADS = {change: b'{"type":"%s","object":' % change.encode() for change in Change}


class Watch:
    """One watcher's view: which objects it sees, in which form, and how far it is."""

    def __init__(self, store: Store, kind: Kind, namespace: str, query: Mapping[str, str], show: Show) -> None:
        self._store = store
        self._kind = kind
        self._prefix = f"{namespace}/" if namespace else ""
        self._matches = lists.selection(query, kind)
        self._show = show
        self._after = lists.parsed_revision(query.get("resourceVersion", ""))
        self._initial_events = _wants_initial_events(query)
        self.bookmarks = query.get("allowWatchBookmarks", "").lower() in ("true", "1")

    def opening(self) -> bytes:
        """The first lines: what is there, or what happened since; or the one error that ends the watch."""
        if self._initial_events is None and self._after:
            try:
                return self.lines(self._store.since(self._kind.resource, self._after))
            except Compacted as gone:
                return error_line(failures.expired(f"too old resource version: {gone.revision} ({gone.oldest})"))
        if self._initial_events is False:
            return b""
        current = self._store.current(self._kind.resource, self._prefix.rstrip("/"))
        matches: Predicate = self._matches or (lambda _item: True)
        self._after = 0
        lines = b"".join(_line(Change.ADDED, self._show(version)) for version in current if matches(version.object))
        self._after = self._store.revision
        return lines + (self.bookmark(initial_end=True) if self._initial_events else b"")

    def lines(self, versions: Iterable[Version]) -> bytes:
        """Committed versions as this watcher sees them."""
        return b"".join(filter(None, map(self._event, versions)))

    def bookmark(self, *, initial_end: bool = False) -> bytes:
        """A line that says how far the stream is."""
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
        return _line(Change.DELETED, self._show(version)) if was_seen else None


def error_line(failure: failures.Failure) -> bytes:
    """An ERROR event."""
    return msgspec.json.encode({"type": "ERROR", "object": failure.status}) + b"\n"


def _line(change: Change, item: bytes) -> bytes:
    return _HEADS[change] + item + b"}\n"


def _wants_initial_events(query: Mapping[str, str]) -> bool | None:
    text = query.get("sendInitialEvents", "")
    return None if not text else text.lower() in ("true", "1")

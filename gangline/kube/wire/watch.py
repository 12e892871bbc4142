"""The watch machine: how the truth about one kind of object is followed, without doing any of it.

    list (page by page) ──> watch from the list's resourceVersion ──> confirm ──> watch from the last line's ...
      ^  ^                         │                                   │
      │  └── wait (backoff) <──────┴──────── failure ──────────────────┘
      └── 410, "too large resource version", history that goes back, a silent stream, a server that was away,
          two streams without one good line, any end of a watch of custom resources

A server that was restored from a backup accepts a watch from a version that it has not reached, sends neither events
nor bookmarks until its new history gets there, and then goes on as if nothing had been (seen on 1.37). So no watch
follows another before a consistent read has said how far the server is. Once its new history has passed ours nobody
can tell them apart; a server that we have met away is therefore listed anew, whatever it says.

Custom resources are read by the schema that is served at the moment, and one that lacks a field hides it. What another
schema shows or hides comes with no event and no new resourceVersion; a watch by the old one goes on for a second, and
then ends (seen on 1.37). So after each watch custom resources are listed, which confirms as well.

The shell asks `next` what to do, does it, and tells what came of it: `page`, `confirmed`, `opened`, `line`, `ended`,
`failed`.
`page` and `line` raise `ApiError` for answers that make no sense; the shell hands it to `failed` like any other.
Every failure is followed by a wait that grows to a limit and shrinks only after a stream has lived for a second,
so a server that answers and hangs up at once is not asked in a hot loop. Known objects are kept as key and UID alone.
"""

from typing import Final, Generic, assert_never

from msgspec import Struct

from gangline.base.backoff import Backoff
from gangline.contract.meta import Key, is_older
from gangline.kube.wire.changes import Change, Observed, Progress, Removed, Synced, T, Unreadable
from gangline.kube.wire.decode import (
    Added,
    Bookmark,
    Deleted,
    Failed,
    Ignored,
    Modified,
    ObjectDecoder,
    UnreadableEvent,
    metadata_of,
)
from gangline.kube.wire.errors import (
    ApiError,
    Forbidden,
    Gone,
    Silent,
    Undecodable,
    from_status,
    is_away,
    is_unanswered,
    version_too_large,
)
from gangline.kube.wire.requests import PAGE_LIMIT
from gangline.kube.wire.resources import Resource

SHORTEST_LIFE_S: Final = 1.0
"""A watch that ends sooner has failed, whatever it delivered."""
BARREN_LIMIT: Final = 2
"""Streams in a row without one good line, after which the resourceVersion itself is doubted."""
EXPIRED_TOKENS_LIMIT: Final = 2
"""Expired continue tokens, after which the list is asked for in one piece.

That piece is decoded at once, about 2 s for 100,000 pods, which a lease survives. A token lasts for some five minutes,
so this takes two lists in a row that were slower: rare enough not to decode object by object, which costs more in all.
"""
UNCONFIRMED_WATCH_S: Final = 30
"""Length of a watch from a version that we may not have confirmed."""


class ListPage(Struct, frozen=True):
    """Ask for the next page of the list; an empty token asks for the first, limit 0 for everything at once."""

    continue_token: str
    limit: int


class Confirm(Struct, frozen=True):
    """Ask for the shortest page of the list there is: only its resourceVersion counts."""


class OpenWatch(Struct, frozen=True):
    """Follow the changes since this resourceVersion for so many seconds."""

    resource_version: str
    seconds: int


class Wait(Struct, frozen=True):
    """Do nothing for so many seconds."""

    seconds: float


Order = ListPage | Confirm | OpenWatch | Wait


class WatchMachine(Generic[T]):
    """Follows one collection. `watch_seconds` are the bounds between which the length of a watch is drawn."""

    def __init__(
        self, type_: type[T], *, watch_seconds: tuple[int, int], backoff: Backoff, resource: Resource | None = None
    ) -> None:
        self._decoder = ObjectDecoder(type_, resource)
        self._is_custom = resource is not None and resource.custom
        self._watch_seconds = watch_seconds
        self._backoff = backoff
        self._known: dict[Key, str] = {}
        self._listed: set[Key] = set()
        self._resource_version = ""
        self._is_confirmed = False
        self._doubt: str | None = None
        self._continue_token = ""
        self._expired_tokens = 0
        self._failures = 0
        self._pause_due = False
        self._retry_after_s = 0.0
        self._barren_streams = 0
        self._opened_at: float | None = None
        self._last_sign: float | None = None
        self._problem: str | None = "not listed yet"
        self._is_lasting = False
        self.synced = False

    @property
    def problem(self) -> str | None:
        """Why what was told may no longer be fresh, or could not be made fresh again; None while all is well."""
        return self._problem or self._doubt

    def obstacle(self, now: float, stale_after_s: float) -> str | None:
        """Why nobody should rely on what was told, in words for /readyz; None where all is well.

        Never listed; a problem that does not pass by itself, as a right that is missing, at once; any other once
        nothing was heard for `stale_after_s`.
        """
        said = f": {self._problem}" if self._problem else ""
        if not self.synced:
            return f"not listed yet{said}" if self._failures else "not listed yet"
        if self._is_lasting or self._doubt:
            return self.problem
        if self.staleness_s(now) > stale_after_s:
            return f"not heard of for {self.staleness_s(now):.0f} s{said}"
        return None

    def staleness_s(self, now: float) -> float:
        """Seconds since the server last gave a sign of life; infinite before the first."""
        return float("inf") if self._last_sign is None else now - self._last_sign

    def next(self, jitter: float) -> Order:
        """Return what to do now; `jitter` in [0, 1) spreads waits and watch lengths."""
        if self._pause_due:
            self._pause_due = False
            delay_s = self._backoff.delay(self._failures, jitter)
            return Wait(max(delay_s, self._retry_after_s * (1 + jitter / 10)))
        if self._resource_version and (self._is_confirmed or not self._is_custom):
            return self._watch(jitter) if self._is_confirmed else Confirm()
        return ListPage(self._continue_token, 0 if self._expired_tokens >= EXPIRED_TOKENS_LIMIT else PAGE_LIMIT)

    def page(self, body: bytes, now: float) -> list[Change[T]]:
        """Take a page of the list. Raises Undecodable when it is none."""
        page = self._decoder.page(body)
        if not (page.resource_version or page.continue_token):
            raise Undecodable("list without a resourceVersion", status=200)
        self._last_sign = now
        changes: list[Change[T]] = []
        for item in page.items:
            key, uid = metadata_of(item)
            self._listed.add(key)
            changes += self._replaced(key, uid)
            changes.append(item if isinstance(item, Unreadable) else Observed(item))
        self._continue_token = page.continue_token
        if not page.continue_token:
            changes += self._list_finished(page.resource_version)
        return changes

    def _watch(self, jitter: float) -> OpenWatch:
        shortest, longest = self._watch_seconds
        seconds = round(shortest + (longest - shortest) * jitter)
        return OpenWatch(self._resource_version, min(seconds, UNCONFIRMED_WATCH_S) if self._doubt else seconds)

    def confirmed(self, body: bytes) -> None:
        """Take the page that says how far the server is. Raises Gone when that is less far than we are.

        Where we have gone on without the right to ask, it comes too late, and all is listed anew.
        """
        version = self._decoder.page(body).resource_version
        if not version:
            raise Undecodable("list without a resourceVersion", status=200)
        self._check_order(version)
        if self._doubt:
            self._start_over()
        self._trust()

    def _trust(self) -> None:
        self._is_confirmed = True
        self._doubt = None

    def opened(self, now: float) -> None:
        """Take note that the server has accepted the watch."""
        self._opened_at = self._last_sign = now
        self._problem = None
        self._is_lasting = False

    def line(self, line: bytes, now: float) -> list[Change[T]]:
        """Take a line of the watch; a line without its end is ignored, for the stream ends after it.

        Raises the ApiError that an ERROR event means, Undecodable for garbage, Gone when history went back.
        """
        self._last_sign = now
        if not line.endswith(b"\n") or line.isspace():
            return []
        event = self._decoder.event(line)
        match event:
            case Added(item) | Modified(item):
                self._advance(item.metadata.resource_version)
                return [*self._replaced(item.metadata.key, item.metadata.uid), Observed(item)]
            case Deleted(item):
                self._advance(item.metadata.resource_version)
                return [self._removed(item.metadata.key, item.metadata.uid, item)]
            case Bookmark(item):
                self._advance(item.metadata.resource_version)
                return [Progress(item.metadata.resource_version)]
            case UnreadableEvent(deleted, item):
                return self._unreadable(item, deleted=deleted)
            case Failed(status):
                raise from_status(status)
            case Ignored():
                return []
            case _:
                assert_never(event)

    def ended(self, now: float) -> None:
        """Take note that the stream has ended without an error."""
        if not self._close(now):
            self._fail("the watch ended at once")

    def failed(self, error: ApiError, now: float) -> None:
        """Take note that a list, a confirmation or a watch has failed."""
        was_open = self._opened_at is not None
        is_confirming = bool(self._resource_version) and not self._is_confirmed
        self._close(now)
        if isinstance(error, Undecodable) and self._resource_version:
            self._barren_streams += 1
        if isinstance(error, Gone) and self._continue_token:
            self._expired_tokens += 1
        if self._is_history_doubtful(error, was_open=was_open):
            self._start_over()
        elif is_confirming and isinstance(error, Forbidden):
            self._follow_unconfirmed(str(error))
        self._is_lasting = not (error.transient or isinstance(error, Gone))
        self._fail(str(error), error.retry_after_s)

    def _is_history_doubtful(self, error: ApiError, *, was_open: bool) -> bool:
        """Whether to list from the start. A server that was away may be back from a backup, and would not say so.

        A stream that breaks off leaves time for no more than a confirmation can tell. Pages stay good when one of
        them goes unanswered, as on a slow line.
        """
        if isinstance(error, Gone | Silent) or version_too_large(error) or self._barren_streams >= BARREN_LIMIT:
            return True
        return not was_open and (is_away(error) or (is_unanswered(error) and not self._continue_token))

    def _follow_unconfirmed(self, doubt: str) -> None:
        """Go on without the right to list: what the watch tells is worth having, for as long as it lasts."""
        self._is_confirmed = True
        self._doubt = doubt
        self._continue_token = ""
        self._listed = set()

    def _list_finished(self, resource_version: str) -> list[Change[T]]:
        gone = [key for key in self._known if key not in self._listed]
        removed: list[Change[T]] = [Removed(key, self._known.pop(key)) for key in gone]
        self._start_over()
        self._resource_version = resource_version
        self._expired_tokens = 0
        self._trust()
        self.synced = True
        self._problem = None
        self._is_lasting = False
        return [*removed, Synced(), Progress(resource_version)]

    def _start_over(self) -> None:
        self._resource_version = self._continue_token = ""
        self._listed = set()
        self._barren_streams = 0

    def _replaced(self, key: Key, uid: str) -> list[Change[T]]:
        """Note the object; another UID under its name means that a removal was missed."""
        previous = self._known.get(key)
        self._known[key] = uid
        return [] if previous is None or previous == uid else [Removed(key, previous)]

    def _removed(self, key: Key, uid: str, last: T | None) -> Removed[T]:
        if self._known.get(key) == uid:
            del self._known[key]
        return Removed(key, uid, last)

    def _unreadable(self, item: Unreadable, *, deleted: bool) -> list[Change[T]]:
        self._advance(item.resource_version)
        if deleted:
            return [self._removed(item.key, item.uid, None)]
        return [*self._replaced(item.key, item.uid), item]

    def _advance(self, resource_version: str) -> None:
        """Move on to the version of a good line.

        Versions of one kind are ordered (KEP-5504): an older one than we have seen means that the server was
        restored, and that what we know may never have happened. Versions that are no numbers are not compared.
        """
        self._check_order(resource_version)
        self._barren_streams = 0
        if resource_version:
            self._resource_version = resource_version

    def _check_order(self, resource_version: str) -> None:
        if is_older(resource_version, self._resource_version):
            raise Gone(f"resourceVersion went back from {self._resource_version} to {resource_version}", status=410)

    def _close(self, now: float) -> bool:
        """End the stream, if one is open; true if it lived long enough to count as healthy."""
        self._is_confirmed = False
        if self._opened_at is None:
            return False
        healthy = now - self._opened_at >= SHORTEST_LIFE_S
        self._opened_at = None
        if healthy:
            self._failures = 0
        return healthy

    def _fail(self, problem: str, retry_after_s: float | None = None) -> None:
        self._problem = problem
        self._failures += 1
        self._pause_due = True
        self._retry_after_s = retry_after_s or 0.0

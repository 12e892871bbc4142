"""The store: objects by key and the log of all their versions (MVCC).

Every commit raises one integer revision, which becomes the object's resourceVersion. A version is encoded to
JSON once; its bytes are shared by gets, lists and all watchers. What is handed to `commit` is never changed again: a
change is a new object.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, field

from gangline.sandbox.apiserver.kinds import GroupResource

Object = dict[str, Any]

_encode = msgspec.json.Encoder(order="sorted").encode


class Change(StrEnum):
    """What a commit did to its key, as watch events say it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Writer(Struct, frozen=True):
    """Who wrote, through which subresource and when, for managedFields."""

    manager: str
    subresource: str
    time: str


class Version(Struct, kw_only=True, eq=False):
    """One version of one object; `previous` is the version before it, unless that is compacted."""

    revision: int
    change: Change
    resource: GroupResource
    key: str
    object: Object
    previous: "Version | None" = None
    encoded: dict[str, bytes] = field(default_factory=dict)
    writer: Writer | None = None

    def json(self, form: str, convert: Callable[[Object], Object] | None) -> bytes:
        """Return the object's bytes; `convert` leads from the stored form to `form` and is asked once."""
        found = self.encoded.get(form)
        if found is None:
            found = self.encoded[form] = _encode(convert(self.object) if convert else self.object)
        return found


Listener = Callable[[Version], None]


class Compacted(Exception):  # noqa: N818 - a state of the log, answered with 410
    """The log does not reach back to `revision`; its oldest readable revision is `oldest`."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is compacted; the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class Store:
    """Objects of all kinds. Keys are `namespace/name`, or `name` for cluster-scoped kinds, sorted as text.

    `history_limit` bounds the log in versions; older ones are compacted on their own.
    """

    def __init__(self, *, history_limit: int = 200_000) -> None:
        self.revision = 1
        self.compacted = 0
        self._history_limit = history_limit
        self._current: dict[GroupResource, dict[str, Version]] = {}
        self._log: list[Version] = []
        self._listeners: dict[GroupResource, list[Listener]] = {}

    def get(self, resource: GroupResource, key: str) -> Version | None:
        """Return the current version of an object."""
        versions = self._current.get(resource)
        return versions.get(key) if versions else None

    def commit(
        self, change: Change, resource: GroupResource, key: str, new: Object, writer: Writer | None = None
    ) -> Version:
        """Make `new` the current version (or, for DELETED, the last) and tell the watchers."""
        versions = self._current.setdefault(resource, {})
        previous = versions.get(key)
        self.revision += 1
        new = {**new, "metadata": {**new["metadata"], "resourceVersion": str(self.revision)}}
        version = Version(
            revision=self.revision,
            change=change,
            resource=resource,
            key=key,
            object=new,
            previous=previous,
            writer=writer,
        )
        if change is Change.DELETED:
            versions.pop(key, None)
        else:
            versions[key] = version
        self._log.append(version)
        if len(self._log) > self._history_limit + self._history_limit // 4:
            self._forget(len(self._log) - self._history_limit)
        for tell in self._listeners.get(resource, ()):
            tell(version)
        return version

    def current(self, resource: GroupResource, namespace: str = "") -> list[Version]:
        """Return current versions in key order, of one namespace or of all."""
        return _sorted(self._current.get(resource, {}), namespace)

    def at(self, resource: GroupResource, revision: int, namespace: str = "") -> list[Version]:
        """Return versions as they were at `revision`, in key order; raises Compacted."""
        versions = dict(self._current.get(resource, {}))
        for version in reversed(self._since(revision)):
            if version.resource != resource:
                continue
            if version.previous is None:
                versions.pop(version.key, None)
            else:
                versions[version.key] = version.previous
        return _sorted(versions, namespace)

    def since(self, resource: GroupResource, revision: int) -> list[Version]:
        """Return versions of a kind committed after `revision`, oldest first; raises Compacted."""
        return [version for version in self._since(revision) if version.resource == resource]

    def history(self) -> Iterator[Version]:
        """Return every version that is still kept, in order of commit, readable by watchers or not."""
        return iter(self._log)

    def compact(self, revision: int | None = None) -> int:
        """Refuse watches and lists from before `revision` (default: now) with 410 from here on."""
        self.compacted = max(self.compacted, min(revision or self.revision, self.revision))
        return self.compacted

    def subscribe(self, resource: GroupResource, listener: Listener) -> None:
        """Tell a listener of every commit to the kind from now on; it must be quick."""
        self._listeners.setdefault(resource, []).append(listener)

    def unsubscribe(self, resource: GroupResource, listener: Listener) -> None:
        """Tell a listener no more."""
        self._listeners[resource].remove(listener)

    def _since(self, revision: int) -> list[Version]:
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
        return self._log[bisect_right(self._log, revision, key=_revision) :]

    def _forget(self, count: int) -> None:
        """Drop the oldest versions; the newest of them keep no link further back."""
        for version in self._log[:count]:
            version.previous = None
        self.compacted = max(self.compacted, self._log[count - 1].revision)
        del self._log[:count]


def _revision(version: Version) -> int:
    return version.revision


def _sorted(versions: dict[str, Version], namespace: str) -> list[Version]:
    prefix = f"{namespace}/" if namespace else ""
    return [versions[key] for key in sorted(versions) if key.startswith(prefix)]

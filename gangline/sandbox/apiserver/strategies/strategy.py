"""What a kind may do of its own: the shape of a strategy, and what all strategies see."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from gangline.contract.timestamps import timestamp
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.registry import Registry
from gangline.sandbox.apiserver.schema import jsonpath
from gangline.sandbox.apiserver.store import Object, Store


class ClusterState(Struct, frozen=True):
    """The store, the kinds and the wall clock."""

    store: Store
    registry: Registry
    now: Callable[[], datetime]

    def timestamp(self) -> str:
        """Return the time as metav1.Time writes it: whole seconds, UTC."""
        return timestamp(self.now())


class Write(Struct, frozen=True, kw_only=True):
    """One create (`old` is None) or update in the making; `new` is fresh and may be changed in place."""

    kind: Kind
    new: Object
    old: Object | None
    subresource: str
    state: ClusterState


def _nothing(_write: Write) -> None:
    return None


def _valid(_write: Write) -> Iterable[Cause]:
    return ()


def _at_once(_item: Object, _asked_s: int | None) -> int:
    return 0


class Strategy(Struct, frozen=True, kw_only=True):
    """The code of one kind.

    `prepare` sets defaults and does admission (raises Failure); `validate` names what is wrong, but for writes through
    a subresource; `grace_s` says how long a deletion waits for the kubelet (0: not at all); `committed` follows the
    write.
    """

    prepare: Callable[[Write], None] = _nothing
    validate: Callable[[Write], Iterable[Cause]] = _valid
    grace_s: Callable[[Object, int | None], int] = _at_once
    committed: Callable[[Write], None] = _nothing


GENERIC = Strategy()


def changed(write: Write, *paths: str) -> Iterator[Cause]:
    """Name the fields that an update changes although they never may."""
    for path in paths:
        before, now = jsonpath.first(write.old or write.new, path), jsonpath.first(write.new, path)
        if before != now:
            yield Cause.invalid(path, now, "field is immutable")

"""What a watch tells: the changes of one kind of object, in the order of the one stream they come from."""

from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from gangline.contract.meta import Key, ObjectMeta


class HasMetadata(Protocol):
    """Any partial Struct of an object that knows its metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """Name, namespace, UID, resourceVersion."""
        ...


T = TypeVar("T", bound=HasMetadata)


class Observed(Struct, Generic[T], frozen=True):
    """The object exists and is now this; the same version may come more than once."""

    object: T


class Removed(Struct, Generic[T], frozen=True):
    """The object with this UID is gone; `last` is its last version where the server told it."""

    key: Key
    uid: str
    last: T | None = None


class Unreadable(Struct, frozen=True):
    """The object exists, but this version does not decode: what was known of it before stays in force.

    `node_name` is where the object says that it runs, `""` for nowhere, no more, or kinds that do not run. Where name
    or UID are missing, stand-ins that no real ones can be are in their place.
    """

    key: Key
    uid: str
    resource_version: str
    node_name: str
    message: str


class Synced(Struct, frozen=True):
    """A full list has been told, and the removals since the list before it: all that exists is known."""


class Progress(Struct, frozen=True):
    """Everything up to this resourceVersion has been told."""

    resource_version: str


Change = Observed[T] | Removed[T] | Unreadable | Synced | Progress

"""Decoding of watch lines and list pages: one typed pass each, and a second look only at what fails it."""

import re
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from gangline.contract.meta import Key, ObjectMeta
from gangline.contract.pod import FINISHED_PHASES
from gangline.kube.wire.changes import HasMetadata, T, Unreadable
from gangline.kube.wire.errors import Status, Undecodable
from gangline.kube.wire.resources import Resource

Decodable = TypeVar("Decodable")


class Added(Struct, Generic[T], frozen=True, tag_field="type", tag="ADDED"):
    """An object that is new to the watch."""

    object: T


class Modified(Struct, Generic[T], frozen=True, tag_field="type", tag="MODIFIED"):
    """An object that has changed."""

    object: T


class Deleted(Struct, Generic[T], frozen=True, tag_field="type", tag="DELETED"):
    """An object that is gone, as it was last."""

    object: T


class VersionMeta(Struct, frozen=True, rename="camel"):
    """Where in the history a list or a bookmark stands."""

    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class BookmarkObject(Struct, frozen=True):
    """The empty object that a bookmark carries."""

    metadata: VersionMeta


class Bookmark(Struct, frozen=True, tag_field="type", tag="BOOKMARK"):
    """Nothing has happened up to here."""

    object: BookmarkObject


class Failed(Struct, frozen=True, tag_field="type", tag="ERROR"):
    """The watch cannot go on."""

    object: Status


class Ignored(Struct, frozen=True):
    """An event of a type that we do not know."""


class UnreadableEvent(Struct, frozen=True):
    """An event whose object does not decode."""

    deleted: bool
    object: Unreadable


Event = Added[T] | Modified[T] | Deleted[T] | Bookmark | Failed | Ignored | UnreadableEvent


class _TypedPage(Struct, Generic[T], frozen=True):
    metadata: VersionMeta
    items: list[T] | None = None


class _RawPage(Struct, frozen=True):
    metadata: VersionMeta
    items: list[Raw] | None = None


class Page(Struct, Generic[T], frozen=True):
    """One page of a list; `continue_token` is empty on the last one."""

    items: list[T | Unreadable]
    resource_version: str
    continue_token: str


_OBJECT_EVENTS: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
_PATH_SEGMENT: Final = re.compile(r"(?!\.{1,2}\Z)[^/%]+")
"""What a name must be to stand in a path (apimachinery's IsValidPathSegmentName)."""


class ObjectDecoder(Generic[T]):
    """Decodes what the API server says about objects of one type.

    Given the resource, an object of it is unreadable too when its name or UID are missing or no request could name it:
    it could not be told from others.
    """

    def __init__(self, type_: type[T], resource: Resource | None = None) -> None:
        self._resource = resource
        # Generic Structs are parametrised at run time, which a type checker cannot follow.
        event: Any = Added[type_] | Modified[type_] | Deleted[type_] | Bookmark | Failed  # type: ignore[valid-type]
        page: Any = _TypedPage[type_]  # type: ignore[valid-type]
        self._event: msgspec.json.Decoder[Event[T]] = msgspec.json.Decoder(event)
        self._page: msgspec.json.Decoder[_TypedPage[T]] = msgspec.json.Decoder(page)
        self._raw_page = msgspec.json.Decoder(_RawPage)
        self._object = msgspec.json.Decoder(type_)

    def event(self, line: bytes) -> Event[T]:
        """Decode one line of a watch; raises Undecodable when not even the envelope can be read."""
        try:
            event = self._event.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _salvage_event(line, str(error).replace("`$.object", "`$"))
        if isinstance(event, Added | Modified | Deleted):
            problem = self._anonymous(event.object.metadata)
            if problem:
                return _salvage_event(line, problem)
        return event

    def page(self, body: bytes) -> Page[T]:
        """Decode one page of a list; raises Undecodable when it is no list at all."""
        try:
            typed = self._page.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._page_by_object(body)
        if any(self._anonymous(item.metadata) for item in typed.items or ()):
            return self._page_by_object(body)
        return Page(list(typed.items or ()), typed.metadata.resource_version, typed.metadata.continue_ or "")

    def _page_by_object(self, body: bytes) -> Page[T]:
        try:
            raw = self._raw_page.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Undecodable(f"not a list: {error}", status=200) from error
        items = [self._readable_or_not(bytes(item)) for item in raw.items or ()]
        return Page(items, raw.metadata.resource_version, raw.metadata.continue_ or "")

    def _readable_or_not(self, item: bytes) -> T | Unreadable:
        try:
            decoded = self._object.decode(item)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _envelope(_untyped(item, str(error)), str(error))
        problem = self._anonymous(decoded.metadata)
        return _envelope(_untyped(item, problem), problem) if problem else decoded

    def _anonymous(self, metadata: ObjectMeta) -> str:
        """Say what keeps an object from being told apart or asked for; empty when nothing does."""
        if self._resource is None:
            return ""
        if not metadata.name:
            return "metadata.name is missing"
        if not _PATH_SEGMENT.fullmatch(metadata.name):
            return (
                f"metadata.name {metadata.name!r} cannot be asked for: it must not be '.' or '..' nor hold '/' or '%'"
            )
        if self._resource.namespaced and not metadata.namespace:
            return "metadata.namespace is missing"
        return "" if metadata.uid else "metadata.uid is missing"


def _salvage_event(line: bytes, message: str) -> Ignored | UnreadableEvent:
    event = _untyped(line, message)
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise Undecodable(f"not a watch event: {message}", status=200)
    if event["type"] in _OBJECT_EVENTS:
        return UnreadableEvent(event["type"] == "DELETED", _envelope(event.get("object"), message))
    if event["type"] in {"BOOKMARK", "ERROR"}:
        raise Undecodable(f"{event['type']} event: {message}", status=200)
    return Ignored()


def _envelope(value: object, message: str) -> Unreadable:
    """Read what accounting needs; stand-ins keep objects without a name or a UID apart from each other."""
    metadata = _mapping(_mapping(value).get("metadata"))
    uid, name = _text(metadata.get("uid")), _text(metadata.get("name"))
    key = Key(_text(metadata.get("namespace")), name or f"(no name, {f'UID {uid}' if uid else 'no UID'})")
    finished = _text(_mapping(_mapping(value).get("status")).get("phase")) in FINISHED_PHASES
    node_name = _text(_mapping(_mapping(value).get("spec")).get("nodeName"))
    return Unreadable(
        key=key,
        uid=uid or f"(no UID, {key})",
        resource_version=_text(metadata.get("resourceVersion")),
        node_name="" if finished else node_name,
        message=message,
    )


def _untyped(data: bytes, message: str) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Undecodable(f"not JSON: {message}", status=200) from error


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def metadata_of(item: HasMetadata | Unreadable) -> tuple[Key, str]:
    """Key and UID of an object, readable or not."""
    if isinstance(item, Unreadable):
        return item.key, item.uid
    return item.metadata.key, item.metadata.uid


def decoded(body: bytes, type_: type[Decodable]) -> Decodable:
    """Decode the body of a success. Raises Undecodable."""
    try:
        return msgspec.json.decode(body, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Undecodable(str(error), status=200) from error

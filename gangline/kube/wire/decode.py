"""Decoding of watch lines and list pages: one typed pass each, and a second look only at what fails it."""

from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from gangline.contract.meta import Key
from gangline.kube.wire.changes import HasMetadata, T, Unreadable
from gangline.kube.wire.errors import Status, Undecodable

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


class ObjectDecoder(Generic[T]):
    """Decodes what the API server says about objects of one type."""

    def __init__(self, type_: type[T]) -> None:
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
            return self._event.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _salvage_event(line, str(error))

    def page(self, body: bytes) -> Page[T]:
        """Decode one page of a list; raises Undecodable when it is no list at all."""
        try:
            typed = self._page.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
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
            return self._object.decode(item)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _envelope(_untyped(item, str(error)), str(error))


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
    metadata = _mapping(_mapping(value).get("metadata"))
    key = Key(_text(metadata.get("namespace")), _text(metadata.get("name")))
    if not key.name:
        raise Undecodable(f"object without a name: {message}", status=200)
    return Unreadable(
        key=key,
        uid=_text(metadata.get("uid")),
        resource_version=_text(metadata.get("resourceVersion")),
        node_name=_text(_mapping(_mapping(value).get("spec")).get("nodeName")),
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

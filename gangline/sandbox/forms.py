"""One stored object, several versions to read it in: renamed top-level fields and the apiVersion, no more."""

from collections.abc import Callable

from gangline.sandbox.kinds import Kind
from gangline.sandbox.store import Object


def reader(kind: Kind) -> Callable[[Object], Object] | None:
    """How to lead a stored object into the kind's version; None when it is stored in that form."""
    if not kind.renames and not kind.custom:
        return None
    return lambda item: shown(item, kind)


def shown(item: Object, kind: Kind) -> Object:
    """A stored object in the kind's version."""
    return _renamed(item, dict(kind.renames), kind.api_version)


def stored(item: Object, kind: Kind, storage_api_version: str) -> Object:
    """An object that came in the kind's version, as it is stored."""
    if item.get("apiVersion") == storage_api_version:
        return item
    return _renamed(item, {here: there for there, here in kind.renames}, storage_api_version)


def _renamed(item: Object, names: dict[str, str], api_version: str) -> Object:
    return {**{names.get(key, key): value for key, value in item.items()}, "apiVersion": api_version}

"""One stored object, several versions to read it in: renamed top-level fields and the apiVersion, no more."""

from collections.abc import Callable

from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.store import Object


def reader(kind: Kind) -> Callable[[Object], Object] | None:
    """Return how to lead a stored object into the kind's version; None when it is stored in that form."""
    if not kind.custom and kind.storage_version == kind.api_version:
        return None
    return lambda item: shown(item, kind)


def shown(item: Object, kind: Kind) -> Object:
    """Return a stored object in the kind's version; the same object when it needs no change."""
    if item.get("apiVersion") == kind.api_version:
        return item
    shown = _renamed(item, dict(kind.renames), kind.api_version)
    return {key: value for key, value in shown.items() if value != ""}


def stored(item: Object, kind: Kind) -> Object:
    """Return an object in the kind's version, as it is stored; the same object when it needs no change."""
    if kind.storage_version == kind.api_version:
        return item
    return _renamed(item, {here: there for there, here in kind.renames}, kind.storage_version)


def _renamed(item: Object, names: dict[str, str], api_version: str) -> Object:
    return {**{names.get(key, key): value for key, value in item.items()}, "apiVersion": api_version}

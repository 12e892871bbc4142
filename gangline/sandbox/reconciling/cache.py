"""The objects of one kind, as the watch last told them, by name, UID, namespace and controlling owner."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from gangline.contract.meta import Key
from gangline.sandbox.objects.meta import Identified

T = TypeVar("T", bound=Identified)


class Cache(Generic[T]):
    """Objects of one kind."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._keys_by_uid: dict[str, Key] = {}
        self._keys_by_namespace: dict[str, set[Key]] = {}
        self._keys_by_owner: dict[str, set[Key]] = {}
        self._orphans: dict[str, set[Key]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._objects.values()))

    def get(self, key: Key) -> T | None:
        """Find an object by name."""
        return self._objects.get(key)

    def by_uid(self, uid: str) -> T | None:
        """Find an object by UID."""
        key = self._keys_by_uid.get(uid)
        return None if key is None else self._objects[key]

    def in_namespace(self, namespace: str) -> list[T]:
        """List the objects of a namespace, by name."""
        return self._at(self._keys_by_namespace.get(namespace, set()))

    def owned_by(self, uid: str) -> list[T]:
        """List the objects with this owner, by name."""
        return self._at(self._keys_by_owner.get(uid, set()))

    def orphans_in(self, namespace: str) -> list[T]:
        """List the objects of a namespace that no owner controls, by name."""
        return self._at(self._orphans.get(namespace, set()))

    def put(self, thing: T) -> T | None:
        """Take in a version and return the one that it replaces, which may be another object under the same name."""
        previous = self.remove(thing.metadata.key)
        key = thing.metadata.key
        self._objects[key] = thing
        self._keys_by_uid[thing.metadata.uid] = key
        self._keys_by_namespace.setdefault(key.namespace, set()).add(key)
        for uid in owner_uids(thing):
            self._keys_by_owner.setdefault(uid, set()).add(key)
        if thing.metadata.controller is None:
            self._orphans.setdefault(key.namespace, set()).add(key)
        return previous

    def remove(self, key: Key) -> T | None:
        """Forget the object of this name and return it; None if there was none."""
        thing = self._objects.pop(key, None)
        if thing is None:
            return None
        self._keys_by_uid.pop(thing.metadata.uid, None)
        _discard(self._keys_by_namespace, key.namespace, key)
        for uid in owner_uids(thing):
            _discard(self._keys_by_owner, uid, key)
        if thing.metadata.controller is None:
            _discard(self._orphans, key.namespace, key)
        return thing

    def _at(self, keys: set[Key]) -> list[T]:
        return [self._objects[key] for key in sorted(keys)]


def owner_uids(thing: Identified) -> set[str]:
    """UIDs of all owners."""
    return {owner.uid for owner in thing.metadata.owner_references or ()}


def _discard(index: dict[str, set[Key]], value: str, key: Key) -> None:
    keys = index[value]
    keys.discard(key)
    if not keys:
        del index[value]

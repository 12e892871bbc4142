"""Garbage collection: objects go when their owners have gone, in the background, in the foreground, or not at all."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.wire.errors import Conflict, Invalid, NotFound
from gangline.kube.wire.requests import JSON_PATCH
from gangline.kube.wire.resources import Resource
from gangline.sandbox.controllers.served import Served
from gangline.sandbox.objects.meta import Identified, OwnerLink, Thing
from gangline.sandbox.reconciling.actions import Delete, Patch
from gangline.sandbox.reconciling.informer import AnyInformer
from gangline.sandbox.reconciling.reconciler import Reconciler, perform

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
LOOK_AGAIN_S: Final = 5.0
WORKERS: Final = 8


class Item(NamedTuple):
    """One object of any kind."""

    resource: Resource
    key: Key


class Dependent(Struct, frozen=True):
    """An object that names another as its owner."""

    resource: Resource
    thing: Identified


def owners_of(thing: Identified) -> tuple[OwnerLink, ...]:
    """All owners of an object."""
    return thing.metadata.owner_references or ()


def _waits_for_dependents(owner: Identified | None) -> bool:
    """Tell whether the owner is being deleted in the foreground."""
    return owner is not None and FOREGROUND in _pending_finalizers(owner)


def collect(
    resource: Resource, thing: Identified, absent: frozenset[str], owner_of: Callable[[str], Identified | None]
) -> Delete | Patch | None:
    """Say what becomes of an object of whose owners these are gone for good (GarbageCollector attemptToDeleteItem)."""
    waiting = {link.uid for link in owners_of(thing) if _waits_for_dependents(owner_of(link.uid))}
    solid = [link for link in owners_of(thing) if link.uid not in absent and link.uid not in waiting]
    if not (absent or waiting):
        return None
    if solid:
        return _without_owners(resource, thing, absent) if absent else None
    propagation = "Foreground" if waiting else "Background"
    return Delete(resource=resource, key=thing.metadata.key, uid=thing.metadata.uid, propagation=propagation)


def release(resource: Resource, thing: Identified, dependents: Iterable[Dependent]) -> list[Patch]:
    """Take the steps after which an object that is being deleted need not wait for its dependents any more."""
    finalizers = _pending_finalizers(thing)
    if ORPHAN in finalizers:
        uid = frozenset({thing.metadata.uid})
        return [_without_owners(each.resource, each.thing, uid) for each in dependents] or [
            _without_finalizer(resource, thing, ORPHAN)
        ]
    if FOREGROUND in finalizers and not any(_blocks(each.thing, thing.metadata.uid) for each in dependents):
        return [_without_finalizer(resource, thing, FOREGROUND)]
    return []


def _without_owners(resource: Resource, thing: Identified, uids: frozenset[str]) -> Patch:
    """Build the patch that drops owners; it fails where the owners have changed meanwhile."""
    steps: list[dict[str, Any]] = []
    for index, link in reversed(list(enumerate(owners_of(thing)))):
        if link.uid in uids:
            path = f"/metadata/ownerReferences/{index}"
            steps += [{"op": "test", "path": f"{path}/uid", "value": link.uid}, {"op": "remove", "path": path}]
    return Patch(resource=resource, key=thing.metadata.key, body=steps, content_type=JSON_PATCH)


def _without_finalizer(resource: Resource, thing: Identified, name: str) -> Patch:
    path = f"/metadata/finalizers/{(thing.metadata.finalizers or ()).index(name)}"
    steps = [
        {"op": "test", "path": "/metadata/uid", "value": thing.metadata.uid},
        {"op": "test", "path": path, "value": name},
        {"op": "remove", "path": path},
    ]
    return Patch(resource=resource, key=thing.metadata.key, body=steps, content_type=JSON_PATCH)


def _pending_finalizers(thing: Identified) -> tuple[str, ...]:
    return (thing.metadata.finalizers or ()) if thing.metadata.deletion_timestamp else ()


def _blocks(dependent: Identified, uid: str) -> bool:
    return any(link.uid == uid and link.block_owner_deletion for link in owners_of(dependent))


class Collector:
    """Reconciles any object of any kind with its owners and dependents."""

    def __init__(self, client: Client, shared: Mapping[Resource, AnyInformer]) -> None:
        self._client = client
        self.loop: Reconciler[Item] = Reconciler("garbage-collector", self.reconcile, workers=WORKERS)
        self.served = Served(client, shared, self.observe)

    def observe(self, resource: Resource, old: Identified | None, new: Identified | None) -> None:
        """Look at an object that has owners or is being deleted, and at the dependents of one that is gone."""
        if new is not None and (owners_of(new) or _pending_finalizers(new)):
            self.loop.enqueue(Item(resource, new.metadata.key))
        thing = new or old
        if thing is None:
            return
        if new is None:
            owners = (self._item(link, thing.metadata.namespace) for link in owners_of(thing))
            for item in filter(None, owners):
                self.loop.enqueue(item)
        if new is None or _waits_for_dependents(new):
            for dependent in self._dependents(thing.metadata.uid):
                self.loop.enqueue(Item(dependent.resource, dependent.thing.metadata.key))

    async def reconcile(self, item: Item) -> float | None:
        """Delete what nobody owns any more, and let go of owners that wait for nothing."""
        thing = next((each.cache.get(item.key) for each in self.served if each.resource == item.resource), None)
        if thing is None:
            return None
        if thing.metadata.deletion_timestamp:
            for patch in release(item.resource, thing, self._dependents(thing.metadata.uid)):
                await self._write(patch)
            return None
        unknown = [link for link in owners_of(thing) if self._owner(link.uid) is None]
        absent = frozenset([link.uid for link in unknown if await self._is_gone(link, thing.metadata.namespace)])
        action = collect(item.resource, thing, absent, self._owner)
        if action is not None:
            await self._write(action)
        return LOOK_AGAIN_S if len(absent) < len(unknown) else None

    async def _write(self, action: Delete | Patch) -> None:
        # NotFound and Conflict: somebody else was faster. Invalid: a test in the patch does not hold any more.
        with suppress(NotFound, Conflict, Invalid):
            await perform(self._client, action)

    async def _is_gone(self, link: OwnerLink, namespace: str) -> bool:
        """Ask the API server: the cache of the owner's kind may lag. Unknown kinds are left alone."""
        item = self._item(link, namespace)
        if item is None:
            return False
        try:
            owner = await self._client.get(item.resource, item.key, Thing)
        except NotFound:
            return True
        return owner.metadata.uid != link.uid

    def _item(self, link: OwnerLink, namespace: str) -> Item | None:
        resource = self.served.find(link.api_version, link.kind)
        if resource is None:
            return None
        return Item(resource, Key(namespace if resource.namespaced else "", link.name))

    def _owner(self, uid: str) -> Identified | None:
        return next((found for each in self.served if (found := each.cache.by_uid(uid)) is not None), None)

    def _dependents(self, uid: str) -> list[Dependent]:
        return [Dependent(each.resource, thing) for each in self.served for thing in each.cache.owned_by(uid)]

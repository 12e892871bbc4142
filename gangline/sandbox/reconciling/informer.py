"""One kind of object, watched once and shared by all who read it."""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import structlog

from gangline.kube.client import Client
from gangline.kube.reflector import Reflector
from gangline.kube.wire.changes import Change, Observed, Progress, Removed, Synced, Unreadable
from gangline.kube.wire.resources import Resource
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.reconciling.cache import Cache

T = TypeVar("T", bound=Identified)
Listener = Callable[[T | None, T | None], None]
"""Is told the version before (None: new) and the version now (None: gone)."""

log = structlog.get_logger()


class Informer(Generic[T]):
    """Keeps a cache of a kind and tells listeners of each change, in order."""

    def __init__(self, client: Client, resource: Resource, type_: type[T]) -> None:
        self.resource = resource
        self.cache: Cache[T] = Cache()
        self.synced = asyncio.Event()
        self._reflector: Reflector[T] = Reflector(client, resource, type_, self._apply)
        self._listeners: list[Listener[T]] = []

    def listen(self, listener: Listener[T]) -> None:
        """Have a function called with each change from now on."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Follow the kind for ever."""
        await self._reflector.run()

    def _apply(self, change: Change[T]) -> None:
        match change:
            case Observed(object=thing):
                self._replace(thing)
            case Removed(key=key, uid=uid):
                old = self.cache.get(key)
                if old is not None and old.metadata.uid == uid:
                    self.cache.remove(key)
                    self._tell(old, None)
            case Unreadable(key=key, message=message):
                log.warning("object_unreadable", kind=self.resource.kind, key=str(key), message=message)
            case Synced():
                self.synced.set()
            case Progress():
                pass

    def _replace(self, thing: T) -> None:
        old = self.cache.put(thing)
        if old is not None and old.metadata.uid != thing.metadata.uid:
            self._tell(old, None)
            old = None
        self._tell(old, thing)

    def _tell(self, old: T | None, new: T | None) -> None:
        for listener in self._listeners:
            listener(old, new)


AnyInformer = Informer[Any]

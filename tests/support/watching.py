"""Waiting for the cluster: a watch until a predicate holds, or a deadline; never a sleep."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from gangline.kube.client import Client
from gangline.kube.wire.resources import Resource
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.reconciling.cache import Cache
from gangline.sandbox.reconciling.informer import Informer

T = TypeVar("T", bound=Identified)

PATIENCE_S = 60.0


async def until(client: Client, resource: Resource, type_: type[T], holds: Callable[[list[T]], bool]) -> list[T]:
    """Watch all objects of a kind until this holds of them, and return them; TimeoutError if it never does."""
    informer = Informer(client, resource, type_)
    changed = asyncio.Event()
    informer.listen(lambda _old, _new: changed.set())
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        task = group.create_task(informer.run(), name=f"until-{resource.plural}")
        await informer.synced.wait()
        while not holds(everything(informer.cache)):
            changed.clear()
            await changed.wait()
        task.cancel()
    return everything(informer.cache)


def everything(cache: Cache[T]) -> list[T]:
    """All objects, by namespace and name."""
    return sorted(cache, key=lambda thing: thing.metadata.key)

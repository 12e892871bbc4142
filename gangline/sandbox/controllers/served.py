"""Every kind that the API server serves and that can be owned, emptied or collected, each with an informer.

Follows CustomResourceDefinitions: a kind that appears is watched, one that is gone is left.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import structlog

from gangline.kube.client import Client
from gangline.kube.wire.decode import decoded
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.requests import READ_TIMEOUT_S, Request
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from gangline.sandbox.objects.meta import Identified, Thing
from gangline.sandbox.reconciling.informer import AnyInformer, Informer

NEEDED_VERBS: Final = frozenset({"list", "watch", "delete"})
DISCOVERY_RETRY_S: Final = 1.0
UNWATCHED: Final = frozenset({("", "events"), ("events.k8s.io", "events")})
"""Nobody owns events, and they are many."""

log = structlog.get_logger()


async def _discover(client: Client) -> set[Resource]:
    """List the kinds that can be listed, watched and deleted, in their preferred versions. Raises ApiError."""
    groups = await _read(client, "/apis")
    preferred = [group["preferredVersion"]["groupVersion"] for group in groups["groups"]]
    lists = [await _read(client, path) for path in ("/api/v1", *(f"/apis/{each}" for each in preferred))]
    return set().union(*map(_resources_of, lists))


def _resources_of(served: Mapping[str, Any]) -> set[Resource]:
    """Pick the kinds that can be emptied and collected of an APIResourceList."""
    group, _, version = served["groupVersion"].rpartition("/")
    return {
        Resource(group, version, kind["name"], kind["kind"], kind["namespaced"])
        for kind in served["resources"]
        if "/" not in kind["name"] and NEEDED_VERBS.issubset(kind["verbs"]) and (group, kind["name"]) not in UNWATCHED
    }


class Served:
    """All kinds: those that others watch already, and the rest by their metadata."""

    def __init__(
        self,
        client: Client,
        shared: Mapping[Resource, AnyInformer],
        listener: Callable[[Resource, Identified | None, Identified | None], None],
    ) -> None:
        self._client = client
        self._shared = shared
        self._listener = listener
        self._own: dict[Resource, tuple[AnyInformer, asyncio.Task[None]]] = {}
        self._changed = asyncio.Event()
        self._changed.set()
        self.synced = asyncio.Event()
        for informer in shared.values():
            self._listen(informer)
        shared[CUSTOM_RESOURCE_DEFINITIONS].listen(lambda _old, _new: self._changed.set())

    def __iter__(self) -> Iterator[AnyInformer]:
        """All informers, in no particular order."""
        yield from self._shared.values()
        yield from [informer for informer, _ in self._own.values()]

    def find(self, api_version: str, kind: str) -> Resource | None:
        """Find the resource of a kind, in whatever version it is watched."""
        group = api_version.rpartition("/")[0]
        return next(
            (each.resource for each in self if (each.resource.group, each.resource.kind) == (group, kind)), None
        )

    async def run(self) -> None:
        """Watch every kind for as long as it is served."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._changed.wait()
                self._changed.clear()
                try:
                    self._follow(await _discover(self._client), group)
                except ApiError as error:
                    log.warning("discovery_failed", error=str(error))
                    await asyncio.sleep(DISCOVERY_RETRY_S)
                    self._changed.set()
                    continue
                if not self.synced.is_set():
                    await asyncio.gather(*(informer.synced.wait() for informer, _ in self._own.values()))
                    self.synced.set()

    def _follow(self, served: set[Resource], group: asyncio.TaskGroup) -> None:
        for resource in set(self._own) - served:
            self._own.pop(resource)[1].cancel()
        for resource in served - set(self._own) - set(self._shared):
            informer = Informer(self._client, resource, Thing)
            self._listen(informer)
            task = group.create_task(informer.run(), name=f"watch-{resource.plural}.{resource.group}")
            self._own[resource] = (informer, task)

    def _listen(self, informer: AnyInformer) -> None:
        informer.listen(lambda old, new: self._listener(informer.resource, old, new))


async def _read(client: Client, path: str) -> dict[str, Any]:
    request = Request(verb="get", resource="discovery", method="GET", path=path, timeout_s=READ_TIMEOUT_S)
    return decoded(await client.send(request), dict[str, Any])

"""Namespaces that end: everything in them is deleted, then they are let go."""

from typing import Final

import msgspec

from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.wire import requests
from gangline.kube.wire.errors import NotFound
from gangline.kube.wire.requests import JSON, WRITE_TIMEOUT_S, Request
from gangline.kube.wire.resources import EVENTS, NAMESPACES, Resource
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers.served import Served
from gangline.sandbox.objects import Namespace, Thing

LOOK_AGAIN_S: Final = 0.5
FINALIZER: Final = "kubernetes"


class NamespaceEnder:
    """Reconciles namespaces with a deletionTimestamp."""

    def __init__(self, client: Client, namespaces: Cache[Namespace], served: Served) -> None:
        self._client = client
        self._namespaces = namespaces
        self._served = served

    def is_ending(self, name: str) -> bool:
        """Tell whether something that leaves this namespace may have been the last."""
        namespace = self._namespaces.get(Key("", name))
        return namespace is not None and namespace.metadata.deletion_timestamp is not None

    async def reconcile(self, name: str) -> float | None:
        """Delete what is left, kind by kind; when nothing is, take the finalizer away."""
        namespace = self._namespaces.get(Key("", name))
        if namespace is None or not self.is_ending(name) or FINALIZER not in (namespace.spec.finalizers or ()):
            return None
        kinds = [each.resource for each in self._served if each.resource.namespaced] + [EVENTS]
        left = [kind for kind in kinds if await self._empty(kind, name)]
        if left:
            return LOOK_AGAIN_S
        await self._client.send(_finalize(namespace))
        return None

    async def _empty(self, kind: Resource, namespace: str) -> bool:
        """Delete all objects of a kind; tell whether some are still there."""
        things, _ = await self._client.list(kind, Thing, namespace=namespace)
        for thing in things:
            if thing.metadata.deletion_timestamp is None:
                try:
                    await self._client.send(requests.delete(kind, thing.metadata.key, uid=thing.metadata.uid))
                except NotFound:
                    continue
        return bool(things)


def _finalize(namespace: Namespace) -> Request:
    name, version = namespace.metadata.name, namespace.metadata.resource_version
    kept = [each for each in namespace.spec.finalizers or () if each != FINALIZER]
    body = {
        "apiVersion": "v1",
        "kind": NAMESPACES.kind,
        "metadata": {"name": name, "uid": namespace.metadata.uid, "resourceVersion": version},
        "spec": {"finalizers": kept},
    }
    return Request(
        verb="update",
        resource="namespaces/finalize",
        method="PUT",
        path=NAMESPACES.path(name=name, subresource="finalize"),
        content_type=JSON,
        body=msgspec.json.encode(body),
        timeout_s=WRITE_TIMEOUT_S,
    )

"""Namespaces: each has a ServiceAccount `default`; when it ends, everything in it is deleted, then it is let go."""

from typing import Final

import msgspec

from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.wire import requests
from gangline.kube.wire.errors import NotFound
from gangline.kube.wire.requests import JSON, WRITE_TIMEOUT_S, Request
from gangline.kube.wire.resources import EVENTS, NAMESPACES, Resource
from gangline.sandbox.controllers.served import Served
from gangline.sandbox.objects.core import Namespace, ServiceAccount
from gangline.sandbox.objects.meta import Thing
from gangline.sandbox.reconciling.actions import Decision, create
from gangline.sandbox.reconciling.informer import Informer
from gangline.sandbox.reconciling.reconciler import Reconciler
from gangline.sandbox.reconciling.world import World

DEFAULT: Final = "default"
LOOK_AGAIN_S: Final = 0.5
FINALIZER: Final = "kubernetes"


def decide(namespace: Namespace, world: World) -> Decision:
    """Say whether the default account is to be made."""
    account = Key(namespace.metadata.name, DEFAULT)
    if namespace.metadata.deletion_timestamp or world.all(ServiceAccount).get(account) is not None:
        return Decision()
    return Decision(actions=(create(ServiceAccount, account._asdict()),))


def wake_namespace_of(_world: World, account: ServiceAccount) -> list[Key]:
    """Name the namespace whose default account this is."""
    return [Key("", account.metadata.namespace)] if account.metadata.name == DEFAULT else []


class NamespaceEnder:
    """Reconciles namespaces with a deletionTimestamp."""

    def __init__(self, client: Client, namespaces: Informer[Namespace], served: Served) -> None:
        self._client = client
        self._namespaces = namespaces.cache
        self._served = served
        self.loop: Reconciler[Key] = Reconciler("namespaces", self.reconcile, workers=2)
        namespaces.listen(lambda _old, new: self.loop.enqueue(new.metadata.key) if new is not None else None)

    async def reconcile(self, key: Key) -> float | None:
        """Delete what is left, kind by kind; when nothing is, take the finalizer away."""
        namespace = self._namespaces.get(key)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return None
        if FINALIZER not in (namespace.spec.finalizers or ()):
            return None
        kinds = [each.resource for each in self._served if each.resource.namespaced] + [EVENTS]
        left = [kind for kind in kinds if await self._empty(kind, key.name)]
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
    metadata = namespace.metadata
    kept = [each for each in namespace.spec.finalizers or () if each != FINALIZER]
    body = {
        "apiVersion": "v1",
        "kind": NAMESPACES.kind,
        "metadata": {"name": metadata.name, "uid": metadata.uid, "resourceVersion": metadata.resource_version},
        "spec": {"finalizers": kept},
    }
    return Request(
        verb="update",
        resource="namespaces/finalize",
        method="PUT",
        path=NAMESPACES.path(name=metadata.name, subresource="finalize"),
        content_type=JSON,
        body=msgspec.json.encode(body),
        timeout_s=WRITE_TIMEOUT_S,
    )

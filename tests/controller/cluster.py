"""The sandbox's API server over HTTP, with what the controller's tests do to it and wait for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from prometheus_client import CollectorRegistry

from controller.app import Controller
from controller.metrics import Metrics
from controller.settings import Settings
from gangline.contract.crd import crd
from gangline.contract.meta import Condition, Key, ObjectMeta
from gangline.contract.names import POD_GROUP_LABEL
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import Client, connect
from gangline.kube.reflector import Change, Observed, Reflector, Removed
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, POD_GROUPS, PODS
from gangline.sandbox.apiserver.server import ApiServer

DEADLINE_S = 60.0
LONG_AGO = "2026-01-01T00:00:00Z"
PG = Key("default", "pg")
PHASES = {"P": "Pending", "B": "Pending", "R": "Running", "S": "Succeeded", "F": "Failed"}


class Event(Struct, frozen=True, kw_only=True):
    """What tests read of an Event."""

    metadata: ObjectMeta
    type: str
    reason: str


class Cluster:
    """An API server with a PodGroup kind, and every version of each PodGroup that was seen."""

    def __init__(self, client: Client, kubeconfig: Path) -> None:
        self.client = client
        self.kubeconfig = kubeconfig
        self.seen: dict[Key, list[PodGroup]] = {}
        self.events: dict[str, Event] = {}
        self.controllers: list[Controller] = []
        """Those that run."""
        self._changed = asyncio.Event()

    @property
    def warnings(self) -> list[str]:
        return sorted(event.reason for event in self.events.values() if event.type == "Warning")

    def take_event(self, change: Change[Event]) -> None:
        if isinstance(change, Observed):
            self.events[change.object.metadata.uid] = change.object
            self._changed.set()

    async def until_warned(self, reason: str) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while reason not in self.warnings:
                self._changed.clear()
                await self._changed.wait()

    def take(self, change: Change[PodGroup]) -> None:
        match change:
            case Observed(group):
                versions = self.seen.setdefault(group.metadata.key, [])
                if not versions or versions[-1] != group:
                    versions.append(group)
            case Removed(key, _):
                self.seen.pop(key, None)
            case _:
                return
        self._changed.set()

    async def until(self, is_true: Callable[[PodGroup], bool], key: Key = PG) -> PodGroup:
        """Wait until the newest version of the PodGroup is as wanted, and return it."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                self._changed.clear()
                if key in self.seen and is_true(self.seen[key][-1]):
                    return self.seen[key][-1]
                await self._changed.wait()

    async def until_phase(self, phase: str, key: Key = PG) -> PodGroup:
        return await self.until(lambda group: group.status.phase == phase, key)

    async def quiesce(self, namespace: str = "default") -> None:
        """Wait until everything asked for before has been reconciled: with one worker, a newcomer comes last.

        A controller that has only begun asks for all groups in the order of their names: it is the last there too. What
        it writes is seen before it has counted it.
        """
        name = f"zz-newcomer-{len(self.seen)}"
        await self.create_group(name, namespace=namespace)
        await self.until_phase("Pending", Key(namespace, name))
        await eventually(lambda: not any(each._reconciler._queue._in_flight for each in self.controllers))

    async def create_group(
        self, name: str = "pg", *, min_member: Any = 3, namespace: str = "default", **spec: object
    ) -> dict[str, Any]:
        body = {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": {"name": name},
            "spec": {"minMember": min_member, **spec},
        }
        return await self.client.create(POD_GROUPS, namespace, body)

    async def create_pods(
        self,
        letters: str,
        *,
        prefix: str = "pod",
        group: str = "pg",
        namespace: str = "default",
        scheduler: str = "gangline",
    ) -> None:
        """Pods prefix-0, prefix-1 ... in the states that the letters say (see builders.pod)."""
        for number, letter in enumerate(letters):
            body = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"{prefix}-{number}", "labels": {POD_GROUP_LABEL: group}},
                "spec": {"schedulerName": scheduler, "containers": [{"name": "main", "image": "image"}]},
            }
            created = await self.client.create(PODS, namespace, body)
            key = Key(namespace, f"{prefix}-{number}")
            if letter != "P":
                await self.client.bind(key, created["metadata"]["uid"], "node-0")
                await self.set_state(key, letter)

    async def set_state(self, key: Key, letter: str, *, ended: str = LONG_AGO) -> None:
        state = {"terminated": {"exitCode": 0, "finishedAt": ended}}
        status: dict[str, Any] = {"phase": PHASES[letter]}
        if letter in "SF":
            container = {
                "name": "main",
                "image": "i",
                "imageID": "i",
                "ready": False,
                "restartCount": 0,
                "state": state,
            }
            status["containerStatuses"] = [container]
        await self.client.patch(PODS, key, {"status": status}, subresource="status")

    async def delete_pod(self, name: str, namespace: str = "default") -> None:
        await self.client.delete(PODS, Key(namespace, name), grace_period_s=0)


@asynccontextmanager
async def cluster_with(definition: dict[str, Any], scratch: Path) -> AsyncIterator[Cluster]:
    async with ApiServer() as server, connect(str(server.kubeconfig(scratch / "config")), user_agent="test") as client:
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, "", definition)
        cluster = Cluster(client, scratch / "config")
        watching = [
            asyncio.create_task(Reflector(client, POD_GROUPS, PodGroup, cluster.take).run(), name="watch groups"),
            asyncio.create_task(Reflector(client, EVENTS, Event, cluster.take_event).run(), name="watch events"),
        ]
        try:
            yield cluster
        finally:
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)


@asynccontextmanager
async def running(
    cluster: Cluster, registry: CollectorRegistry | None = None, **more: Any
) -> AsyncIterator[Controller]:
    """A controller of its own process's shape, with one worker so that the order of its work is known."""
    chosen: dict[str, Any] = {"http_address": "127.0.0.1:0", "lease": "off", "workers": 1, "coalesce_s": 0.01} | more
    stop = asyncio.Event()
    async with connect(str(cluster.kubeconfig), user_agent="controller") as client:
        controller = Controller(Settings(**chosen), client, Metrics(registry or CollectorRegistry()))
        living = asyncio.create_task(controller.run(stop), name="controller")
        cluster.controllers.append(controller)
        try:
            yield controller
        finally:
            cluster.controllers.remove(controller)
            stop.set()
            async with asyncio.timeout(DEADLINE_S):
                await living


async def eventually(is_true: Callable[[], bool]) -> None:
    """Wait for something that no watch tells."""
    async with asyncio.timeout(DEADLINE_S):
        while not is_true():  # noqa: ASYNC110 the process under test has no event for it
            await asyncio.sleep(0.01)


def lenient_crd() -> dict[str, Any]:
    """A definition that lets anything in, as an old or foreign one may."""
    definition = crd()
    version = definition["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return definition


def condition_of(group: PodGroup, type_: str) -> Condition | None:
    return next((found for found in group.status.conditions or () if found.type == type_), None)

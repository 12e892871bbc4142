"""What scheduler-plugins' Coscheduling brings to a cluster, written from its facts: its CRD, and its controller's writes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from msgspec import Struct

from gangline.contract.meta import Key, ObjectMeta
from gangline.contract.names import API_VERSION, GROUP, KIND, PLURAL, POD_GROUP_LABEL
from gangline.kube.client import Client
from gangline.kube.reflector import Change, Observed, Reflector, Removed
from gangline.kube.wire.errors import NotFound
from gangline.kube.wire.resources import POD_GROUPS, PODS

Object = dict[str, Any]
COUNT: Final = {"type": "integer", "format": "int32"}
QUANTITY: Final = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": True,
}
SPEC: Final = {
    "minMember": COUNT | {"minimum": 1},
    "minResources": {"type": "object", "additionalProperties": QUANTITY},
    "scheduleTimeoutSeconds": COUNT,
}
STATUS: Final = {
    "phase": {"type": "string"},
    "occupiedBy": {"type": "string"},
    "running": COUNT,
    "succeeded": COUNT,
    "failed": COUNT,
    "scheduleStartTime": {"type": "string", "format": "date-time"},
}
COLUMNS: Final = {
    "Phase": ("string", ".status.phase"),
    "MinMember": ("integer", ".spec.minMember"),
    "Running": ("integer", ".status.running"),
    "Succeeded": ("integer", ".status.succeeded"),
    "Failed": ("integer", ".status.failed"),
    "Age": ("date", ".metadata.creationTimestamp"),
}
COUNTS: Final = ("running", "succeeded", "failed")
TERMINAL: Final = ("Finished", "Failed")


def definition() -> Object:
    """The CRD of scheduler-plugins."""
    text = {"type": "string"}
    properties = {
        "apiVersion": text,
        "kind": text,
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": SPEC},
        "status": {"type": "object", "properties": STATUS},
    }
    version = {
        "name": API_VERSION.rpartition("/")[2],
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "additionalPrinterColumns": [
            {"name": name, "type": type_, "jsonPath": path} for name, (type_, path) in COLUMNS.items()
        ],
    }
    names = {
        "kind": KIND,
        "listKind": f"{KIND}List",
        "plural": PLURAL,
        "singular": KIND.lower(),
        "shortNames": ["pg", "pgs"],
    }
    approval = {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}", "annotations": approval},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


class SeenGroup(Struct, frozen=True):
    """A PodGroup as its cache has it."""

    metadata: ObjectMeta
    spec: Object = {}
    status: Object = {}


class SeenPod(Struct, frozen=True):
    """A pod as its cache has it."""

    metadata: ObjectMeta
    status: Object = {}

    @property
    def group(self) -> str:
        """The PodGroup that its label names; "" where it has none."""
        return (self.metadata.labels or {}).get(POD_GROUP_LABEL, "")


class Controller:
    """Does to PodGroups what Coscheduling's controller does.

    One key at a time, at each event of a PodGroup, its own writes included, and of its pods. Terminal phases are for
    ever; counts are of all pods in the cluster with the label's value; two patches each time, also where nothing changes.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._groups: dict[Key, SeenGroup] = {}
        self._pods: dict[Key, SeenPod] = {}
        self._queue: dict[Key, None] = {}
        self._wake = asyncio.Event()
        self.changes = 0
        """How many of its writes changed something."""

    def take_group(self, change: Change[SeenGroup]) -> None:
        """Take in what the watch of PodGroups tells."""
        match change:
            case Observed(group):
                self._groups[group.metadata.key] = group
                self._enqueue(group.metadata.key)
            case Removed(key):
                self._groups.pop(key, None)
            case _:
                pass

    def take_pod(self, change: Change[SeenPod]) -> None:
        """Take in what the watch of pods tells; both the old and the new group of a pod are looked at."""
        match change:
            case Observed(pod):
                self._enqueue_group_of(self._pods.get(pod.metadata.key))
                self._pods[pod.metadata.key] = pod
                self._enqueue_group_of(pod)
            case Removed(key):
                self._enqueue_group_of(self._pods.pop(key, None))
            case _:
                pass

    async def run(self) -> None:
        """Reconcile until cancelled."""
        while True:
            while self._queue:
                key = next(iter(self._queue))
                del self._queue[key]
                await self._reconcile(key)
            self._wake.clear()
            await self._wake.wait()

    def _enqueue_group_of(self, pod: SeenPod | None) -> None:
        if pod is not None and pod.group:
            self._enqueue(Key(pod.metadata.namespace, pod.group))

    def _enqueue(self, key: Key) -> None:
        self._queue[key] = None
        self._wake.set()

    async def _reconcile(self, key: Key) -> None:
        group = self._groups.get(key)
        if group is None or group.status.get("phase") in TERMINAL:
            return
        old, new = group.status, status_of(group, [pod for pod in self._pods.values() if pod.group == key.name])
        patch = {name: new.get(name) for name in {*old, *new} if old.get(name) != new.get(name)}
        self.changes += bool(patch)
        try:
            await self._client.patch(POD_GROUPS, key, {"status": patch} if patch else {}, subresource="status")
            await self._client.patch(POD_GROUPS, key, {})
        except NotFound:
            pass


def status_of(group: SeenGroup, pods: Sequence[SeenPod]) -> Object:
    """The status that Coscheduling's controller makes of a stored one; a count of 0 is not there."""
    status, minimum = group.status, group.spec.get("minMember", 0)
    match status.get("phase"):
        case None:
            return status | {"phase": "Pending"}
        case "Pending":
            return status | ({"phase": "Scheduling"} | _owners(pods) if len(pods) >= minimum else {})
    counts = {name: sum(pod.status.get("phase") == name.capitalize() for pod in pods) for name in COUNTS}
    kept = {name: value for name, value in status.items() if name not in counts}
    counted = {name: number for name, number in counts.items() if number}
    return kept | counted | {"phase": _phase(minimum, len(pods), **counts)}


def _phase(minimum: int, pods: int, *, running: int, succeeded: int, failed: int) -> str:
    if pods < minimum:
        return "Pending"
    if succeeded >= minimum:
        return "Finished"
    if failed and running + succeeded + failed >= minimum:
        return "Failed"
    return "Running" if running + succeeded >= minimum else "Scheduling"


def _owners(pods: Sequence[SeenPod]) -> Object:
    first = pods[0].metadata if pods else ObjectMeta()
    owners = sorted(f"{first.namespace}/{owner.name}" for owner in first.owner_references or ())
    return {"occupiedBy": ",".join(owners)} if owners else {}


@asynccontextmanager
async def running_controller(client: Client) -> AsyncIterator[Controller]:
    """Run that controller beside whatever else there is."""
    controller = Controller(client)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(one, name="coscheduling")
            for one in (
                Reflector(client, POD_GROUPS, SeenGroup, controller.take_group).run(),
                Reflector(client, PODS, SeenPod, controller.take_pod).run(),
                controller.run(),
            )
        ]
        yield controller
        for task in tasks:
            task.cancel()

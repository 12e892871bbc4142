"""What the walk sees of the cluster: pods and PodGroups, and waiting until something holds of them."""

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.contract.names import POD_GROUP_LABEL
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import Client
from gangline.kube.wire.resources import JOBS, POD_GROUPS, PODS
from gangline.sandbox.objects.batch import Job
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.meta import Meta
from gangline.sandbox.reconciling.informer import Informer

WAITING_CONDITION: Final = "PodScheduled"


class WatchedGroup(PodGroup, frozen=True, kw_only=True, rename="camel"):
    """A PodGroup with all metadata."""

    metadata: Meta = Meta()


class Finding(Struct, frozen=True):
    """Whether an expectation holds, and what was seen."""

    holds: bool
    evidence: str


class View:
    """The cluster as two watches tell it; `changed` is set at each change."""

    def __init__(self, client: Client) -> None:
        self.pods = Informer(client, PODS, RunPod)
        self.groups = Informer(client, POD_GROUPS, WatchedGroup)
        self.jobs = Informer(client, JOBS, Job)
        self.changed = asyncio.Event()
        self.listeners: list[Callable[[], None]] = []
        for informer in (self.pods, self.groups, self.jobs):
            informer.listen(lambda _old, _new: self._notify())

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in (self.pods, self.groups, self.jobs):
                group.create_task(informer.run(), name=f"watch-{informer.resource.plural}")

    def pods_of(self, app: str) -> list[RunPod]:
        """List the pods with this label `app` that are not on their way out, by name."""
        return [
            pod
            for pod in self.pods.cache
            if (pod.metadata.labels or {}).get("app") == app and not pod.metadata.deletion_timestamp
        ]

    def group(self, name: str) -> WatchedGroup | None:
        """Find a PodGroup of the walk's namespace."""
        return self.groups.cache.get(Key("default", name))

    def job(self, name: str) -> Job | None:
        """Find a Job of the walk's namespace."""
        return self.jobs.cache.get(Key("default", name))

    def _notify(self) -> None:
        self.changed.set()
        for listener in list(self.listeners):
            listener()


def is_running(pod: RunPod) -> bool:
    """Tell whether the pod runs."""
    return pod.status.phase == "Running"


def is_waiting(pod: RunPod) -> bool:
    """Tell whether the pod has no node."""
    return not pod.spec.node_name and pod.status.phase in (None, "Pending")


def reason_of(pod: RunPod) -> tuple[str, str]:
    """Why a pod waits: reason and message of its condition, empty where nobody has said."""
    for condition in pod.status.conditions or ():
        if condition.type == WAITING_CONDITION and condition.status == "False":
            return condition.reason or "", condition.message or ""
    return "", ""


def group_name(pod: RunPod) -> str:
    """Name of the pod's PodGroup, empty if it has none."""
    return (pod.metadata.labels or {}).get(POD_GROUP_LABEL, "")

"""What decisions rest on: the objects that the watches have shown, the time, and how fast it runs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.kube.wire.resources import Resource
from gangline.sandbox.objects.core import RunNode, RunPod
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.cache import Cache

T = TypeVar("T", bound=Identified)


class Pace(Struct, frozen=True, kw_only=True):
    """How long things take here that take longer on a real cluster, in seconds."""

    lost_node_s: float = 5.0
    """From a node's end to the removal of its pods (there: about 50)."""
    job_backoff_s: float = 2.0
    """Before the replacement of a Job's first failed pod (there: about 10)."""
    speed: float = 1.0
    """How many times faster everything goes for which objects name seconds: run times, deadlines, tolerations."""


class World(Struct, frozen=True):
    """What may be known when something is decided."""

    caches: Mapping[Resource, Cache[Any]]
    now: datetime
    pace: Pace = Pace()

    def all(self, type_: type[T]) -> Cache[T]:
        """Every object of the kind that is read as this type."""
        return self.caches[RESOURCES[type_]]

    def node(self, pod: RunPod) -> RunNode | None:
        """Find the node that a pod is bound to."""
        return self.all(RunNode).get(Key("", pod.spec.node_name)) if pod.spec.node_name else None

    def pods_on(self, node: str) -> list[RunPod]:
        """List the pods that are bound to a node."""
        return [pod for pod in self.all(RunPod) if pod.spec.node_name == node]

"""Objects as kubelets and workload controllers read them: built from JSON, with only what a test is about."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from gangline.contract.timestamps import timestamp
from gangline.kube.wire.resources import Resource
from gangline.sandbox.objects.apps import Deployment, ReplicaSet
from gangline.sandbox.objects.batch import Job
from gangline.sandbox.objects.core import RunNode, RunPod
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.actions import Action, Create, Decision, Delete, Patch
from gangline.sandbox.reconciling.cache import Cache
from gangline.sandbox.reconciling.world import Pace, World

T = TypeVar("T", bound=Identified)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NAMESPACE = "team"


def later(seconds: float) -> datetime:
    """A time after NOW."""
    return NOW + timedelta(seconds=seconds)


def cache_of(*things: T) -> Cache[T]:
    """A cache that holds these."""
    cache: Cache[T] = Cache()
    for thing in things:
        cache.put(thing)
    return cache


def world_of(*things: Identified, now: datetime = NOW, pace: Pace = Pace()) -> World:  # noqa: B008 - frozen
    """A world in which these are all there is."""
    caches: dict[Resource, Cache[Any]] = {resource: Cache() for resource in RESOURCES.values()}
    for thing in things:
        caches[RESOURCES[type(thing)]].put(thing)
    return World(caches, now, pace)


def metadata(name: str, **fields: Any) -> dict[str, Any]:
    """Metadata whose UID is made of the name."""
    return {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "creationTimestamp": timestamp(NOW),
        **fields,
    }


def owned_by(owner: Identified, kind: str) -> dict[str, Any]:
    """An ownerReference to a controller."""
    return {"kind": kind, "name": owner.metadata.name, "uid": owner.metadata.uid, "controller": True}


def run_pod(
    name: str,
    *,
    node: str | None = None,
    phase: str | None = None,
    cpu: str = "1",
    requests: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    owners: tuple[dict[str, Any], ...] = (),
    deleting: bool = False,
    started: float | None = None,
    ready: float | None = None,
    created: float = 0.0,
    uid: str | None = None,
) -> RunPod:
    """A pod; times are seconds after NOW: when its node accepted it, since when it is Ready, when it was created."""
    fields: dict[str, Any] = {"labels": labels or {}, "annotations": annotations or {}, "ownerReferences": owners}
    fields["creationTimestamp"] = timestamp(later(created))
    if uid:
        fields["uid"] = uid
    if deleting:
        fields["deletionTimestamp"] = timestamp(NOW)
    status: dict[str, Any] = {"phase": phase or "Pending"}
    if started is not None:
        status["startTime"] = timestamp(later(started))
        if phase == "Running":
            status["containerStatuses"] = [
                {"name": "main", "state": {"running": {"startedAt": timestamp(later(started))}}}
            ]
    if ready is not None:
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(later(ready))}]
    spec = {
        "nodeName": node,
        "containers": [{"name": "main", "image": "pause", "resources": {"requests": requests or {"cpu": cpu}}}],
    }
    return msgspec.convert({"metadata": metadata(name, **fields), "spec": spec, "status": status}, RunPod)


def run_node(name: str, allocatable: dict[str, str], *, labels: dict[str, str] | None = None) -> RunNode:
    """A Ready node with 110 slots unless said otherwise."""
    status = {"allocatable": {"pods": "110", **allocatable}, "conditions": [{"type": "Ready", "status": "True"}]}
    return msgspec.convert(
        {"metadata": {"name": name, "uid": f"uid-{name}", "labels": labels or {}}, "status": status}, RunNode
    )


def template(app: str = "web", image: str = "pause") -> dict[str, Any]:
    """A pod template with the label `app`."""
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": image}]}}


def replica_set(
    name: str, replicas: int, *, owners: tuple[dict[str, Any], ...] = (), deleting: bool = False, **rest: Any
) -> ReplicaSet:
    """A ReplicaSet for pods with the label `app: web`; `rest` are fields of the spec."""
    fields: dict[str, Any] = {"ownerReferences": owners, "labels": {"app": "web"}, "generation": 1}
    if deleting:
        fields["deletionTimestamp"] = timestamp(NOW)
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template(), **rest}
    status = rest.pop("status", {})
    spec.pop("status", None)
    return msgspec.convert({"metadata": metadata(name, **fields), "spec": spec, "status": status}, ReplicaSet)


def deployment(name: str, replicas: int, **rest: Any) -> Deployment:
    """A Deployment for pods with the label `app: web`; `rest` are fields of the spec."""
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template(), **rest}
    return msgspec.convert({"metadata": metadata(name, generation=1), "spec": spec}, Deployment)


def job(name: str, *, status: dict[str, Any] | None = None, **spec: Any) -> Job:
    """A Job; fields of its spec by JSON name."""
    spec = {"template": template("sums"), **spec}
    return msgspec.convert({"metadata": metadata(name), "spec": spec, "status": status or {}}, Job)


def created(decision: Decision) -> list[dict[str, Any]]:
    """Bodies of the objects that a decision creates."""
    return [action.body for action in decision.actions if isinstance(action, Create)]


def deleted(decision: Decision) -> list[str]:
    """Names of the objects that a decision deletes."""
    return [action.key.name for action in decision.actions if isinstance(action, Delete)]


def patches(decision: Decision, subresource: str | None = None) -> list[Patch]:
    """Patches of the objects (None), or of their status."""
    return [each for each in decision.actions if isinstance(each, Patch) and each.subresource == subresource]


def status_of(actions: tuple[Action, ...]) -> dict[str, Any]:
    """The one status that these actions write; empty if they write none."""
    bodies = [each.body for each in actions if isinstance(each, Patch) and each.subresource == "status"]
    assert len(bodies) <= 1
    if not bodies:
        return {}
    assert isinstance(bodies[0], dict)
    status: dict[str, Any] = bodies[0]["status"]
    return status

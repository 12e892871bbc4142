"""Objects as users would write them, as small as the test that creates them."""

from collections.abc import Mapping
from typing import Any

from gangline.contract.names import (
    API_VERSION,
    DEFAULT_SCHEDULER_NAME,
    GROUP_MIN_MEMBER_ANNOTATION,
    KIND,
    POD_GROUP_LABEL,
)
from gangline.sandbox.kubelets.nodes import NodeGroup
from gangline.sandbox.kubelets.podlife import EXIT_CODE_ANNOTATION, RUN_SECONDS_ANNOTATION

Manifest = dict[str, Any]


def nodes(
    count: int = 1,
    name: str = "node",
    *,
    labels: dict[str, str] | None = None,
    room: dict[str, str | int] | None = None,
    **more_room: str | int,
) -> NodeGroup:
    """Nodes `node-0`, `node-1` ... with this room each: `nodes(2, cpu="4", memory="8Gi")`."""
    return NodeGroup(name=name, count=count, labels=labels or {}, allocatable={**(room or {}), **more_room})


def pod_group(name: str, min_member: int | None, **spec: Any) -> Manifest:
    """A PodGroup; `min_member=None` leaves minMember out."""
    minimum = {} if min_member is None else {"minMember": min_member}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": minimum | spec}


def priority_class(name: str, value: int) -> Manifest:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def template(
    group: str | None = None,
    *,
    shadow: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    run_s: float | None = None,
    exit_code: int | None = None,
    scheduler: str = DEFAULT_SCHEDULER_NAME,
    requests: Mapping[str, str | int] | None = None,
    priority: str | None = None,
    **spec: Any,
) -> Manifest:
    """Metadata and spec of a pod of one container, for a pod of its own or for an owner's template."""
    all_labels = dict(labels or {}) | ({POD_GROUP_LABEL: group} if group else {})
    notes = dict(annotations or {})
    for name, value in (
        (GROUP_MIN_MEMBER_ANNOTATION, shadow),
        (RUN_SECONDS_ANNOTATION, run_s),
        (EXIT_CODE_ANNOTATION, exit_code),
    ):
        if value is not None:
            notes[name] = str(value)
    asked = {resource: str(amount) for resource, amount in (requests or {"cpu": "1"}).items()}
    extended = {resource: amount for resource, amount in asked.items() if "/" in resource}
    room = {"requests": asked} | ({"limits": extended} if extended else {})  # extended resources are not overcommitted
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": room}
    return {
        "metadata": {"labels": all_labels, "annotations": notes},
        "spec": {
            "schedulerName": scheduler,
            "containers": [container],
            **({"priorityClassName": priority} if priority else {}),
            **spec,
        },
    }


def pod(name: str, group: str | None = None, **more: Any) -> Manifest:
    """A pod without owner; see `template`."""
    body = template(group, **more)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **body["metadata"]}, "spec": body["spec"]}


def pods(count: int, prefix: str, group: str | None = None, **more: Any) -> list[Manifest]:
    """Pods prefix-0, prefix-1 ... that differ by name alone."""
    return [pod(f"{prefix}-{number}", group, **more) for number in range(count)]


def gang(name: str, count: int, *, min_member: int | None = None, spec: Manifest | None = None, **more: Any) -> Any:
    """A PodGroup and `count` pods of it; minMember is their number unless given."""
    return [pod_group(name, min_member or count, **(spec or {})), *pods(count, name, name, **more)]


def replica_set(name: str, replicas: int, group: str | None = None, **more: Any) -> Manifest:
    """A ReplicaSet."""
    return _workload("apps/v1", "ReplicaSet", name, replicas, template(group, labels={"app": name}, **more))


def deployment(name: str, replicas: int, group: str | None = None, *, spec: Manifest | None = None, **more: Any) -> Any:
    """A Deployment; `spec` is merged into its own."""
    body = _workload("apps/v1", "Deployment", name, replicas, template(group, labels={"app": name}, **more))
    body["spec"] |= spec or {}
    return body


def job(name: str, group: str | None = None, *, parallelism: int, completions: int, **more: Any) -> Manifest:
    """A Job whose pods never restart."""
    body = template(group, labels={"app": name}, restartPolicy="Never", **more)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"parallelism": parallelism, "completions": completions, "template": body},
    }


def _workload(api_version: str, kind: str, name: str, replicas: int, body: Manifest) -> Manifest:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": body},
    }

"""Builders: the smallest objects that say what a test is about, and nothing else.

Times are seconds since `EPOCH`. UIDs are made of names unless given.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from gangline.contract import names
from gangline.contract.meta import Condition, ObjectMeta, OwnerReference
from gangline.contract.node import Node, NodeSpec, NodeStatus, Taint
from gangline.contract.pod import (
    Container,
    ContainerPort,
    ContainerState,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    Quantity,
    ResourceRequirements,
    TerminatedState,
    Toleration,
)
from gangline.contract.podgroup import PodGroup, PodGroupSpec
from gangline.contract.policy import (
    LabelSelector,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PriorityClass,
)

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "team"


def at(seconds: float) -> datetime:
    """A wall time."""
    return EPOCH + timedelta(seconds=seconds)


def owner(kind: str, name: str, *, uid: str | None = None) -> OwnerReference:
    """A controlling owner."""
    api_version = "batch/v1" if kind == "Job" else "apps/v1"
    return OwnerReference(api_version=api_version, kind=kind, name=name, uid=uid or f"uid-{name}", controller=True)


def pod(
    name: str,
    *,
    group: str | None = None,
    namespace: str = NAMESPACE,
    uid: str | None = None,
    cpu: Quantity | None = 1,
    memory: Quantity | None = None,
    requests: dict[str, Quantity] | None = None,
    node: str | None = None,
    phase: str = "Pending",
    scheduler: str = names.DEFAULT_SCHEDULER_NAME,
    priority: int | None = None,
    created_s: float = 0,
    finished_s: float | None = None,
    deleting: bool = False,
    gated: bool = False,
    version: str = "1",
    owned_by: OwnerReference | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    shadow: int | str | None = None,
    said: tuple[str, str] | None = None,
    host_port: int | None = None,
    selector: dict[str, str] | None = None,
    tolerations: tuple[Toleration, ...] | None = None,
    generation: int | None = None,
    spec: dict[str, Any] | None = None,
) -> Pod:
    """A pod of one container."""
    asked: dict[str, Quantity] = dict(requests or {})
    if cpu is not None:
        asked["cpu"] = cpu
    if memory is not None:
        asked["memory"] = memory
    all_labels = dict(labels or {}) | ({names.POD_GROUP_LABEL: group} if group is not None else {})
    all_annotations = dict(annotations or {})
    if shadow is not None:
        all_annotations[names.GROUP_MIN_MEMBER_ANNOTATION] = str(shadow)
    condition = Condition(type="PodScheduled", status="False", reason=said[0], message=said[1]) if said else None
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid if uid is not None else f"uid-{name}",
            resource_version=version,
            generation=generation,
            creation_timestamp=at(created_s),
            deletion_timestamp=at(0) if deleting else None,
            labels=all_labels or None,
            annotations=all_annotations or None,
            owner_references=(owned_by,) if owned_by is not None else None,
        ),
        spec=PodSpec(
            node_name=node,
            scheduler_name=scheduler,
            priority=priority,
            node_selector=selector,
            tolerations=tolerations,
            scheduling_gates=({"name": "wait"},) if gated else None,
            containers=(
                Container(
                    name="main",
                    resources=ResourceRequirements(requests=asked or None),
                    ports=(ContainerPort(host_port=host_port),) if host_port else None,
                ),
            ),
            **(spec or {}),
        ),
        status=PodStatus(
            phase=phase,
            conditions=(condition,) if condition else None,
            container_statuses=_ended(finished_s) if finished_s is not None else None,
        ),
    )


def _ended(finished_s: float) -> tuple[ContainerStatus, ...]:
    state = ContainerState(terminated=TerminatedState(finished_at=at(finished_s)))
    return (ContainerStatus(name="main", state=state),)


def job_pod(name: str, job: str, **fields: Any) -> Pod:
    """A pod that a Job made."""
    return pod(name, owned_by=owner("Job", job), **fields)


def node(
    name: str,
    *,
    cpu: Quantity = 4,
    memory: Quantity = "16Gi",
    pods: Quantity = 110,
    uid: str | None = None,
    labels: dict[str, str] | None = None,
    taints: tuple[Taint, ...] | None = None,
    unschedulable: bool = False,
    allocatable: dict[str, Quantity] | None = None,
) -> Node:
    """A node."""
    return Node(
        metadata=ObjectMeta(name=name, uid=uid or f"uid-{name}", labels=labels, resource_version="1"),
        spec=NodeSpec(unschedulable=unschedulable or None, taints=taints),
        status=NodeStatus(allocatable={"cpu": cpu, "memory": memory, "pods": pods, **(allocatable or {})}),
    )


def group(
    name: str,
    min_member: int | None = None,
    *,
    namespace: str = NAMESPACE,
    uid: str | None = None,
    version: str = "100",
    created_s: float = 0,
    min_resources: dict[str, Quantity] | None = None,
    priority_class: str | None = None,
) -> PodGroup:
    """A PodGroup."""
    return PodGroup(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"uid-group-{name}",
            resource_version=version,
            creation_timestamp=at(created_s),
        ),
        spec=PodGroupSpec(min_member=min_member, min_resources=min_resources, priority_class_name=priority_class),
    )


def priority_class(name: str, value: int) -> PriorityClass:
    """A PriorityClass."""
    return PriorityClass(metadata=ObjectMeta(name=name), value=value)


def budget(
    name: str,
    *,
    min_available: int | str | None = None,
    max_unavailable: int | str | None = None,
    match_labels: dict[str, str] | None = None,
    namespace: str = NAMESPACE,
) -> PodDisruptionBudget:
    """A PodDisruptionBudget."""
    selector = LabelSelector(match_labels=match_labels) if match_labels is not None else None
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=PodDisruptionBudgetSpec(min_available=min_available, max_unavailable=max_unavailable, selector=selector),
    )

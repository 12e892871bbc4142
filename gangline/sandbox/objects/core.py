"""Pods, nodes with their leases, namespaces and what is known by its metadata alone."""

from datetime import datetime
from typing import Final

from msgspec import Struct

from gangline.contract.meta import Condition
from gangline.contract.node import NodeSpec, NodeStatus, Taint
from gangline.contract.pod import (
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    Quantity,
    TerminatedState,
    Toleration,
)
from gangline.sandbox.objects.meta import Meta, Thing


class Definition(Thing, frozen=True, kw_only=True, rename="camel"):
    """A CustomResourceDefinition."""


class ServiceAccount(Thing, frozen=True, kw_only=True, rename="camel"):
    """A ServiceAccount."""


class NamespaceSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """What keeps a namespace from ending."""

    finalizers: tuple[str, ...] | None = None


class Namespace(Struct, frozen=True, kw_only=True, rename="camel"):
    """A namespace."""

    metadata: Meta = Meta()
    spec: NamespaceSpec = NamespaceSpec()


class ImageContainer(Container, frozen=True, kw_only=True, rename="camel"):
    """A container with its image."""

    image: str = ""


class RunningState(Struct, frozen=True, kw_only=True, rename="camel"):
    """Since when a container runs."""

    started_at: datetime | None = None


class ExitState(TerminatedState, frozen=True, kw_only=True, rename="camel"):
    """With what code a container exited."""

    exit_code: int = 0


class RunState(Struct, frozen=True, kw_only=True, rename="camel"):
    """State of a container that a kubelet wrote."""

    running: RunningState | None = None
    terminated: ExitState | None = None


class RunStatus(ContainerStatus, frozen=True, kw_only=True, rename="camel"):
    """Status of a container that a kubelet wrote."""

    state: RunState | None = None  # type: ignore[assignment]  # more of the same field
    last_state: RunState | None = None
    restart_count: int | None = None


class TimedToleration(Toleration, frozen=True, kw_only=True, rename="camel"):
    """A toleration, and how long it holds against eviction."""

    toleration_seconds: int | None = None


class RunPodSpec(PodSpec, frozen=True, kw_only=True, rename="camel"):
    """A pod's spec with images, and with what happens when its containers exit or its node is tainted."""

    containers: tuple[ImageContainer, ...] | None = None
    restart_policy: str | None = None
    tolerations: tuple[TimedToleration, ...] | None = None


class RunPodStatus(PodStatus, frozen=True, kw_only=True, rename="camel"):
    """A pod's status with run states."""

    container_statuses: tuple[RunStatus, ...] | None = None


class RunPod(Pod, frozen=True, kw_only=True, rename="camel"):
    """A pod as those see it who run it."""

    metadata: Meta = Meta()
    spec: RunPodSpec = RunPodSpec()
    status: RunPodStatus = RunPodStatus()


class RunNodeStatus(NodeStatus, frozen=True, kw_only=True, rename="camel"):
    """A node's status with its conditions."""

    capacity: dict[str, Quantity] | None = None
    conditions: tuple[Condition, ...] | None = None


class TimedTaint(Taint, frozen=True, kw_only=True, rename="camel"):
    """A taint, and since when it is there."""

    time_added: datetime | None = None


class RunNodeSpec(NodeSpec, frozen=True, kw_only=True, rename="camel"):
    """A node's spec."""

    taints: tuple[TimedTaint, ...] | None = None


class RunNode(Struct, frozen=True, kw_only=True, rename="camel"):
    """A node as its kubelet and the node controller see it."""

    metadata: Meta = Meta()
    spec: RunNodeSpec = RunNodeSpec()
    status: RunNodeStatus = RunNodeStatus()


def has_condition(node: RunNode, type_: str, status: str) -> bool:
    """Tell whether a condition of a node has this status."""
    return any((each.type, each.status) == (type_, status) for each in node.status.conditions or ())


LEASE_NAMESPACE: Final = "kube-node-lease"
"""Where the leases of nodes are."""


class LeaseSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """Until when a lease holds."""

    renew_time: datetime | None = None
    lease_duration_seconds: int = 40


class Lease(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lease."""

    metadata: Meta = Meta()
    spec: LeaseSpec = LeaseSpec()

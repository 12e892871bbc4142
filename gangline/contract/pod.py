"""Pods, as a partial Struct: the fields that gangs, feasibility and status read, and no others.

What is not read cannot make a pod unreadable. Quantities stay as they came (`str | int | float`); `contract.quantity`
reads them. Whatever is only tested for presence (inter-pod affinity, claims) is kept as opaque objects.
"""

from datetime import datetime
from typing import Any, Final

from msgspec import Struct, field

from gangline.contract.meta import ApiObject, Condition, Int64, OrDefault

FINISHED_PHASES: Final = frozenset({"Succeeded", "Failed"})

Quantity = str | int | float
Opaque = dict[str, Any]


class ResourceRequirements(Struct, frozen=True, kw_only=True, rename="camel"):
    """Requests of a container or a pod."""

    requests: dict[str, Quantity] | None = None


class ContainerPort(Struct, frozen=True, kw_only=True, rename="camel"):
    """A port; only host ports matter to scheduling."""

    host_port: Int64 | None = None
    host_ip: str | None = field(default=None, name="hostIP")
    protocol: str | None = None


class Container(Struct, frozen=True, kw_only=True, rename="camel"):
    """A container, an init container, or (restartPolicy Always) a sidecar."""

    name: str = ""
    resources: ResourceRequirements | None = None
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None


class Toleration(Struct, frozen=True, kw_only=True, rename="camel"):
    """A toleration; empty key with Exists tolerates everything."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class SelectorRequirement(Struct, frozen=True, kw_only=True, rename="camel"):
    """One requirement of a node selector term."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class NodeSelectorTerm(Struct, frozen=True, kw_only=True, rename="camel"):
    """Requirements that must all hold; an empty term matches nothing."""

    match_expressions: tuple[SelectorRequirement, ...] | None = None
    match_fields: tuple[SelectorRequirement, ...] | None = None


class NodeSelector(Struct, frozen=True, kw_only=True, rename="camel"):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class NodeAffinity(Struct, frozen=True, kw_only=True, rename="camel"):
    """Node affinity; preferred terms are not read yet."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class PodAffinity(Struct, frozen=True, kw_only=True, rename="camel"):
    """Inter-pod affinity or anti-affinity, kept opaque: presence of required terms makes a pod wait."""

    required: tuple[Opaque, ...] | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(Struct, frozen=True, kw_only=True, rename="camel"):
    """All forms of affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Struct, frozen=True, kw_only=True, rename="camel"):
    """A spread constraint; only hard ones (DoNotSchedule) matter to feasibility."""

    when_unsatisfiable: str = ""


class Volume(Struct, frozen=True, kw_only=True, rename="camel"):
    """A volume; only claims matter to scheduling."""

    persistent_volume_claim: Opaque | None = None
    ephemeral: Opaque | None = None


class PodSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the pod asks for."""

    node_name: str | None = None
    scheduler_name: str | None = None
    priority: Int64 | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    overhead: dict[str, Quantity] | None = None
    resources: ResourceRequirements | None = None
    scheduling_gates: tuple[Opaque, ...] | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    resource_claims: tuple[Opaque, ...] | None = None


class TerminatedState(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a container ended."""

    finished_at: datetime | None = None


class ContainerState(Struct, frozen=True, kw_only=True, rename="camel"):
    """State of a container; only the end is read."""

    terminated: TerminatedState | None = None


class ContainerStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Status of a container."""

    name: str = ""
    state: ContainerState | None = None
    allocated_resources: dict[str, Quantity] | None = None
    resources: ResourceRequirements | None = None


class PodStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the cluster says of the pod."""

    phase: str | None = None
    reason: str | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    start_time: datetime | None = None
    allocated_resources: dict[str, Quantity] | None = None
    resources: ResourceRequirements | None = None


class Pod(ApiObject, frozen=True, kw_only=True, rename="camel"):
    """A pod."""

    spec: OrDefault[PodSpec] = PodSpec()
    status: OrDefault[PodStatus] = PodStatus()

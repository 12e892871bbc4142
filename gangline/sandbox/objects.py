"""What the kubelets and the workload controllers read of an object, as partial Structs; templates stay as they came."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from msgspec import Struct, to_builtins

from gangline.contract.meta import Condition, ObjectMeta, OwnerReference
from gangline.contract.node import NodeSpec, NodeStatus, Taint
from gangline.contract.pod import (
    Container,
    ContainerStatus,
    Opaque,
    Pod,
    PodSpec,
    PodStatus,
    Quantity,
    TerminatedState,
    Toleration,
)
from gangline.contract.policy import LabelSelector, PodDisruptionBudget
from gangline.kube.wire.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SERVICE_ACCOUNTS,
    Resource,
)


class OwnerLink(OwnerReference, frozen=True, kw_only=True, rename="camel"):
    """An owner, and whether its foreground deletion waits for this object."""

    block_owner_deletion: bool | None = None


class Meta(ObjectMeta, frozen=True, kw_only=True, rename="camel"):
    """Metadata with what ends an object."""

    owner_references: tuple[OwnerLink, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class Identified(Protocol):
    """Whatever has metadata."""

    @property
    def metadata(self) -> Meta:
        """Name, UID, owners."""


class Thing(Struct, frozen=True, kw_only=True, rename="camel"):
    """An object of any kind: its metadata alone."""

    metadata: Meta = Meta()


class Definition(Thing, frozen=True, kw_only=True, rename="camel"):
    """A CustomResourceDefinition."""


class ServiceAccount(Thing, frozen=True, kw_only=True, rename="camel"):
    """A ServiceAccount."""


class VolumeClaim(Thing, frozen=True, kw_only=True, rename="camel"):
    """A PersistentVolumeClaim."""


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


class LeaseSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """Until when a lease holds."""

    renew_time: datetime | None = None
    lease_duration_seconds: int = 40


class Lease(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lease."""

    metadata: Meta = Meta()
    spec: LeaseSpec = LeaseSpec()


class ReplicatedSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many pods of which template."""

    replicas: int = 1
    min_ready_seconds: int = 0
    selector: LabelSelector = LabelSelector()
    template: Opaque = {}


class ReplicaSetStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts of the ReplicaSet's pods."""

    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0


class ReplicaSet(Struct, frozen=True, kw_only=True, rename="camel"):
    """A ReplicaSet."""

    metadata: Meta = Meta()
    spec: ReplicatedSpec = ReplicatedSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class RollingUpdate(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far a rollout may stray from the number wanted: counts or percentages."""

    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"


class DeploymentStrategy(Struct, frozen=True, kw_only=True, rename="camel"):
    """How old pods give way to new ones."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(ReplicatedSpec, frozen=True, kw_only=True, rename="camel"):
    """How many pods of which template, and how to get there."""

    revision_history_limit: int = 10
    paused: bool = False
    strategy: DeploymentStrategy = DeploymentStrategy()


class DeploymentStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts over the Deployment's ReplicaSets."""

    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] | None = None


class Deployment(Struct, frozen=True, kw_only=True, rename="camel"):
    """A Deployment."""

    metadata: Meta = Meta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class Ordinals(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where numbers begin."""

    start: int = 0


class OrderedUpdate(Struct, frozen=True, kw_only=True, rename="camel"):
    """Down to which ordinal pods are replaced."""

    partition: int = 0


class StatefulSetStrategy(Struct, frozen=True, kw_only=True, rename="camel"):
    """Who replaces the pods of an old template: the controller, or whoever deletes them."""

    type: str = "RollingUpdate"
    rolling_update: OrderedUpdate | None = None


class ClaimTemplate(Struct, frozen=True, kw_only=True, rename="camel"):
    """A volume claim that each pod gets for itself."""

    metadata: Meta = Meta()
    spec: Opaque = {}


class StatefulSetSpec(ReplicatedSpec, frozen=True, kw_only=True, rename="camel"):
    """How many numbered pods of which template, and in which order."""

    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    ordinals: Ordinals | None = None
    update_strategy: StatefulSetStrategy = StatefulSetStrategy()
    volume_claim_templates: tuple[ClaimTemplate, ...] | None = None


class StatefulSetStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts of the StatefulSet's pods, and which templates they are of."""

    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int = 0
    observed_generation: int = 0


class StatefulSet(Struct, frozen=True, kw_only=True, rename="camel"):
    """A StatefulSet."""

    metadata: Meta = Meta()
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class ExitCodes(Struct, frozen=True, kw_only=True, rename="camel"):
    """Exit codes, of one container or of any."""

    container_name: str | None = None
    operator: str = "In"
    values: tuple[int, ...] = ()


class ConditionPattern(Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition of a pod."""

    type: str = ""
    status: str = "True"


class FailureRule(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a failure of this sort means."""

    action: str = "Count"
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] | None = None


class FailurePolicy(Struct, frozen=True, kw_only=True, rename="camel"):
    """Rules for failed pods, the first that matches counts."""

    rules: tuple[FailureRule, ...] = ()


class JobSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many pods at once, and how many in all."""

    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    active_deadline_seconds: float | None = None
    ttl_seconds_after_finished: float | None = None
    pod_failure_policy: FailurePolicy | None = None
    template: Opaque = {}


class JobStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts of the Job's pods and how it ended."""

    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    start_time: datetime | None = None
    completion_time: datetime | None = None
    conditions: tuple[Condition, ...] | None = None


class Job(Struct, frozen=True, kw_only=True, rename="camel"):
    """A Job."""

    metadata: Meta = Meta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplate(Struct, frozen=True, kw_only=True, rename="camel"):
    """Of what a CronJob's Jobs are made."""

    metadata: Meta = Meta()
    spec: Opaque = {}


class CronJobSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """When to start which Job."""

    schedule: str = ""
    time_zone: str | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: JobTemplate = JobTemplate()


class CronJobStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which Jobs run, and when the last one was due."""

    active: tuple[Opaque, ...] | None = None
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(Struct, frozen=True, kw_only=True, rename="camel"):
    """A CronJob."""

    metadata: Meta = Meta()
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class BudgetStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a budget allows at the moment."""

    current_healthy: int = 0
    desired_healthy: int = 0
    disruptions_allowed: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    disrupted_pods: dict[str, str] | None = None
    """Pods whose eviction was granted and that are still to go."""


class Budget(PodDisruptionBudget, frozen=True, kw_only=True, rename="camel"):
    """A PodDisruptionBudget with its status."""

    metadata: Meta = Meta()
    status: BudgetStatus = BudgetStatus()


RESOURCES: Final[Mapping[type[Any], Resource]] = {
    RunPod: PODS,
    RunNode: NODES,
    Lease: LEASES,
    Namespace: NAMESPACES,
    ServiceAccount: SERVICE_ACCOUNTS,
    ReplicaSet: REPLICA_SETS,
    Deployment: DEPLOYMENTS,
    StatefulSet: Resource("apps", "v1", "statefulsets", "StatefulSet"),
    VolumeClaim: Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Job: JOBS,
    CronJob: Resource("batch", "v1", "cronjobs", "CronJob"),
    Budget: POD_DISRUPTION_BUDGETS,
    Definition: CUSTOM_RESOURCE_DEFINITIONS,
}
"""The kinds of which kubelets and controllers read every object, by the Struct that says how much of it."""


def timestamp(at: datetime) -> str:
    """Write a time as `metav1.Time`: UTC, whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def wire(value: Struct) -> dict[str, Any]:
    """Write a Struct as JSON for a patch: what is None left out, zeros kept so that they overwrite."""
    pruned = _pruned(to_builtins(value, builtin_types=(datetime,)))
    assert isinstance(pruned, dict)
    return pruned


def status_patch(status: Struct, *always: str) -> dict[str, Any]:
    """Write a status as a merge patch: as Kubernetes does, zeros and empty texts are left out but for some fields."""
    body = to_builtins(status, builtin_types=(datetime,))
    kept = {field: (None if value in (0, "") and field not in always else value) for field, value in body.items()}
    return {field: None if value is None else _pruned(value) for field, value in kept.items()}


def timed(conditions: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Give conditions one more time, equal to that of their last change, as some kinds have it."""
    return [{field: each.get("lastTransitionTime")} | each for each in conditions]


def _pruned(value: object) -> Any:
    match value:
        case dict():
            return {field: _pruned(each) for field, each in value.items() if each is not None}
        case list() | tuple():
            return [_pruned(each) for each in value]
        case datetime():
            return timestamp(value)
        case _:
            return value

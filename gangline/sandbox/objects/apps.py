"""ReplicaSets, Deployments and StatefulSets; templates stay as they came."""

from msgspec import Struct

from gangline.contract.meta import Condition
from gangline.contract.pod import Opaque
from gangline.contract.policy import LabelSelector
from gangline.sandbox.objects.meta import Meta, Thing


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


class StatefulSetSpec(ReplicatedSpec, frozen=True, kw_only=True, rename="camel"):
    """How many numbered pods of which template, and in which order."""

    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    ordinals: Ordinals | None = None
    update_strategy: StatefulSetStrategy = StatefulSetStrategy()
    volume_claim_templates: tuple[Thing, ...] | None = None


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

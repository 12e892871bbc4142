"""The kinds that are served: one row each, data only.

A CustomResourceDefinition becomes a row like these at run time (`strategies.definitions`).
"""

from typing import Any, NamedTuple

from msgspec import Struct


class GroupResource(NamedTuple):
    """Where objects of one kind are stored, whatever version they are read in."""

    group: str
    plural: str


class Column(Struct, frozen=True):
    """A column of the server-side table; `path` is a JSONPath, or the name of a function in `tables`."""

    name: str
    type: str
    path: str
    priority: int = 0
    description: str = ""
    format: str = ""


class Kind(Struct, frozen=True, kw_only=True):
    """One kind in one version.

    `selectable` are the field selectors beyond metadata.name and metadata.namespace; `stored_as` is the apiVersion
    that the store keeps (when it is another) and `renames` lead from there to this version, top-level field by field.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    counts_generation: bool = False
    returns_deleted: bool = False
    orphans_by_default: bool = False
    creates_on_update: bool = False
    unconditional_update: bool = True
    keeps_first_status: bool = False
    selectable: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    stored_as: str = ""
    custom: bool = False
    singular_name: str = ""
    list_name: str = ""
    schema: dict[str, Any] | None = None
    scale_paths: tuple[str, str, str] | None = None

    @property
    def api_version(self) -> str:
        """Group and version as objects carry them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage_version(self) -> str:
        """The apiVersion of stored objects."""
        return self.stored_as or self.api_version

    @property
    def resource(self) -> GroupResource:
        """Where the objects are stored."""
        return GroupResource(self.group if not self.renames else "", self.plural)

    @property
    def resource_name(self) -> str:
        """Plural name with the group, as error messages have it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def singular(self) -> str:
        """Singular name."""
        return self.singular_name or self.kind.lower()

    @property
    def list_kind(self) -> str:
        """Kind of a list."""
        return self.list_name or f"{self.kind}List"


_POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_EVENT_RENAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)
_EVENT_FIELDS_NEW = tuple(
    field.replace("involvedObject", "regarding").replace("reportingComponent", "reportingController")
    for field in _EVENT_FIELDS
    if field != "source"
)

NAMESPACES = Kind(
    group="",
    version="v1",
    plural="namespaces",
    kind="Namespace",
    namespaced=False,
    short_names=("ns",),
    subresources=("status", "finalize"),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    selectable=("status.phase",),
)
PODS = Kind(
    group="",
    version="v1",
    plural="pods",
    kind="Pod",
    short_names=("po",),
    categories=("all",),
    subresources=("status", "binding", "eviction", "ephemeralcontainers", "resize"),
    counts_generation=True,
    returns_deleted=True,
    selectable=_POD_FIELDS,
)
CUSTOM_RESOURCE_DEFINITIONS = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=("status",),
    counts_generation=True,
)
PRIORITY_CLASSES = Kind(
    group="scheduling.k8s.io",
    version="v1",
    plural="priorityclasses",
    kind="PriorityClass",
    namespaced=False,
    short_names=("pc",),
    counts_generation=True,
)
POD_DISRUPTION_BUDGETS = Kind(
    group="policy",
    version="v1",
    plural="poddisruptionbudgets",
    kind="PodDisruptionBudget",
    short_names=("pdb",),
    subresources=("status",),
    counts_generation=True,
)
EVENTS = Kind(
    group="",
    version="v1",
    plural="events",
    kind="Event",
    short_names=("ev",),
    creates_on_update=True,
    selectable=_EVENT_FIELDS,
)
NEW_EVENTS = Kind(
    group="events.k8s.io",
    version="v1",
    plural="events",
    kind="Event",
    short_names=("ev",),
    creates_on_update=True,
    selectable=_EVENT_FIELDS_NEW,
    stored_as="v1",
    renames=_EVENT_RENAMES,
)
SERVICE_ACCOUNTS = Kind(
    group="", version="v1", plural="serviceaccounts", kind="ServiceAccount", short_names=("sa",), returns_deleted=True
)
# Kinds that are only posted.
BINDINGS = Kind(group="", version="v1", plural="bindings", kind="Binding", verbs=("create",))
EVICTIONS = Kind(group="policy", version="v1", plural="evictions", kind="Eviction", verbs=("create",))
ACCESS_REVIEWS, RULES_REVIEWS = (
    Kind(
        group="authorization.k8s.io",
        version="v1",
        plural=f"{kind.lower()}s",
        kind=kind,
        namespaced=False,
        verbs=("create",),
    )
    for kind in ("SelfSubjectAccessReview", "SelfSubjectRulesReview")
)
BUILT_IN: tuple[Kind, ...] = (
    NAMESPACES,
    PODS,
    BINDINGS,
    ACCESS_REVIEWS,
    RULES_REVIEWS,
    EVENTS,
    SERVICE_ACCOUNTS,
    Kind(
        group="",
        version="v1",
        plural="nodes",
        kind="Node",
        namespaced=False,
        short_names=("no",),
        subresources=("status",),
        keeps_first_status=True,
        selectable=("spec.unschedulable",),
    ),
    Kind(group="", version="v1", plural="configmaps", kind="ConfigMap", short_names=("cm",)),
    Kind(group="", version="v1", plural="secrets", kind="Secret", selectable=("type",)),
    Kind(
        group="",
        version="v1",
        plural="services",
        kind="Service",
        short_names=("svc",),
        categories=("all",),
        subresources=("status",),
        returns_deleted=True,
        selectable=("spec.clusterIP", "spec.type"),
    ),
    Kind(
        group="",
        version="v1",
        plural="persistentvolumes",
        kind="PersistentVolume",
        namespaced=False,
        short_names=("pv",),
        subresources=("status",),
        returns_deleted=True,
    ),
    Kind(
        group="",
        version="v1",
        plural="persistentvolumeclaims",
        kind="PersistentVolumeClaim",
        short_names=("pvc",),
        subresources=("status",),
        returns_deleted=True,
    ),
    Kind(
        group="apps",
        version="v1",
        plural="replicasets",
        kind="ReplicaSet",
        short_names=("rs",),
        categories=("all",),
        subresources=("status", "scale"),
        counts_generation=True,
        selectable=("status.replicas",),
        scale_paths=("spec.replicas", "status.replicas", "spec.selector"),
    ),
    Kind(
        group="apps",
        version="v1",
        plural="deployments",
        kind="Deployment",
        short_names=("deploy",),
        categories=("all",),
        subresources=("status", "scale"),
        counts_generation=True,
        scale_paths=("spec.replicas", "status.replicas", "spec.selector"),
    ),
    Kind(
        group="apps",
        version="v1",
        plural="statefulsets",
        kind="StatefulSet",
        short_names=("sts",),
        categories=("all",),
        subresources=("status", "scale"),
        counts_generation=True,
        scale_paths=("spec.replicas", "status.replicas", "spec.selector"),
    ),
    Kind(
        group="apps",
        version="v1",
        plural="daemonsets",
        kind="DaemonSet",
        short_names=("ds",),
        categories=("all",),
        subresources=("status",),
        counts_generation=True,
    ),
    Kind(
        group="batch",
        version="v1",
        plural="jobs",
        kind="Job",
        categories=("all",),
        subresources=("status",),
        orphans_by_default=True,
        counts_generation=True,
        selectable=("status.successful",),
    ),
    Kind(
        group="batch",
        version="v1",
        plural="cronjobs",
        kind="CronJob",
        short_names=("cj",),
        categories=("all",),
        subresources=("status",),
        counts_generation=True,
    ),
    CUSTOM_RESOURCE_DEFINITIONS,
    Kind(
        group="coordination.k8s.io",
        version="v1",
        plural="leases",
        kind="Lease",
        creates_on_update=True,
        unconditional_update=False,
    ),
    NEW_EVENTS,
    Kind(
        group="networking.k8s.io",
        version="v1",
        plural="networkpolicies",
        kind="NetworkPolicy",
        short_names=("netpol",),
        counts_generation=True,
    ),
    POD_DISRUPTION_BUDGETS,
    Kind(
        group="rbac.authorization.k8s.io",
        version="v1",
        plural="clusterroles",
        kind="ClusterRole",
        namespaced=False,
    ),
    Kind(
        group="rbac.authorization.k8s.io",
        version="v1",
        plural="clusterrolebindings",
        kind="ClusterRoleBinding",
        namespaced=False,
    ),
    Kind(group="rbac.authorization.k8s.io", version="v1", plural="roles", kind="Role"),
    Kind(group="rbac.authorization.k8s.io", version="v1", plural="rolebindings", kind="RoleBinding"),
    PRIORITY_CLASSES,
    Kind(
        group="storage.k8s.io",
        version="v1",
        plural="storageclasses",
        kind="StorageClass",
        namespaced=False,
        short_names=("sc",),
    ),
)

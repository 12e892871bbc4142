"""The kinds that are served: one row each, data only.

A CustomResourceDefinition becomes a row like these at run time (`strategies.definitions`).
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct


class GroupResource(NamedTuple):
    """Where objects of one kind are stored, whatever version they are read in."""

    group: str
    plural: str


class Column(Struct, frozen=True):
    """A column of the server-side table.

    `source` is a JSONPath, with a `|` before what stands there when nothing is found, or makes cells of an object and
    the time.
    """

    name: str
    type: str
    source: str | Callable[[dict[str, Any], datetime], Any]
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
    *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork"),
    *("status.phase", "status.podIP", "status.nominatedNodeName"),
)
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_RENAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)


def _built_in(names: str, **more: Any) -> Kind:
    """Return a row from apiVersion, kind and short names, with the plural that English has for the kind."""
    api_version, kind, *short_names = names.split()
    group, _, version = api_version.rpartition("/")
    name = kind.lower()
    plural = name[:-1] + "ies" if name.endswith("y") else name + ("es" if name.endswith("s") else "s")
    return Kind(group=group, version=version, plural=plural, kind=kind, short_names=tuple(short_names), **more)


_GENERATIONS: dict[str, Any] = {"counts_generation": True, "subresources": ("status",)}
_WORKLOAD: dict[str, Any] = {**_GENERATIONS, "categories": ("all",)}
_SCALED: dict[str, Any] = {**_WORKLOAD, "subresources": ("status", "scale")}
_POSTED: dict[str, Any] = {"verbs": ("create",)}
_GLOBAL: dict[str, Any] = {"namespaced": False}

NAMESPACES = _built_in(
    "v1 Namespace ns",
    **_GLOBAL,
    subresources=("status", "finalize"),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    selectable=("status.phase",),
)
PODS = _built_in(
    "v1 Pod po",
    categories=("all",),
    subresources=("status", "binding", "eviction"),
    counts_generation=True,
    returns_deleted=True,
    selectable=_POD_FIELDS,
)
CUSTOM_RESOURCE_DEFINITIONS = _built_in(
    "apiextensions.k8s.io/v1 CustomResourceDefinition crd crds",
    **_GLOBAL,
    **_GENERATIONS,
    categories=("api-extensions",),
)
PRIORITY_CLASSES = _built_in("scheduling.k8s.io/v1 PriorityClass pc", **_GLOBAL, counts_generation=True)
POD_DISRUPTION_BUDGETS = _built_in("policy/v1 PodDisruptionBudget pdb", **_GENERATIONS)
EVENTS = _built_in(
    "v1 Event ev",
    creates_on_update=True,
    selectable=(*(f"involvedObject.{field}" for field in _INVOLVED), "reason", "reportingComponent", "source", "type"),
)
NEW_EVENTS = _built_in(
    "events.k8s.io/v1 Event ev",
    creates_on_update=True,
    selectable=(*(f"regarding.{field}" for field in _INVOLVED), "reason", "reportingController", "type"),
    stored_as="v1",
    renames=_EVENT_RENAMES,
)
SERVICE_ACCOUNTS = _built_in("v1 ServiceAccount sa", returns_deleted=True)
NODES = _built_in(
    "v1 Node no",
    **_GLOBAL,
    subresources=("status",),
    keeps_first_status=True,
    selectable=("spec.unschedulable",),
)
BINDINGS = _built_in("v1 Binding", **_POSTED)
EVICTIONS = _built_in("policy/v1 Eviction", **_POSTED)
ACCESS_REVIEWS = _built_in("authorization.k8s.io/v1 SelfSubjectAccessReview", **_POSTED, **_GLOBAL)
RULES_REVIEWS = _built_in("authorization.k8s.io/v1 SelfSubjectRulesReview", **_POSTED, **_GLOBAL)
BUILT_IN: tuple[Kind, ...] = (
    NAMESPACES,
    PODS,
    BINDINGS,
    ACCESS_REVIEWS,
    RULES_REVIEWS,
    EVENTS,
    SERVICE_ACCOUNTS,
    NODES,
    _built_in("v1 ConfigMap cm"),
    _built_in("v1 Secret", selectable=("type",)),
    _built_in(
        "v1 Service svc",
        categories=("all",),
        subresources=("status",),
        returns_deleted=True,
        selectable=("spec.clusterIP", "spec.type"),
    ),
    _built_in("v1 PersistentVolume pv", **_GLOBAL, subresources=("status",), returns_deleted=True),
    _built_in("v1 PersistentVolumeClaim pvc", subresources=("status",), returns_deleted=True),
    _built_in("apps/v1 ReplicaSet rs", **_SCALED, selectable=("status.replicas",)),
    _built_in("apps/v1 Deployment deploy", **_SCALED),
    _built_in("apps/v1 StatefulSet sts", **_SCALED),
    _built_in("apps/v1 DaemonSet ds", **_WORKLOAD),
    _built_in("batch/v1 Job", **_WORKLOAD, orphans_by_default=True, selectable=("status.successful",)),
    _built_in("batch/v1 CronJob cj", **_WORKLOAD),
    CUSTOM_RESOURCE_DEFINITIONS,
    _built_in("coordination.k8s.io/v1 Lease", creates_on_update=True, unconditional_update=False),
    NEW_EVENTS,
    _built_in("networking.k8s.io/v1 NetworkPolicy netpol", counts_generation=True),
    POD_DISRUPTION_BUDGETS,
    _built_in("rbac.authorization.k8s.io/v1 ClusterRole", **_GLOBAL),
    _built_in("rbac.authorization.k8s.io/v1 ClusterRoleBinding", **_GLOBAL),
    _built_in("rbac.authorization.k8s.io/v1 Role"),
    _built_in("rbac.authorization.k8s.io/v1 RoleBinding"),
    PRIORITY_CLASSES,
    _built_in("storage.k8s.io/v1 StorageClass sc", **_GLOBAL),
)

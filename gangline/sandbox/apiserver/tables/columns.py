"""Columns of the server-side tables of built-in kinds, as data: a JSONPath or a cell of `cells`."""

from typing import Final

from gangline.sandbox.apiserver.kinds import Column, Kind
from gangline.sandbox.apiserver.tables import cells

_NAME: Final = Column("Name", "string", ".metadata.name", format="name")
_AGE: Final = Column("Age", "string", cells.age)
_WIDE_TEMPLATE: Final = (
    Column("Containers", "string", cells.of_containers("name"), 1),
    Column("Images", "string", cells.of_containers("image"), 1),
    Column("Selector", "string", cells.selector, 1),
)
_PLAIN: Final = (_NAME, _AGE)
_ROLE: Final = (_NAME, Column("Created At", "date", cells.created_at))
_BINDING: Final = (
    _NAME,
    Column("Role", "string", cells.granted),
    _AGE,
    Column("Users", "string", cells.subjects("User"), 1),
    Column("Groups", "string", cells.subjects("Group"), 1),
    Column("ServiceAccounts", "string", cells.subjects("ServiceAccount"), 1),
)

_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "pods": (
        _NAME,
        Column("Ready", "string", cells.pod_ready),
        Column("Status", "string", cells.pod_status),
        Column("Restarts", "string", cells.pod_restarts),
        _AGE,
        Column("IP", "string", ".status.podIP|<none>", 1),
        Column("Node", "string", ".spec.nodeName|<none>", 1),
        Column("Nominated Node", "string", ".status.nominatedNodeName|<none>", 1),
        Column("Readiness Gates", "string", cells.readiness_gates, 1),
    ),
    "nodes": (
        _NAME,
        Column("Status", "string", cells.node_status),
        Column("Roles", "string", cells.node_roles),
        _AGE,
        Column("Version", "string", ".status.nodeInfo.kubeletVersion"),
        Column("Internal-IP", "string", ".status.addresses[?(@.type=='InternalIP')].address|<none>", 1),
        Column("External-IP", "string", ".status.addresses[?(@.type=='ExternalIP')].address|<none>", 1),
        Column("OS-Image", "string", ".status.nodeInfo.osImage|<unknown>", 1),
        Column("Kernel-Version", "string", ".status.nodeInfo.kernelVersion|<unknown>", 1),
        Column("Container-Runtime", "string", ".status.nodeInfo.containerRuntimeVersion|<unknown>", 1),
    ),
    "services": (
        _NAME,
        Column("Type", "string", ".spec.type"),
        Column("Cluster-IP", "string", ".spec.clusterIP|<none>"),
        Column("External-IP", "string", ".spec.externalName|<none>"),
        Column("Port(s)", "string", cells.service_ports),
        _AGE,
        Column("Selector", "string", cells.service_selector, 1),
    ),
    "namespaces": (_NAME, Column("Status", "string", ".status.phase"), _AGE),
    "configmaps": (_NAME, Column("Data", "string", cells.data_count), _AGE),
    "secrets": (
        _NAME,
        Column("Type", "string", ".type"),
        Column("Data", "string", cells.data_count),
        _AGE,
    ),
    "events": (
        Column("Last Seen", "string", cells.event_last_seen),
        Column("Type", "string", ".type"),
        Column("Reason", "string", ".reason"),
        Column("Object", "string", cells.event_object),
        Column("Subobject", "string", ".involvedObject.fieldPath", 1),
        Column("Source", "string", cells.event_source, 1),
        Column("Message", "string", cells.event_message),
        Column("First Seen", "string", cells.event_first_seen, 1),
        Column("Count", "string", cells.event_count, 1),
        Column("Name", "string", ".metadata.name", 1, format="name"),
    ),
    "replicasets": (
        _NAME,
        Column("Desired", "integer", ".spec.replicas|0"),
        Column("Current", "integer", ".status.replicas|0"),
        Column("Ready", "integer", ".status.readyReplicas|0"),
        _AGE,
        *_WIDE_TEMPLATE,
    ),
    "deployments": (
        _NAME,
        Column("Ready", "string", cells.ready_of_desired),
        Column("Up-to-date", "string", cells.status_count("updatedReplicas")),
        Column("Available", "string", cells.status_count("availableReplicas")),
        _AGE,
        *_WIDE_TEMPLATE,
    ),
    "statefulsets": (
        _NAME,
        Column("Ready", "string", cells.ready_of_desired),
        _AGE,
        *_WIDE_TEMPLATE[:2],
    ),
    "jobs": (
        _NAME,
        Column("Status", "string", cells.job_status),
        Column("Completions", "string", cells.job_completions),
        Column("Duration", "string", cells.job_duration),
        _AGE,
        *_WIDE_TEMPLATE,
    ),
    "cronjobs": (
        _NAME,
        Column("Schedule", "string", ".spec.schedule"),
        Column("Timezone", "string", ".spec.timeZone|<none>"),
        Column("Suspend", "string", cells.cronjob_suspended),
        Column("Active", "integer", cells.cronjob_active),
        Column("Last Schedule", "string", cells.cronjob_last),
        _AGE,
        *_WIDE_TEMPLATE,
    ),
    "daemonsets": (
        _NAME,
        Column("Desired", "integer", ".status.desiredNumberScheduled|0"),
        Column("Current", "integer", ".status.currentNumberScheduled|0"),
        Column("Ready", "integer", ".status.numberReady|0"),
        Column("Up-to-date", "integer", ".status.updatedNumberScheduled|0"),
        Column("Available", "integer", ".status.numberAvailable|0"),
        Column("Node Selector", "string", cells.node_selector),
        _AGE,
        *_WIDE_TEMPLATE,
    ),
    "roles": _ROLE,
    "clusterroles": _ROLE,
    "rolebindings": _BINDING,
    "clusterrolebindings": _BINDING,
    "networkpolicies": (_NAME, Column("Pod-Selector", "string", cells.policy_selector), _AGE),
    "leases": (_NAME, Column("Holder", "string", ".spec.holderIdentity"), _AGE),
    "priorityclasses": (
        _NAME,
        Column("Value", "integer", ".value"),
        Column("Global-Default", "boolean", ".globalDefault|false"),
        _AGE,
        Column("PreemptionPolicy", "string", ".preemptionPolicy"),
    ),
    "poddisruptionbudgets": (
        _NAME,
        Column("Min Available", "string", ".spec.minAvailable|N/A"),
        Column("Max Unavailable", "string", ".spec.maxUnavailable|N/A"),
        Column("Allowed Disruptions", "integer", ".status.disruptionsAllowed|0"),
        _AGE,
    ),
    "customresourcedefinitions": (
        _NAME,
        Column("Scope", "string", ".spec.scope"),
        Column("Versions", "string", cells.definition_versions),
        Column("Created At", "date", cells.created_at),
        Column("Group", "string", ".spec.group", 1),
        Column("Kind", "string", ".spec.names.kind", 1),
        Column("ShortNames", "string", cells.definition_short_names, 1),
        Column("Established", "boolean", cells.definition_established, 1),
    ),
}


def columns_of(kind: Kind) -> tuple[Column, ...]:
    """Return the columns of a kind; the name comes first in custom ones as well."""
    if kind.custom:
        return (_NAME, *kind.columns)
    return _COLUMNS.get(kind.plural, _PLAIN)

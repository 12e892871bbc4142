"""Columns of the server-side tables of built-in kinds, as data: a JSONPath (starts with a dot) or a name in `cells`.

A `|` after a JSONPath gives what stands there when nothing is found.
"""

from typing import Final

from gangline.sandbox.kinds import Column, GroupResource, Kind

_NAME: Final = Column("Name", "string", ".metadata.name", format="name")
_AGE: Final = Column("Age", "string", "age")
_WIDE_TEMPLATE: Final = (
    Column("Containers", "string", "containers", 1),
    Column("Images", "string", "images", 1),
    Column("Selector", "string", "selector", 1),
)
_PLAIN: Final = (_NAME, Column("Age", "string", "age"))

_COLUMNS: Final[dict[GroupResource, tuple[Column, ...]]] = {
    GroupResource("", "pods"): (
        _NAME,
        Column("Ready", "string", "pod-ready"),
        Column("Status", "string", "pod-status"),
        Column("Restarts", "string", "pod-restarts"),
        _AGE,
        Column("IP", "string", ".status.podIP|<none>", 1),
        Column("Node", "string", ".spec.nodeName|<none>", 1),
        Column("Nominated Node", "string", ".status.nominatedNodeName|<none>", 1),
        Column("Readiness Gates", "string", "readiness-gates", 1),
    ),
    GroupResource("", "nodes"): (
        _NAME,
        Column("Status", "string", "node-status"),
        Column("Roles", "string", "node-roles"),
        _AGE,
        Column("Version", "string", ".status.nodeInfo.kubeletVersion"),
        Column("Internal-IP", "string", "internal-ip", 1),
        Column("External-IP", "string", "external-ip", 1),
        Column("OS-Image", "string", ".status.nodeInfo.osImage|<unknown>", 1),
        Column("Kernel-Version", "string", ".status.nodeInfo.kernelVersion|<unknown>", 1),
        Column("Container-Runtime", "string", ".status.nodeInfo.containerRuntimeVersion|<unknown>", 1),
    ),
    GroupResource("", "services"): (
        _NAME,
        Column("Type", "string", ".spec.type"),
        Column("Cluster-IP", "string", ".spec.clusterIP|<none>"),
        Column("External-IP", "string", ".spec.externalName|<none>"),
        Column("Port(s)", "string", "service-ports"),
        _AGE,
        Column("Selector", "string", "service-selector", 1),
    ),
    GroupResource("", "serviceaccounts"): (_NAME, _AGE),
    GroupResource("", "namespaces"): (_NAME, Column("Status", "string", ".status.phase"), _AGE),
    GroupResource("", "configmaps"): (_NAME, Column("Data", "string", "data-count"), _AGE),
    GroupResource("", "secrets"): (
        _NAME,
        Column("Type", "string", ".type"),
        Column("Data", "string", "data-count"),
        _AGE,
    ),
    GroupResource("", "events"): (
        Column("Last Seen", "string", "event-last-seen"),
        Column("Type", "string", ".type"),
        Column("Reason", "string", ".reason"),
        Column("Object", "string", "event-object"),
        Column("Subobject", "string", ".involvedObject.fieldPath", 1),
        Column("Source", "string", "event-source", 1),
        Column("Message", "string", "event-message"),
        Column("First Seen", "string", "event-first-seen", 1),
        Column("Count", "string", "event-count", 1),
        Column("Name", "string", ".metadata.name", 1, format="name"),
    ),
    GroupResource("apps", "replicasets"): (
        _NAME,
        Column("Desired", "integer", ".spec.replicas|0"),
        Column("Current", "integer", ".status.replicas|0"),
        Column("Ready", "integer", ".status.readyReplicas|0"),
        _AGE,
        *_WIDE_TEMPLATE,
    ),
    GroupResource("apps", "deployments"): (
        _NAME,
        Column("Ready", "string", "ready-of-desired"),
        Column("Up-to-date", "string", "updated-replicas"),
        Column("Available", "string", "available-replicas"),
        _AGE,
        *_WIDE_TEMPLATE,
    ),
    GroupResource("apps", "statefulsets"): (
        _NAME,
        Column("Ready", "string", "ready-of-desired"),
        _AGE,
        *_WIDE_TEMPLATE[:2],
    ),
    GroupResource("batch", "jobs"): (
        _NAME,
        Column("Status", "string", "job-status"),
        Column("Completions", "string", "job-completions"),
        Column("Duration", "string", "job-duration"),
        _AGE,
        *_WIDE_TEMPLATE,
    ),
    GroupResource("batch", "cronjobs"): (
        _NAME,
        Column("Schedule", "string", ".spec.schedule"),
        Column("Timezone", "string", ".spec.timeZone|<none>"),
        Column("Suspend", "string", "cronjob-suspend"),
        Column("Active", "integer", "cronjob-active"),
        Column("Last Schedule", "string", "cronjob-last"),
        _AGE,
    ),
    GroupResource("coordination.k8s.io", "leases"): (_NAME, Column("Holder", "string", ".spec.holderIdentity"), _AGE),
    GroupResource("scheduling.k8s.io", "priorityclasses"): (
        _NAME,
        Column("Value", "integer", ".value"),
        Column("Global-Default", "boolean", ".globalDefault|false"),
        _AGE,
        Column("PreemptionPolicy", "string", ".preemptionPolicy"),
    ),
    GroupResource("policy", "poddisruptionbudgets"): (
        _NAME,
        Column("Min Available", "string", ".spec.minAvailable|N/A"),
        Column("Max Unavailable", "string", ".spec.maxUnavailable|N/A"),
        Column("Allowed Disruptions", "integer", ".status.disruptionsAllowed|0"),
        _AGE,
    ),
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): (
        _NAME,
        Column("Scope", "string", ".spec.scope"),
        Column("Versions", "string", "definition-versions"),
        Column("Created At", "date", ".metadata.creationTimestamp"),
        Column("Group", "string", ".spec.group", 1),
        Column("Kind", "string", ".spec.names.kind", 1),
        Column("ShortNames", "string", "definition-short-names", 1),
        Column("Established", "boolean", "definition-established", 1),
    ),
}


def columns_of(kind: Kind) -> tuple[Column, ...]:
    """Return the columns of a kind; the name comes first in custom ones as well."""
    if kind.custom:
        return (_NAME, *kind.columns)
    return _COLUMNS.get(kind.resource, _PLAIN)

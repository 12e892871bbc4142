"""The kinds of objects that we talk about with the API server, and their paths."""

from typing import Final
from urllib.parse import quote

from msgspec import Struct


class Resource(Struct, frozen=True):
    """A kind of object as the API server serves it; `group` is empty for the core group.

    A `custom` one has a CustomResourceDefinition, whose schema may be replaced while objects exist.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    custom: bool = False

    @property
    def api_version(self) -> str:
        """`apiVersion` as objects of the kind carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Path of one object, of a subresource, or (without a name) of the collection.

        A namespaced kind without a namespace is the collection over all namespaces.
        """
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/" + "/".join(quote(part, safe="") for part in parts)


PODS: Final = Resource("", "v1", "pods", "Pod")
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount")
POD_GROUPS: Final = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", custom=True)
PRIORITY_CLASSES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
POD_DISRUPTION_BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
JOBS: Final = Resource("batch", "v1", "jobs", "Job")
CUSTOM_RESOURCE_DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)

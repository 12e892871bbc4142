"""Which Struct stands for which kind."""

from collections.abc import Mapping
from typing import Any, Final

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
from gangline.sandbox.objects.apps import Deployment, ReplicaSet, StatefulSet
from gangline.sandbox.objects.batch import CronJob, Job
from gangline.sandbox.objects.core import Definition, Lease, Namespace, RunNode, RunPod, ServiceAccount
from gangline.sandbox.objects.policy import Budget

RESOURCES: Final[Mapping[type[Any], Resource]] = {
    RunPod: PODS,
    RunNode: NODES,
    Lease: LEASES,
    Namespace: NAMESPACES,
    ServiceAccount: SERVICE_ACCOUNTS,
    ReplicaSet: REPLICA_SETS,
    Deployment: DEPLOYMENTS,
    StatefulSet: Resource("apps", "v1", "statefulsets", "StatefulSet"),
    Job: JOBS,
    CronJob: Resource("batch", "v1", "cronjobs", "CronJob"),
    Budget: POD_DISRUPTION_BUDGETS,
    Definition: CUSTOM_RESOURCE_DEFINITIONS,
}
"""The kinds of which kubelets and controllers read every object, by the Struct that says how much of it."""

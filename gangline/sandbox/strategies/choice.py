"""Which kind has which strategy."""

from gangline.sandbox.kinds import (
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    NAMESPACES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    GroupResource,
    Kind,
)
from gangline.sandbox.strategies import definitions, events, namespaces, nodes, pods, policies, services, workloads
from gangline.sandbox.strategies.strategy import GENERIC, Strategy

_STRATEGIES = {
    PODS.resource: pods.STRATEGY,
    GroupResource("", "nodes"): nodes.STRATEGY,
    EVENTS.resource: events.STRATEGY,
    NAMESPACES.resource: namespaces.STRATEGY,
    PRIORITY_CLASSES.resource: policies.PRIORITY_CLASS,
    POD_DISRUPTION_BUDGETS.resource: policies.DISRUPTION_BUDGET,
    CUSTOM_RESOURCE_DEFINITIONS.resource: definitions.STRATEGY,
    **{
        GroupResource("apps", plural): workloads.WORKLOAD
        for plural in ("replicasets", "deployments", "statefulsets", "daemonsets")
    },
    GroupResource("coordination.k8s.io", "leases"): policies.LEASE,
    GroupResource("", "services"): services.STRATEGY,
    GroupResource("", "configmaps"): policies.CONFIG_MAP,
    GroupResource("", "secrets"): policies.SECRET,
    GroupResource("batch", "jobs"): workloads.JOB,
}


def strategy_of(kind: Kind) -> Strategy:
    """Return the kind's strategy; the generic one does nothing of its own."""
    return _STRATEGIES.get(kind.resource, GENERIC)

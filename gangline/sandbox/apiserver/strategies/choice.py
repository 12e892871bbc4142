"""Which kind has which strategy."""

from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.strategies import (
    definitions,
    events,
    namespaces,
    nodes,
    pods,
    policies,
    services,
    workloads,
)
from gangline.sandbox.apiserver.strategies.strategy import GENERIC, Strategy

_STRATEGIES = {
    "pods": pods.STRATEGY,
    "nodes": nodes.STRATEGY,
    "events": events.STRATEGY,
    "namespaces": namespaces.STRATEGY,
    "priorityclasses": policies.PRIORITY_CLASS,
    "poddisruptionbudgets": policies.DISRUPTION_BUDGET,
    "customresourcedefinitions": definitions.STRATEGY,
    **dict.fromkeys(("replicasets", "deployments", "statefulsets", "daemonsets"), workloads.WORKLOAD),
    "services": services.STRATEGY,
    "secrets": policies.SECRET,
    "jobs": workloads.JOB,
    "cronjobs": workloads.CRON_JOB,
}


def strategy_of(kind: Kind) -> Strategy:
    """Return the kind's strategy; the generic one does nothing of its own."""
    return GENERIC if kind.custom else _STRATEGIES.get(kind.plural, GENERIC)

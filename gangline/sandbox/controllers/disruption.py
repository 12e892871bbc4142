"""Disruption budgets: how many pods may be evicted now (kube-controller-manager disruption)."""

import math
from datetime import datetime

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.contract.policy import PodDisruptionBudget
from gangline.contract.selectors import label_selector_matches
from gangline.kube.wire.resources import POD_DISRUPTION_BUDGETS
from gangline.sandbox.actions import Decision, Patch
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers.pods import is_active, ready_since
from gangline.sandbox.objects import Meta, RunPod, wire


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
    """A budget with its status."""

    metadata: Meta = Meta()
    status: BudgetStatus = BudgetStatus()


class Budgets:
    """Decides for every budget."""

    def __init__(self, budgets: Cache[Budget], pods: Cache[RunPod]) -> None:
        self._budgets = budgets
        self._pods = pods

    def decide(self, key: Key, _now: datetime) -> Decision:
        """Say what the status is."""
        budget = self._budgets.get(key)
        if budget is None or budget.metadata.deletion_timestamp:
            return Decision()
        matching = [
            pod
            for pod in self._pods.in_namespace(key.namespace)
            if label_selector_matches(budget.spec.selector, pod.metadata.labels)
        ]
        status = _status(budget, [pod for pod in matching if is_active(pod)])
        if status == budget.status:
            return Decision()
        gone = dict.fromkeys(set(budget.status.disrupted_pods or {}) - set(status.disrupted_pods or {}))
        changed = wire(status) | ({"disruptedPods": gone} if gone else {})
        body = {"metadata": {"resourceVersion": budget.metadata.resource_version}, "status": changed}
        patch = Patch(resource=POD_DISRUPTION_BUDGETS, key=key, body=body, subresource="status")
        return Decision(actions=(patch,))


def _status(budget: Budget, pods: list[RunPod]) -> BudgetStatus:
    names = {pod.metadata.name for pod in pods}
    disrupted = {name: at for name, at in (budget.status.disrupted_pods or {}).items() if name in names}
    healthy = sum(ready_since(pod) is not None and pod.metadata.name not in disrupted for pod in pods)
    desired = _desired(budget, len(pods))
    return BudgetStatus(
        current_healthy=healthy,
        desired_healthy=desired,
        disruptions_allowed=max(healthy - desired, 0),
        expected_pods=len(pods),
        observed_generation=budget.metadata.generation or 0,
        disrupted_pods=disrupted or None,
    )


def _desired(budget: Budget, expected: int) -> int:
    """Pods that must stay healthy; percentages are of the pods that exist, rounded up."""
    if budget.spec.max_unavailable is not None:
        return max(expected - _resolve(budget.spec.max_unavailable, expected), 0)
    return 0 if budget.spec.min_available is None else _resolve(budget.spec.min_available, expected)


def _resolve(value: int | str, expected: int) -> int:
    return value if isinstance(value, int) else math.ceil(int(value.removesuffix("%")) * expected / 100)

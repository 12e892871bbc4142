"""Disruption budgets: how many pods may be evicted now (kube-controller-manager disruption)."""

import math
from collections.abc import Iterable

from gangline.contract.meta import Key
from gangline.contract.selectors import label_selector_matches
from gangline.sandbox.controllers.pods import is_active
from gangline.sandbox.controllers.rollout import resolved
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.podstate import ready_since
from gangline.sandbox.objects.policy import Budget, BudgetStatus
from gangline.sandbox.reconciling.actions import Decision, Note, set_status
from gangline.sandbox.reconciling.world import World

SHOWN_ZEROS = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods", "observedGeneration")
NO_PODS = Note("NoPods", "No matching pods found")


def decide(budget: Budget, world: World) -> Decision:
    """Say what the status is."""
    if budget.metadata.deletion_timestamp:
        return Decision()
    pods = [
        pod
        for pod in world.all(RunPod).in_namespace(budget.metadata.namespace)
        if is_active(pod) and label_selector_matches(budget.spec.selector, pod.metadata.labels)
    ]
    status = _status(budget, pods)
    disrupted = dict.fromkeys(budget.status.disrupted_pods or {}) | (status.disrupted_pods or {})
    written = set_status(budget, status, *SHOWN_ZEROS, disruptedPods=disrupted or None)
    return Decision(actions=written, notes=(NO_PODS,) if written and not pods else ())


def wake_budgets_of(world: World, pod: RunPod) -> Iterable[Key]:
    """Name the budgets that select a pod."""
    for budget in world.all(Budget).in_namespace(pod.metadata.namespace):
        if label_selector_matches(budget.spec.selector, pod.metadata.labels):
            yield budget.metadata.key


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
        return max(expected - resolved(budget.spec.max_unavailable, expected, math.ceil), 0)
    return 0 if budget.spec.min_available is None else resolved(budget.spec.min_available, expected, math.ceil)

"""Evictions: a deletion that asks the pod's disruption budget first (`registry/core/pod/storage/eviction.go`).

The budget's status is a controller's to write; without one, every budget refuses.
"""

from collections.abc import Iterator

from msgspec import convert

from gangline.contract.policy import LabelSelector
from gangline.contract.selectors import label_selector_matches
from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import POD_DISRUPTION_BUDGETS
from gangline.sandbox.apiserver.store import Change, Object, Version
from gangline.sandbox.apiserver.strategies.podtemplates import pod_condition, with_condition
from gangline.sandbox.apiserver.strategies.strategy import ClusterState

_REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget."


def ask_budgets(state: ClusterState, pod: Object, *, dry_run: bool) -> None:
    """Charge the eviction to the pod's budget, or raise 429 or 500.

    Pods that do not run need no leave, nor do those that are not ready, if the budget's policy says so.
    """
    metadata, status = pod["metadata"], pod.get("status") or {}
    if status.get("phase") in ("Succeeded", "Failed", "Pending") or metadata.get("deletionTimestamp"):
        return
    budgets = list(_budgets_of(state, metadata))
    if len(budgets) > 1:
        raise failures.internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    if budgets and not (_is_unready(status) and _spares_unready(budgets[0].object)):
        _charge(state, budgets[0], metadata["name"], dry_run=dry_run)


def _is_unready(status: Object) -> bool:
    """Whether a pod's status lacks the condition Ready."""
    conditions = status.get("conditions") or ()
    return not any((each.get("type"), each.get("status")) == ("Ready", "True") for each in conditions)


def _spares_unready(budget: Object) -> bool:
    """Whether the budget lets pods go that are not ready: always, or (the default) while enough others are."""
    status = budget.get("status") or {}
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired = status.get("desiredHealthy", 0)
    return bool(0 < desired <= status.get("currentHealthy", 0))


def _budgets_of(state: ClusterState, metadata: Object) -> Iterator[Version]:
    for version in state.store.current(POD_DISRUPTION_BUDGETS.resource, metadata["namespace"]):
        selector = convert((version.object.get("spec") or {}).get("selector"), LabelSelector | None)
        if label_selector_matches(selector, metadata.get("labels")):
            yield version


def _charge(state: ClusterState, version: Version, pod_name: str, *, dry_run: bool) -> None:
    budget = version.object
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        message = f"The disruption budget {name} is still being processed by the server."
        raise failures.Failure(429, _REFUSAL, retry_after_s=10, causes=[Cause("DisruptionBudget", message, "")])
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        wanted, found = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        message = f"The disruption budget {name} needs {wanted} healthy pods and has {found} currently"
        if found > wanted:
            message = f"The disruption budget {name} does not allow evicting pods currently"
        raise failures.Failure(429, _REFUSAL, details={}, causes=[Cause("DisruptionBudget", message, "")])
    if dry_run:
        return
    disrupted = {**(status.get("disruptedPods") or {}), pod_name: state.timestamp()}
    charged = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    state.store.commit(Change.MODIFIED, version.resource, version.key, {**budget, "status": charged})


def announce(state: ClusterState, version: Version) -> None:
    """Say on the pod that it is evicted, before it is deleted."""
    condition = pod_condition(
        "DisruptionTarget", "True", state.timestamp(), reason="EvictionByEvictionAPI", message="Eviction API: evicting"
    )
    new = {**version.object, "status": with_condition(version.object, condition)}
    state.store.commit(Change.MODIFIED, version.resource, version.key, new)

"""PodDisruptionBudgets with their status."""

from msgspec import Struct

from gangline.contract.policy import PodDisruptionBudget
from gangline.sandbox.objects.meta import Meta


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
    """A PodDisruptionBudget with its status."""

    metadata: Meta = Meta()
    status: BudgetStatus = BudgetStatus()

"""PriorityClass and PodDisruptionBudget, as partial Structs."""

from msgspec import Struct

from gangline.contract.meta import ObjectMeta


class PriorityClass(Struct, frozen=True, kw_only=True, rename="camel"):
    """A named priority."""

    metadata: ObjectMeta = ObjectMeta()
    value: int | None = None


class LabelSelectorRequirement(Struct, frozen=True, kw_only=True, rename="camel"):
    """One requirement of a label selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Struct, frozen=True, kw_only=True, rename="camel"):
    """A label selector: absent matches nothing, empty matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None


class PodDisruptionBudgetSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """A budget: `minAvailable` and `maxUnavailable` are each a count, a percentage or absent."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None


class PodDisruptionBudget(Struct, frozen=True, kw_only=True, rename="camel"):
    """A disruption budget; kube-batch's oldest way to name a gang."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()

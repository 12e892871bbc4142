"""PriorityClass and PodDisruptionBudget, as partial Structs."""

from typing import Any

from msgspec import Struct

from gangline.contract.meta import ApiObject, Int64, OrDefault


class PriorityClass(ApiObject, frozen=True, kw_only=True, rename="camel"):
    """A named priority."""

    value: Int64 | None = None


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
    """A budget: a count, a percentage or nothing; read by `membership.gang_budget`, which trusts no form of it."""

    min_available: Any = None
    max_unavailable: Any = None
    selector: LabelSelector | None = None


class PodDisruptionBudget(ApiObject, frozen=True, kw_only=True, rename="camel"):
    """A disruption budget; kube-batch's oldest way to name a gang."""

    spec: OrDefault[PodDisruptionBudgetSpec] = PodDisruptionBudgetSpec()

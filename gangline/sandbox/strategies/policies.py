"""PriorityClasses and PodDisruptionBudgets: the rules beyond their shapes."""

from gangline.sandbox.failures import Cause
from gangline.sandbox.strategies.strategy import Strategy, Write

_HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def _prepare_priority_class(write: Write) -> None:
    write.new.setdefault("value", 0)


def _broken_priority_class_rules(write: Write) -> list[Cause]:
    name, value = write.new["metadata"]["name"], write.new["value"]
    if write.old is not None:
        fields = ("value", "preemptionPolicy")
        changed = [field for field in fields if write.new.get(field) != write.old.get(field)]
        return [Cause.forbidden(field, "may not be changed in an update.") for field in changed]
    if name.startswith("system-") and SYSTEM_PRIORITIES.get(name) != value:
        detail = "priority class names with 'system-' prefix are reserved for system use only"
        return [Cause.forbidden("metadata.name", detail)]
    if value > _HIGHEST_USER_PRIORITY and name not in SYSTEM_PRIORITIES:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        return [Cause.forbidden("value", detail)]
    return []


def _broken_budget_rules(write: Write) -> list[Cause]:
    spec = write.new.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        return [Cause.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")]
    return []


PRIORITY_CLASS = Strategy(prepare=_prepare_priority_class, validate=_broken_priority_class_rules)
DISRUPTION_BUDGET = Strategy(validate=_broken_budget_rules)

"""PriorityClasses, PodDisruptionBudgets and Secrets: what is beyond their shapes."""

import re
from base64 import b64encode
from collections.abc import Iterator

from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.strategies.strategy import Strategy, Write

_HIGHEST_USER_PRIORITY = 1_000_000_000
_PERCENTAGE_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def _broken_priority_class_rules(write: Write) -> Iterator[Cause]:
    name, value = write.new["metadata"]["name"], write.new["value"]
    if write.old is not None:
        for field in ("value", "preemptionPolicy"):
            if write.new.get(field) != write.old.get(field):
                yield Cause.forbidden(field, "may not be changed in an update.")
    elif name.startswith("system-") and SYSTEM_PRIORITIES.get(name) != value:
        reserved = "priority class names with 'system-' prefix are reserved for system use only."
        yield Cause.forbidden("metadata.name", f"{reserved} error: {name} is not a known system priority class")
    elif value > _HIGHEST_USER_PRIORITY and name not in SYSTEM_PRIORITIES:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        yield Cause.forbidden("value", detail)


def _broken_budget_rules(write: Write) -> Iterator[Cause]:
    spec = write.new.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield Cause.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        yield from _share_problems(spec.get(field), f"spec.{field}")


def _share_problems(share: int | str | None, path: str) -> Iterator[Cause]:
    """Check a number of pods, or a percentage of them."""
    match share:
        case int() if share < 0:
            yield Cause.invalid(path, share, "must be greater than or equal to 0")
        case str() if not re.fullmatch("[0-9]+%", share):
            yield Cause.invalid(path, share, _PERCENTAGE_RULE)
        case str() if int(share[:-1]) > 100:
            yield Cause.invalid(path, share, "must not be greater than 100%")


def _prepare_secret(write: Write) -> None:
    texts = write.new.pop("stringData", None) or {}
    if texts:
        encoded = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
        write.new["data"] = {**(write.new.get("data") or {}), **encoded}


PRIORITY_CLASS = Strategy(validate=_broken_priority_class_rules)
SECRET = Strategy(prepare=_prepare_secret)
DISRUPTION_BUDGET = Strategy(validate=_broken_budget_rules)

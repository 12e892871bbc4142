"""What a pod may be and what may change in it: the important part of kube-apiserver's pod validation."""

from collections.abc import Iterator
from typing import Any

from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.schema.metadata import dns_label_problems, label_problems, subdomain_problems
from gangline.sandbox.apiserver.schema.quantities import UNIT, nano_units
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.strategies.strategy import Write

_IMMUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")


def broken_rules(write: Write) -> Iterator[Cause]:
    """Name what is wrong with a new pod, or with a change of one."""
    spec = write.new.get("spec") or {}
    if write.old is None:
        return spec_problems(spec, "spec")
    return _change_problems(spec, write.old.get("spec") or {})


def spec_problems(spec: Object, path: str) -> Iterator[Cause]:
    """Check a pod's spec, or a template's."""
    names: set[str] = set()
    if not spec.get("containers"):
        yield Cause.required(f"{path}.containers")
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield from _container_problems(container, f"{path}.{field}[{index}]", names)
    if spec.get("nodeName"):
        yield from subdomain_problems(spec["nodeName"], f"{path}.nodeName")
    yield from label_problems(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration_problems(toleration, f"{path}.tolerations[{index}]")
    if spec.get("schedulingGates") and spec.get("nodeName"):
        yield Cause.forbidden(f"{path}.nodeName", "cannot be set until all schedulingGates have been cleared")
    if "resources" in spec:
        yield from _resource_problems(spec["resources"], f"{path}.resources")
    for name, amount in (spec.get("overhead") or {}).items():
        yield from _amount_problems(name, amount, f"{path}.overhead[{name}]")


def _container_problems(container: Object, path: str, names: set[str]) -> Iterator[Cause]:
    name = container.get("name") or ""
    if name:
        yield from dns_label_problems(name, f"{path}.name")
    if name in names:
        yield Cause.duplicate(f"{path}.name", name)
    names.add(name)
    if not container.get("image"):
        yield Cause.required(f"{path}.image")
    yield from _resource_problems(container.get("resources") or {}, f"{path}.resources")


def _resource_problems(resources: Object, path: str) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            yield from _amount_problems(name, amount, f"{path}.{field}[{name}]")
    for name, amount in requests.items():
        limit = limits.get(name)
        if "/" in name and limit is None:
            yield Cause.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif limit is None:
            continue
        elif "/" in name and nano_units(amount) != nano_units(limit):
            yield Cause.invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limit}")
        elif nano_units(amount) > nano_units(limit):
            yield Cause.invalid(f"{path}.requests", amount, f"must be less than or equal to {name} limit of {limit}")


def _amount_problems(name: str, amount: str, path: str) -> Iterator[Cause]:
    value = nano_units(amount)
    if "/" not in name and name not in _PLAIN_RESOURCES and not name.startswith("hugepages-"):
        yield Cause.invalid(path, name, "must be a standard resource type or fully qualified")
        yield Cause.invalid(path, name, "must be a standard resource for containers")
    if value < 0:
        yield Cause.invalid(path, amount, "must be greater than or equal to 0")
    elif "/" in name and value % UNIT:
        yield Cause.invalid(path, amount, "must be an integer")


def _toleration_problems(toleration: Object, path: str) -> Iterator[Cause]:
    operator = toleration.get("operator") or "Equal"
    if not toleration.get("key") and operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield Cause.invalid(f"{path}.operator", operator, detail)
    if operator == "Exists" and toleration.get("value"):
        detail = "value must be empty when `operator` is 'Exists'"
        yield Cause.invalid(f"{path}.operator", toleration["value"], detail)
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield Cause.invalid(f"{path}.effect", toleration.get("effect", ""), detail)


def _change_problems(new: Object, old: Object) -> Iterator[Cause]:
    if not new.get("containers"):
        yield Cause.required("spec.containers")
        yield Cause.forbidden("spec.containers", "pod updates may not add or remove containers")
        return
    if old.get("activeDeadlineSeconds") and new.get("activeDeadlineSeconds") is None:
        detail = "must not update from a positive integer to nil value"
        yield Cause.invalid("spec.activeDeadlineSeconds", None, detail)
    gates = [gate.get("name") for gate in old.get("schedulingGates") or ()]
    for index, gate in enumerate(new.get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield Cause.forbidden(f"spec.schedulingGates[{index}].name", detail)
    tolerations = new.get("tolerations") or []
    if any(toleration not in tolerations for toleration in old.get("tolerations") or ()):
        yield Cause.forbidden(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )
    if _fixed(new, is_gated=bool(gates)) != _fixed(old, is_gated=bool(gates)):
        yield Cause.forbidden("spec", _IMMUTABLE)


def _fixed(spec: Object, *, is_gated: bool) -> dict[str, Any]:
    """Return the part of a spec that an update must leave as it is."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    if is_gated:
        free |= {"nodeSelector", "affinity"}
    if (spec.get("terminationGracePeriodSeconds") or 0) in (1, -1):
        free.add("terminationGracePeriodSeconds")
    fixed = {key: value for key, value in spec.items() if key not in free}
    for field in ("containers", "initContainers"):
        if field in fixed:
            fixed[field] = [{**container, "image": ""} for container in fixed[field]]
    return fixed

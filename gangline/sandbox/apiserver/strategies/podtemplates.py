"""What pods and pod templates have in common: defaults that depend on other fields, and conditions."""

from typing import Any

from gangline.sandbox.apiserver.store import Object


def default_containers(spec: Object) -> None:
    """Set pull policies, requests from limits and host ports, in place."""
    for container in [*spec.get("containers", ()), *spec.get("initContainers", ())]:
        container.setdefault("imagePullPolicy", _pull_policy(container.get("image") or ""))
        resources = container.setdefault("resources", {})
        _request_limits(resources)
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort"))
    if isinstance(spec.get("resources"), dict):
        _request_limits(spec["resources"])


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    is_latest = "@" not in name and name.partition(":")[2] in ("", "latest")
    return "Always" if is_latest else "IfNotPresent"


def _request_limits(resources: dict[str, Any]) -> None:
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def pod_condition(type_: str, status: str, now: str, **why: str) -> Object:
    """Return a condition of a pod; `why` may have a reason and a message."""
    return {"type": type_, "status": status, "lastProbeTime": None, "lastTransitionTime": now, **why}


def with_condition(pod: Object, condition: Object) -> Object:
    """Return a pod's status with this condition in the place of one of its type."""
    status = pod.get("status") or {}
    others = [each for each in status.get("conditions") or () if each.get("type") != condition["type"]]
    return {**status, "conditions": [*others, condition]}

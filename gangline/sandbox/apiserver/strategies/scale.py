"""The scale subresource: the replicas of a workload, as `autoscaling/v1 Scale`."""

from typing import Any

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.tables.cells import selector_text

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(item: Object) -> Object:
    """Return the scale of an object."""
    replicas: Any = (item.get("status") or {}).get("replicas", 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: item["metadata"][field] for field in _KEPT if field in item["metadata"]},
        "spec": {"replicas": item["spec"].get("replicas", 0)},
        "status": {"replicas": replicas, "selector": selector_text(item["spec"].get("selector"))},
    }


def scaled(item: Object, scale: Object) -> Object:
    """Return the object with the replicas of a scale; it shares what does not change."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if isinstance(replicas, int) and replicas < 0:
        cause = Cause.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise failures.invalid_as("Scale", "autoscaling", item["metadata"]["name"], [cause])
    metadata = {**item["metadata"]}
    given = (scale.get("metadata") or {}).get("resourceVersion")
    if given:
        metadata["resourceVersion"] = given
    return {**item, "metadata": metadata, "spec": {**item["spec"], "replicas": replicas}}

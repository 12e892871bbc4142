"""The scale subresource: replicas of anything that has them, as `autoscaling/v1 Scale`."""

from typing import Any

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.schema import jsonpath
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.tables.cells import selector_text

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(kind: Kind, item: Object) -> Object:
    """Return the scale of an object."""
    spec_path, status_path, selector_path = kind.scale_paths or ("", "", "")
    metadata = {field: item["metadata"][field] for field in _KEPT if field in item["metadata"]}
    status: Object = {"replicas": jsonpath.first(item, status_path) or 0}
    selector = jsonpath.first(item, selector_path) if selector_path else None
    if selector:
        status["selector"] = selector if isinstance(selector, str) else selector_text(selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": jsonpath.first(item, spec_path) or 0},
        "status": status,
    }


def scaled(kind: Kind, item: Object, scale: Object) -> Object:
    """Return the object with the replicas of a scale; it shares what does not change."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if isinstance(replicas, int) and replicas < 0:
        cause = Cause.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise failures.invalid_as("Scale", "autoscaling", item["metadata"]["name"], [cause])
    path = (kind.scale_paths or ("",))[0].split(".")
    metadata = {**item["metadata"]}
    given = (scale.get("metadata") or {}).get("resourceVersion")
    if given:
        metadata["resourceVersion"] = given
    return _with({**item, "metadata": metadata}, path, replicas)


def _with(item: Object, path: list[str], value: Any) -> Object:
    step, *rest = path
    return {**item, step: _with(item.get(step) or {}, rest, value) if rest else value}

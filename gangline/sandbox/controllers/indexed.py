"""Jobs with completionMode Indexed: each index is done once, by a pod that knows its number."""

from collections.abc import Iterable
from typing import Any, Final

from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.meta import number_in

INDEXED: Final = "Indexed"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_ENVIRONMENT: Final = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}},
}


def index_of(pod: RunPod) -> int | None:
    """Read the pod's index; None if it has none."""
    return number_in(pod, COMPLETION_INDEX)


def template_for(template: dict[str, Any], job_name: str, index: int) -> dict[str, Any]:
    """Fit a template for one index: annotation, label, hostname, environment."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    marks = {
        field: {**(metadata.get(field) or {}), COMPLETION_INDEX: str(index)} for field in ("labels", "annotations")
    }
    containers = [
        {**container, "env": [*(container.get("env") or []), _ENVIRONMENT]}
        for container in spec.get("containers") or []
    ]
    return {
        "metadata": {**metadata, **marks},
        "spec": {"hostname": f"{job_name}-{index}", **spec, "containers": containers},
    }


def parse(text: str) -> set[int]:
    """Read `status.completedIndexes`: `0-2,5`."""
    indexes: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        indexes.update(range(int(first), int(last or first) + 1))
    return indexes


def render(indexes: Iterable[int]) -> str:
    """Write indexes as `status.completedIndexes` has them."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)

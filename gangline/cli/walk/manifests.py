"""The objects of the walk, as a user would write them."""

from collections.abc import Mapping
from typing import Any, Final

from gangline.contract.names import (
    API_VERSION,
    DEFAULT_SCHEDULER_NAME,
    GROUP_MIN_MEMBER_ANNOTATION,
    KIND,
    POD_GROUP_LABEL,
)
from gangline.sandbox.kubelets.podlife import RUN_SECONDS_ANNOTATION

Manifest = dict[str, Any]
NAMESPACE: Final = "default"
NAMES: Final = ("team", "shadow", "sums", "crew")
"""Of all workloads and PodGroups of the walk; also the label `app` of their pods."""
POD_CPU: Final = "3"
POD_MEMORY: Final = "500Mi"


def pod_group(name: str, *, min_member: int) -> Manifest:
    """Build a PodGroup."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"minMember": min_member},
    }


def replica_set(name: str, *, replicas: int) -> Manifest:
    """Build a ReplicaSet whose pods belong to the PodGroup of the same name."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": _template({**labels, POD_GROUP_LABEL: name}, {}),
        },
    }


def shadow_deployment(name: str, *, replicas: int) -> Manifest:
    """Build a Deployment whose pods are a gang by annotation alone."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": _template(labels, {GROUP_MIN_MEMBER_ANNOTATION: str(replicas)}),
        },
    }


def job(name: str, *, parallelism: int, completions: int, run_s: float) -> Manifest:
    """Build a Job whose pods belong to the PodGroup of the same name and end by themselves."""
    template = _template({"app": name, POD_GROUP_LABEL: name}, {RUN_SECONDS_ANNOTATION: str(run_s)})
    template["spec"]["restartPolicy"] = "Never"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"parallelism": parallelism, "completions": completions, "template": template},
    }


def _template(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Manifest:
    requests = {"cpu": POD_CPU, "memory": POD_MEMORY}
    metadata = {"labels": dict(labels)} | ({"annotations": dict(annotations)} if annotations else {})
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}
    return {"metadata": metadata, "spec": {"schedulerName": DEFAULT_SCHEDULER_NAME, "containers": [container]}}

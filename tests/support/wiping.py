"""Empties a real cluster between tests: faster than a new one, and the same to whoever comes next."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from gangline.sandbox.kubelets.nodes import KUBELET_LABEL
from tests.support.real_cluster import RealCluster
from tests.support.services import eventually

WIPE_S: Final = 120.0
# Owners before what they own, so that nothing is made anew.
NAMESPACED: Final = (
    "/apis/batch/v1/namespaces/{}/cronjobs",
    "/apis/apps/v1/namespaces/{}/deployments",
    "/apis/apps/v1/namespaces/{}/statefulsets",
    "/apis/apps/v1/namespaces/{}/daemonsets",
    "/apis/batch/v1/namespaces/{}/jobs",
    "/apis/apps/v1/namespaces/{}/replicasets",
    "/api/v1/namespaces/{}/pods",
    "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups",
    "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
)
EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/default/events"
NODES: Final = "/api/v1/nodes"
NODE_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
NAMESPACES: Final = "/api/v1/namespaces"
DEFINITION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.scheduling.x-k8s.io"
OF_KUBERNETES: Final = ("default", "kube-", "system-")
WIPE_LABEL: Final = "tests.gangline.dev/wipe"
"""Tests may delete what carries this label and, of a namespace, what is in it."""
AT_ONCE: Final = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}


async def wipe(cluster: RealCluster) -> None:
    """Delete what tests create, and wait until it is gone: namespaces, workloads, pods, PodGroups, nodes, classes."""
    others = await _foreign(cluster, NAMESPACES)
    for namespace in ("default", *others):
        for path in NAMESPACED:
            await cluster.request("DELETE", path.format(namespace), AT_ONCE)
    for name in others:
        await cluster.request("DELETE", f"{NAMESPACES}/{name}")
    for path in (NODES, NODE_LEASES):
        await cluster.request("DELETE", path, AT_ONCE)
    for name in await _foreign(cluster, PRIORITY_CLASSES):
        await cluster.request("DELETE", f"{PRIORITY_CLASSES}/{name}")

    async def is_empty() -> bool:
        for path in (*(path.format("default") for path in NAMESPACED), NODES):
            if await _names(cluster, path):
                if path.endswith("/pods"):  # made by a controller that had not heard yet
                    await cluster.request("DELETE", path, AT_ONCE)
                return False
        return not await _foreign(cluster, NAMESPACES)

    await eventually(is_empty, "the cluster is empty", WIPE_S)
    await cluster.request("DELETE", EVENTS, AT_ONCE)  # last: controllers tell of what goes


async def strangers(cluster: RealCluster) -> list[str]:
    """What wiping would take away, or tests would change, that is not ours: neither labelled nor a simulated node."""
    found = [f"node {name}" for name in await _names(cluster, NODES, _is_not_ours)]
    for kind, path in (("namespace", NAMESPACES), ("priorityclass", PRIORITY_CLASSES)):
        found += [f"{kind} {name}" for name in await _names(cluster, path, _is_not_ours) if _is_foreign(name)]
    _, body = await cluster.request("GET", f"{NAMESPACES}/default")
    if not _is_not_ours(msgspec.json.decode(body)):
        return found
    for path in NAMESPACED:
        kind = path.rpartition("/")[2]
        found += [f"{kind} default/{name}" for name in await _names(cluster, path.format("default"))]
    if (await cluster.request("GET", DEFINITION))[0] == 200:
        found.append(f"customresourcedefinition {DEFINITION.rpartition('/')[2]}")
    return found


def _is_not_ours(item: dict[str, Any]) -> bool:
    labels = item["metadata"].get("labels") or {}
    return WIPE_LABEL not in labels and KUBELET_LABEL not in labels


def _is_foreign(name: str) -> bool:
    return not name.startswith(OF_KUBERNETES)


async def _foreign(cluster: RealCluster, path: str) -> list[str]:
    return [name for name in await _names(cluster, path) if _is_foreign(name)]


def _any(_item: dict[str, Any]) -> bool:
    return True


async def _names(cluster: RealCluster, path: str, counts: Callable[[dict[str, Any]], bool] = _any) -> list[str]:
    """Names of the objects that count; none of a kind that is not served. One that is about to be is waited for."""
    items: list[dict[str, Any]] = []

    async def is_told() -> bool:
        status, body = await cluster.request("GET", path)
        if status == 200:
            items[:] = msgspec.json.decode(body)["items"]
        return status in {200, 404}

    await eventually(is_told, f"{path} is told", WIPE_S)
    return [item["metadata"]["name"] for item in items if counts(item)]

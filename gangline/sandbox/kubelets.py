"""Kubelets at work: registers nodes, then follows pods and nodes of any API server through `gangline.kube`."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.clock import utc_now
from gangline.kube.wire.errors import AlreadyExists
from gangline.kube.wire.resources import NODES, PODS, Resource
from gangline.sandbox.actions import Decision
from gangline.sandbox.cache import Cache
from gangline.sandbox.informer import Informer
from gangline.sandbox.kubelet import Kubelets, decide_node
from gangline.sandbox.nodes import NodeGroup, node_objects
from gangline.sandbox.objects import RunNode, RunPod
from gangline.sandbox.reconciler import Decider, Reconciler

HEARTBEAT_S: Final = 10.0
CONCURRENT_REGISTRATIONS: Final = 16
LEASES_A_SECOND: Final = 20


def heartbeat_for(nodes: int) -> float:
    """Seconds between heartbeats: as real kubelets have it, longer where so many nodes would be too busy."""
    return max(HEARTBEAT_S, nodes / LEASES_A_SECOND)


async def register_nodes(client: Client, groups: Sequence[NodeGroup]) -> int:
    """Create the nodes that do not exist yet; return how many were created."""
    places = asyncio.Semaphore(CONCURRENT_REGISTRATIONS)
    now = utc_now()
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_register(client, body, places), name="register-node")
            for nodes in groups
            for body in node_objects(nodes, now)
        ]
    return sum(task.result() for task in tasks)


async def _register(client: Client, body: dict[str, Any], places: asyncio.Semaphore) -> bool:
    async with places:
        try:
            node = await client.create(NODES, "", body)
        except AlreadyExists:
            return False
        if "allocatable" not in node.get("status", {}):
            key = Key("", node["metadata"]["name"])
            await client.patch(NODES, key, {"status": body["status"]}, subresource="status")
        return True


async def run_kubelets(
    client: Client, *, every_node: bool, heartbeat_s: float | None = HEARTBEAT_S, speed: float = 1.0
) -> None:
    """Run the pods of all nodes, or of those with the kubelets' label, until cancelled.

    Heartbeats (leases) matter where a node lifecycle controller watches for them; None sends none. With a `speed`
    what pods take time for takes so much less.
    """
    pods = Informer(client, PODS, RunPod)
    nodes = Informer(client, NODES, RunNode)
    kubelets = Kubelets(pods.cache, nodes.cache, every_node=every_node, speed=speed)
    caches: Mapping[Resource, Cache[Any]] = {PODS: pods.cache, NODES: nodes.cache}

    def decide_served_node(key: Key, now: datetime) -> Decision:
        node = kubelets.serves(key.name)
        return Decision() if node is None else decide_node(node, now, heartbeat_s=heartbeat_s)

    pod_loop = Reconciler("kubelet-pods", Decider(client, kubelets.decide_pod, caches).reconcile, workers=16)
    node_loop = Reconciler("kubelet-nodes", Decider(client, decide_served_node, caches).reconcile)

    def observe_pod(old: RunPod | None, new: RunPod | None) -> None:
        kubelets.observe(old, new)
        if new is not None and new.spec.node_name:
            pod_loop.enqueue(new.metadata.key)

    def observe_node(old: RunNode | None, new: RunNode | None) -> None:
        if new is None:
            return
        node_loop.enqueue(new.metadata.key)
        if old is None or old.metadata.annotations != new.metadata.annotations:
            for pod in pods.cache:
                if pod.spec.node_name == new.metadata.name:
                    pod_loop.enqueue(pod.metadata.key)

    pods.listen(observe_pod)
    nodes.listen(observe_node)
    synced = (pods.synced, nodes.synced)
    async with asyncio.TaskGroup() as group:
        group.create_task(pods.run(), name="kubelet-watch-pods")
        group.create_task(nodes.run(), name="kubelet-watch-nodes")
        group.create_task(pod_loop.run(synced), name="kubelet-pods")
        group.create_task(node_loop.run(synced), name="kubelet-nodes")

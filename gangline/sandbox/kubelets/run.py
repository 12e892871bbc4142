"""Kubelets at work: registers nodes, then follows pods and nodes of any API server through `gangline.kube`."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.clock import utc_now
from gangline.kube.wire.errors import AlreadyExists
from gangline.kube.wire.resources import NODES
from gangline.sandbox.kubelets.kubelet import Kubelets
from gangline.sandbox.kubelets.nodes import NodeGroup, node_objects
from gangline.sandbox.objects.core import RunNode, RunPod
from gangline.sandbox.reconciling.loops import Loops
from gangline.sandbox.reconciling.world import Pace, World

HEARTBEAT_S: Final = 10.0
CONCURRENT_REGISTRATIONS: Final = 16
LEASES_A_SECOND: Final = 20
POD_WORKERS: Final = 16


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
    client: Client, *, every_node: bool, heartbeat_s: float = HEARTBEAT_S, speed: float = 1.0
) -> None:
    """Run the pods of all nodes, or of those with the kubelets' label, until cancelled.

    Each node's lease is renewed every `heartbeat_s`. With a `speed` what pods take time for takes so much less.
    """
    kubelets = Kubelets(every_node=every_node, heartbeat_s=heartbeat_s)
    loops = Loops(client, (RunPod, RunNode), Pace(speed=speed))
    loops.informer(RunPod).listen(kubelets.observe)
    loops.add(
        "kubelet-pods", RunPod, kubelets.decide_pod, {RunNode: _wake_pods}, component="kubelet", workers=POD_WORKERS
    )
    loops.add("kubelet-nodes", RunNode, kubelets.decide_node, component="kubelet")
    await loops.run()


def _wake_pods(world: World, node: RunNode) -> list[Key]:
    """Name the pods of a node: its kubelet may be new, or has been stopped or started."""
    is_current = world.all(RunNode).get(node.metadata.key) is node
    return [pod.metadata.key for pod in world.pods_on(node.metadata.name)] if is_current else []

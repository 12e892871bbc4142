"""Where the walk takes place: on a sandbox of its own, or on a control plane that has no nodes yet.

Both have the first node, simulated kubelets, and PodGroups. What the walk has brought to a lent control plane is taken
away at the end.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from gangline.cli.walk.manifests import NAMES, NAMESPACE
from gangline.cli.walk.steps import NODE_CPU, NODE_MEMORY, node
from gangline.contract.crd import crd
from gangline.contract.meta import Key
from gangline.kube.client import Client, connect
from gangline.kube.wire.errors import AlreadyExists, NotFound
from gangline.kube.wire.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    POD_GROUPS,
    PODS,
    REPLICA_SETS,
    Resource,
)
from gangline.sandbox.cluster import Sandbox
from gangline.sandbox.kubelets.nodes import KUBELET_LABEL, uniform
from gangline.sandbox.kubelets.run import register_nodes, run_kubelets
from gangline.sandbox.objects.meta import Thing

USER_AGENT: Final = "gangline-demo"
KINDS: Final = (REPLICA_SETS, DEPLOYMENTS, JOBS, POD_GROUPS)
OF_THE_WALK: Final = f"app in ({','.join(NAMES)})"
DEADLINE_S: Final = 60.0
POLL_S: Final = 0.1


class UnfitError(Exception):
    """The walk cannot take place there; the message says why."""


class Ground(Struct, frozen=True):
    """A cluster to walk on."""

    title: str
    kubeconfig: Path
    client: Client


@asynccontextmanager
async def sandboxed(kubeconfig: Path) -> AsyncIterator[Ground]:
    """Start a sandbox, and write a kubeconfig for it."""
    async with (
        Sandbox(groups=uniform(1, cpu=NODE_CPU, memory=NODE_MEMORY), kubeconfig=kubeconfig) as sandbox,
        connect(str(kubeconfig), user_agent=USER_AGENT) as client,
    ):
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, "", crd())
        yield Ground(f"sandbox at {sandbox.url}", kubeconfig, client)


@asynccontextmanager
async def lent(kubeconfig: Path) -> AsyncIterator[Ground]:
    """Use the control plane of this kubeconfig. Raises UnfitError, and ApiError."""
    async with connect(str(kubeconfig), user_agent=USER_AGENT) as client:
        await _check(client)
        is_new = await _define(client)
        try:
            async with asyncio.TaskGroup() as group:
                kubelets = group.create_task(run_kubelets(client, every_node=False), name="kubelets")
                await register_nodes(client, [node("node-0")])
                yield Ground(f"control plane of {kubeconfig}", kubeconfig, client)
                kubelets.cancel()
        finally:
            await _clear(client)
            if is_new:
                await _delete_definition(client)


async def _check(client: Client) -> None:
    """Refuse a cluster in which the walk would not be alone."""
    nodes, _ = await client.list(NODES, Thing)
    if nodes:
        raise UnfitError(
            f"this cluster has {len(nodes)} nodes, and the demo counts nodes: it needs a control plane without any. "
            "Without --kubeconfig it starts a cluster of its own"
        )
    for resource in (REPLICA_SETS, DEPLOYMENTS, JOBS):
        found, _ = await client.list(resource, Thing, namespace=NAMESPACE)
        taken = sorted({each.metadata.name for each in found} & set(NAMES))
        if taken:
            raise UnfitError(f"namespace {NAMESPACE} has {resource.plural} named {', '.join(taken)}, as the demo's")


async def _define(client: Client) -> bool:
    """Bring our CRD, if there is none, and wait until PodGroups are served; say whether it was brought."""
    try:
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, "", crd())
    except AlreadyExists:
        return False
    async with asyncio.timeout(DEADLINE_S):
        while not await _are_served(client):  # noqa: ASYNC110 - nothing can be watched yet
            await asyncio.sleep(POLL_S)
    return True


async def _are_served(client: Client) -> bool:
    try:
        await client.list(POD_GROUPS, Thing)
    except NotFound:
        return False
    return True


async def _clear(client: Client) -> None:
    """Delete what the walk has made, owners first, and wait until its pods are gone; then its nodes."""
    for resource in KINDS:
        for name in NAMES:
            await _delete(client, resource, Key(NAMESPACE, name))
    async with asyncio.timeout(DEADLINE_S):
        while pods := (await client.list(PODS, Thing, namespace=NAMESPACE, label_selector=OF_THE_WALK))[0]:
            for pod in pods:
                await _delete(client, PODS, pod.metadata.key)
            await asyncio.sleep(POLL_S)
    for each in (await client.list(NODES, Thing, label_selector=KUBELET_LABEL))[0]:
        await _delete(client, NODES, each.metadata.key)


async def _delete_definition(client: Client) -> None:
    """Delete our CRD, unless somebody has made PodGroups meanwhile."""
    if not (await client.list(POD_GROUPS, Thing))[0]:
        await _delete(client, CUSTOM_RESOURCE_DEFINITIONS, Key("", crd()["metadata"]["name"]))


async def _delete(client: Client, resource: Resource, key: Key) -> None:
    try:
        await client.delete(resource, key, grace_period_s=0, propagation="Background")
    except NotFound:
        return

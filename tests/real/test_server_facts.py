"""What a real control plane does that the sandbox does not offer: rights, taints of new nodes, its audit log."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from gangline.contract.meta import Key
from gangline.contract.node import Node
from gangline.kube.client import Client, connect
from gangline.kube.wire import requests
from gangline.kube.wire.errors import Forbidden, ServerError
from gangline.kube.wire.resources import NODES, PODS
from tests.support.backends import without_services
from tests.support.cluster import NAMESPACE
from tests.support.controlplane import ControlPlane
from tests.support.manifests import nodes, pod
from tests.support.real_cluster import RealCluster
from tests.support.services import eventually

NOT_READY: Final = "node.kubernetes.io/not-ready"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
WATCHER: Final = "pod-watcher"


@asynccontextmanager
async def granted(real: RealCluster, directory: Path, *rules: Mapping[str, Sequence[str]]) -> AsyncIterator[Client]:
    """Act as a new ServiceAccount with these rights."""
    meta = {"metadata": {"name": WATCHER}}
    subject = {"kind": "ServiceAccount", "name": WATCHER, "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": WATCHER}
    for path, body in (
        (f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", meta),
        (f"{RBAC}/clusterroles", meta | {"rules": rules}),
        (f"{RBAC}/clusterrolebindings", meta | {"roleRef": role, "subjects": [subject]}),
    ):
        status, answer = await real.request("POST", path, body)
        assert status == 201, answer
    token = await real.service_account_token(NAMESPACE, WATCHER)
    config = real.kubeconfig(directory / "watcher.kubeconfig", user=WATCHER, token=token)
    try:
        async with connect(str(config), user_agent=WATCHER) as client:
            yield client
    finally:
        for path in (
            f"{RBAC}/clusterrolebindings/{WATCHER}",
            f"{RBAC}/clusterroles/{WATCHER}",
            f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{WATCHER}",
        ):
            await real.request("DELETE", path)


async def test_an_open_watch_outlives_its_right(real: RealCluster, tmp_path: Path) -> None:
    follow = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}
    async with without_services() as client, granted(real, tmp_path, follow) as watcher:
        version = ""

        async def may_list() -> bool:
            nonlocal version
            try:
                page = msgspec.json.decode(await watcher.send(requests.list_page(PODS)))
            except Forbidden:
                return False
            version = page["metadata"]["resourceVersion"]
            return True

        await eventually(may_list, "the right is known")
        async with watcher.stream(requests.watch(PODS, resource_version=version, seconds=60, silence_s=20)) as lines:
            await real.request("DELETE", f"{RBAC}/clusterrolebindings/{WATCHER}")

            async def may_not_list() -> bool:
                return not await may_list()

            await eventually(may_not_list, "the right is gone")
            await client.create(PODS, NAMESPACE, pod("late", scheduler="someone-else"))
            async for line in lines:
                event = msgspec.json.decode(line)
                assert event["type"] == "ADDED", event
                assert event["object"]["metadata"]["name"] == "late"
                break
        with pytest.raises(Forbidden, match="cannot list resource"):
            await watcher.send(requests.list_page(PODS))


async def test_a_new_node_is_tainted_until_it_is_seen_ready(real: RealCluster) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}}
    async with without_services() as client:
        status, body = await real.request("POST", "/api/v1/nodes", node)
        assert status == 201
        assert [taint["key"] for taint in msgspec.json.decode(body)["spec"]["taints"]] == [NOT_READY]

        async def is_clean() -> bool:
            return not (await client.get(NODES, Key("", "bare"), Node)).spec.taints

        await eventually(is_clean, "a simulated kubelet makes it ready, and its taints go")


async def test_the_audit_log_tells_who_bound(plane: ControlPlane) -> None:
    earlier = len(await plane.audit())
    async with without_services(nodes(1, cpu="4")) as client:
        await client.create(PODS, NAMESPACE, pod("a", scheduler="someone-else"))
        seen = await client.get(PODS, Key(NAMESPACE, "a"), dict[str, Any])
        await client.bind(Key(NAMESPACE, "a"), seen["metadata"]["uid"], "node-0")
    bindings = [
        entry for entry in (await plane.audit())[earlier:] if entry.get("objectRef", {}).get("subresource") == "binding"
    ]
    assert {(entry["verb"], entry["user"]["username"]) for entry in bindings} == {("create", "admin")}


async def test_a_write_that_is_late_for_its_timeout_is_not_done_later(plane: ControlPlane) -> None:
    late = Key(NAMESPACE, "late")
    async with without_services(nodes(1, cpu="4")) as client:
        await client.create(PODS, NAMESPACE, pod("late", scheduler="someone-else"))
        seen = await client.get(PODS, late, dict[str, Any])
        bind = requests.bind(late, seen["metadata"]["uid"], "node-0")
        with pytest.raises(ServerError, match="504"):
            await client.send(msgspec.structs.replace(bind, query=(("timeout", "1ns"),)))
        assert "nodeName" not in (await client.get(PODS, late, dict[str, Any]))["spec"]

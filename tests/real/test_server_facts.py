"""What a real control plane does that the sandbox does not offer: rights, taints of new nodes, StatefulSets."""

import msgspec

from tests.support.cluster import running_cluster
from tests.support.controlplane import ControlPlane

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}}
NOT_READY = "node.kubernetes.io/not-ready"


async def test_a_new_node_is_tainted_until_it_is_ready(plane: ControlPlane) -> None:
    async with running_cluster(services=(), judged=False):
        status, body = await plane.request("POST", "/api/v1/nodes", NODE)
        assert status == 201
        assert [taint["key"] for taint in msgspec.json.decode(body)["spec"]["taints"]] == [NOT_READY]

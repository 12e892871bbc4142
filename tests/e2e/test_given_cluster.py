"""A cluster that somebody else has started is taken only if nothing of others would be lost there."""

from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gangline.contract.crd import crd
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.client import Client, connect
from gangline.kube.wire.errors import NotFound
from gangline.kube.wire.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from gangline.sandbox.reconciling.world import Pace
from tests.support import backends
from tests.support.given_cluster import ClusterRefusedError, GivenCluster
from tests.support.manifests import nodes, pod, priority_class
from tests.support.ports import free_port
from tests.support.proxy import Proxy
from tests.support.services import eventually
from tests.support.wiping import WIPE_LABEL

DEFAULT = Key("", "default")
DEFINITION = Key("", crd()["metadata"]["name"])
THEIRS: dict[str, tuple[Resource, str, dict[str, Any]]] = {
    "namespace theirs": (NAMESPACES, "", {"metadata": {"name": "theirs"}}),
    "node theirs": (NODES, "", {"metadata": {"name": "theirs"}}),
    "priorityclass theirs": (PRIORITY_CLASSES, "", priority_class("theirs", 7)),
    "pods default/theirs": (PODS, "default", pod("theirs")),
    f"customresourcedefinition {DEFINITION.name}": (CUSTOM_RESOURCE_DEFINITIONS, "", crd()),
}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    """The admin of a cluster in which nothing is, and nothing says that tests may have it."""
    async with (
        backends.chosen().serve(kubeconfig, Pace()) as serving,
        connect(str(serving.kubeconfig), user_agent="test") as client,
    ):
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION)
        await eventually(partial(lacks_pod_groups, client), "PodGroups are gone")
        await label(client, NAMESPACES, "default", None)
        yield client
        with suppress(NotFound):
            await client.delete(PRIORITY_CLASSES, Key("", "theirs"))


async def lacks_pod_groups(client: Client) -> bool:
    try:
        await client.get(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, dict[str, Any])
    except NotFound:
        return True
    return False


async def label(client: Client, resource: Resource, name: str, value: str | None) -> None:
    await client.patch(resource, Key("", name), {"metadata": {"labels": {WIPE_LABEL: value}}})


async def refusal(kubeconfig: Path) -> str:
    """What is said when this cluster is given."""
    with pytest.raises(ClusterRefusedError) as refused:
        async with GivenCluster(kubeconfig):
            pass
    return str(refused.value)


@pytest.mark.parametrize("named", THEIRS)
async def test_what_others_have_there_is_named_and_left_alone(client: Client, kubeconfig: Path, named: str) -> None:
    resource, namespace, body = THEIRS[named]
    await client.create(resource, namespace, body)
    said = await refusal(kubeconfig)
    assert f"tests would delete it: {named}. " in said
    assert f"kubectl label KIND NAME {WIPE_LABEL}=allowed" in said
    assert await client.get(resource, Key(namespace, body["metadata"]["name"]), dict[str, Any])
    kept = await client.get(NAMESPACES, DEFAULT, dict[str, Any])
    assert WIPE_LABEL not in (kept["metadata"].get("labels") or {})


async def test_what_is_labelled_may_be_lost(client: Client, kubeconfig: Path) -> None:
    for name in ("namespace theirs", "node theirs", "priorityclass theirs"):
        resource, namespace, body = THEIRS[name]
        await client.create(resource, namespace, body)
        await label(client, resource, "theirs", "allowed")
    async with GivenCluster(kubeconfig) as cluster:
        assert (await cluster.request("GET", "/api/v1/namespaces/theirs"))[0] == 404
        assert (await cluster.request("GET", "/api/v1/nodes/theirs"))[0] == 404


async def test_what_a_killed_run_has_left_is_wiped_by_the_next(client: Client, kubeconfig: Path) -> None:
    async with GivenCluster(kubeconfig):
        pass
    await backends.bring_up(client, [nodes(2)])
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, "", crd())
    await client.create(PODS, "default", pod("left"))
    async with GivenCluster(kubeconfig):
        assert (await client.list(PODS, Pod))[0] == []
    assert await lacks_pod_groups(client)


async def test_a_cluster_that_does_not_answer_is_named(client: Client, kubeconfig: Path) -> None:
    closed = Proxy(f"http://127.0.0.1:{free_port()}")
    async with closed:
        nobody = closed.kubeconfig(kubeconfig)
    assert f"{nobody} answers 0: " in await refusal(nobody)


async def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert await refusal(tmp_path / "nowhere") == f"GANGLINE_TEST_KUBECONFIG={tmp_path / 'nowhere'}: no such file"

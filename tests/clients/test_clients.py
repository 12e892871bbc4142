"""Clients of others against the chosen backend: each lists, watches, and patches a ConfigMap under its own watch.

They are imported in their tests: they are slow to import, and need nothing to be collected.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from gangline.sandbox.reconciling.world import Pace
from tests.support.backends import chosen

NAMESPACE = "default"
NAME = "shared"
Seen = list[tuple[str, str, str]]
"""Type of event, name and colour, as a watch told them."""
EXPECTED: Seen = [("ADDED", NAME, "red"), ("MODIFIED", NAME, "blue"), ("DELETED", NAME, "blue")]


@pytest.fixture
async def kubeconfig(tmp_path: Path) -> AsyncIterator[str]:
    async with chosen().serve(tmp_path / "kubeconfig", Pace()) as serving:
        yield str(serving.kubeconfig)


def with_kubernetes(kubeconfig: str) -> Seen:
    """`kubernetes`, the official synchronous client."""
    from kubernetes import client, config, watch  # noqa: PLC0415

    with config.new_client_from_config(kubeconfig) as session:
        api = client.CoreV1Api(session)
        at = api.list_namespaced_config_map(NAMESPACE).metadata.resource_version

        def change() -> None:
            metadata = client.V1ObjectMeta(name=NAME)
            api.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata=metadata, data={"colour": "red"}))
            api.patch_namespaced_config_map(NAME, NAMESPACE, {"data": {"colour": "blue"}})
            api.delete_namespaced_config_map(NAME, NAMESPACE)

        events = watch.Watch().stream(
            api.list_namespaced_config_map, NAMESPACE, resource_version=at, timeout_seconds=100
        )
        return seen_while(
            change, ((each["type"], each["object"].metadata.name, each["object"].data) for each in events)
        )


def with_lightkube(kubeconfig: str) -> Seen:
    """`lightkube`, on an HTTP client of another make."""
    from lightkube import Client, KubeConfig  # noqa: PLC0415
    from lightkube.models.meta_v1 import ObjectMeta  # noqa: PLC0415
    from lightkube.resources.core_v1 import ConfigMap  # noqa: PLC0415

    with Client(config=KubeConfig.from_file(kubeconfig), namespace=NAMESPACE) as api:
        listed = api.list(ConfigMap)
        list(listed)

        def change() -> None:
            api.create(ConfigMap(metadata=ObjectMeta(name=NAME), data={"colour": "red"}))
            api.patch(ConfigMap, NAME, {"data": {"colour": "blue"}})
            api.delete(ConfigMap, NAME)

        events = api.watch(ConfigMap, resource_version=listed.resourceVersion, server_timeout=100)
        plain = ((type_, each.to_dict()) for type_, each in events)
        return seen_while(change, ((type_, each["metadata"]["name"], each["data"]) for type_, each in plain))


def seen_while(change: Callable[[], None], events: Iterator[tuple[str, str, dict[str, str]]]) -> Seen:
    """What a watch says of the ConfigMap until it is gone, with the changes made by another thread."""
    thread = threading.Thread(target=change)
    thread.start()
    seen: Seen = []
    for type_, name, data in events:
        if name == NAME:
            seen.append((str(type_), name, data["colour"]))
        if seen and seen[-1][0] == "DELETED":
            break
    thread.join()
    return seen


@pytest.mark.parametrize("converse", [with_kubernetes, with_lightkube])
async def test_a_synchronous_client_lists_watches_and_patches(converse: Callable[[str], Seen], kubeconfig: str) -> None:
    assert await asyncio.to_thread(converse, kubeconfig) == EXPECTED


async def test_the_watch_of_kubernetes_asyncio(kubeconfig: str) -> None:
    from kubernetes_asyncio import client, config, watch  # noqa: PLC0415

    session = await config.new_client_from_config(kubeconfig)
    async with session:
        api = client.CoreV1Api(session)
        listed = await api.list_namespaced_config_map(NAMESPACE)

        async def change() -> None:
            metadata = client.V1ObjectMeta(name=NAME)
            body = client.V1ConfigMap(metadata=metadata, data={"colour": "red"})
            await api.create_namespaced_config_map(NAMESPACE, body)
            await api.patch_namespaced_config_map(NAME, NAMESPACE, {"data": {"colour": "blue"}})
            await api.delete_namespaced_config_map(NAME, NAMESPACE)

        seen: Seen = []
        async with asyncio.TaskGroup() as group, watch.Watch() as watching:
            group.create_task(change(), name="change")
            async for event in watching.stream(
                api.list_namespaced_config_map,
                NAMESPACE,
                resource_version=listed.metadata.resource_version,
                timeout_seconds=100,
            ):
                seen.append((event["type"], event["object"].metadata.name, event["object"].data["colour"]))
                if event["type"] == "DELETED":
                    break

    assert seen == EXPECTED

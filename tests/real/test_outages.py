"""The API server goes away and comes back, as it was or otherwise, or wants other credentials: the services go on."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from gangline.contract.meta import Key
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import Client, connect
from gangline.kube.wire.resources import POD_GROUPS, PODS
from gangline.sandbox.kubelets.run import register_nodes, run_kubelets
from tests.real.test_rights import NAMESPACE, Rights
from tests.support.backends import ensure_pod_groups
from tests.support.cluster import Cluster, running_cluster
from tests.support.controlplane import ControlPlane
from tests.support.manifests import gang, nodes
from tests.support.outages import move_on_unseen
from tests.support.proxy import Proxy
from tests.support.services import Service, eventually, start_task

CPU_3: Final = {"cpu": 3}
PATIENCE_S: Final = 120.0
OUTAGE_S: Final = 60.0
"""Long enough for the wait before the next try to grow to its most, 30 s, and for leases of nodes to run out."""
SERVICES: Final = ("scheduler", "controller")


async def has_problem(service: Service, text: str) -> bool:
    return any(text in problem for problem in await service.problems())


async def is_reached(service: Service) -> bool:
    return not await has_problem(service, "Unreachable")


def is_running(cluster: Cluster, name: str) -> bool:
    return cluster.phase(name) == "Running"


async def test_both_services_go_on_after_a_restart_of_the_api_server(plane: ControlPlane) -> None:
    async with running_cluster(nodes(2, cpu="9")) as cluster:
        await cluster.create(*gang("before", 3, requests=CPU_3))
        await cluster.until(lambda: cluster.running("before") == 3, "the first gang runs")
        await plane.restart_apiserver()
        await cluster.create(*gang("after", 3, requests=CPU_3))
        await cluster.until(lambda: cluster.running("after") == 3, "the second gang runs", PATIENCE_S)
        await cluster.until(lambda: cluster.phase("after") == "Running", "its group says so", PATIENCE_S)


async def test_both_services_go_on_after_a_restore_from_an_older_backup(plane: ControlPlane, tmp_path: Path) -> None:
    async with running_cluster(nodes(1, cpu="9")) as cluster:
        await cluster.create(*gang("kept", 3))
        await cluster.until(lambda: cluster.phase("kept") == "Running", "a gang runs")
        await plane.save_store(tmp_path / "backup")
        await cluster.create(*gang("lost", 3))
        await cluster.until(lambda: cluster.phase("lost") == "Running", "a gang runs that no backup has", PATIENCE_S)

        await plane.restore_store(tmp_path / "backup")

        await cluster.until(lambda: not cluster.of("lost"), "its pods are gone", PATIENCE_S)
        await cluster.create(*gang("new", 6))
        await cluster.until(lambda: cluster.phase("new") == "Running", "the room that they had is used", PATIENCE_S)


@pytest.mark.timeout(600)
async def test_an_api_server_that_dies_in_the_middle_of_binds_and_stays_away(plane: ControlPlane) -> None:
    async with running_cluster(nodes(4, cpu="9"), services=()) as cluster:
        for name in SERVICES:
            await cluster.start(name, stale_s=2.0)
        for number in range(6):
            await cluster.create(*gang(f"g{number}", 6))
        await cluster.until(lambda: sum(cluster.bound(f"g{number}") for number in range(6)) >= 3, "binds have begun")
        async with plane.without_apiserver():
            died_at = asyncio.get_running_loop().time()
            for service in cluster.services.values():
                await eventually(partial(has_problem, service, "Unreachable"), f"{service.name} says so")
                assert (await service.get("/healthz"))[0] == 200, "a restart would not help"
            await asyncio.sleep(died_at + OUTAGE_S - asyncio.get_running_loop().time())
        for number in range(6):
            name = f"g{number}"
            await cluster.until(partial(is_running, cluster, name), f"{name} runs", PATIENCE_S)
        for service in cluster.services.values():
            await eventually(partial(is_reached, service), f"{service.name} reaches the API server", PATIENCE_S)


async def test_what_etcd_has_forgotten_while_the_services_were_cut_off(plane: ControlPlane) -> None:
    async with running_cluster(nodes(1, cpu="8"), services=()) as cluster, Proxy(cluster.url) as proxy:
        await move_on_unseen(cluster, proxy)
        await plane.compact()
        await plane.restart_apiserver()
        await proxy.open()

        await cluster.until(lambda: cluster.phase("new") == "Running", "the new gang runs", PATIENCE_S)
        await cluster.judged()
        await cluster.stop_all()


async def test_a_token_that_is_rotated_and_the_old_one_refused(plane: ControlPlane, tmp_path: Path) -> None:
    async with running_cluster(nodes(1, cpu="9"), services=()) as cluster:
        rights = [Rights(plane, name) for name in SERVICES]
        try:
            for each, name in zip(rights, SERVICES, strict=True):
                await each.grant()
                await cluster.start(name, kubeconfig=await with_new_token(plane, tmp_path, each), watch_s=2)
            await cluster.create(*gang("before", 2))
            await cluster.until(lambda: cluster.phase("before") == "Running", "a gang runs")
            for each in rights:
                await plane.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{each.name}")
                await plane.request(
                    "POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": each.name}}
                )
            for service in cluster.services.values():
                await eventually(partial(has_problem, service, "401"), f"{service.name} says that it is not known")
            for each in rights:
                await with_new_token(plane, tmp_path, each)
            for service in cluster.services.values():
                await service.until_ready()
            await cluster.create(*gang("after", 2))
            await cluster.until(lambda: cluster.phase("after") == "Running", "another runs", PATIENCE_S)
            await cluster.judged()
            await cluster.stop_all()
        finally:
            for each in rights:
                await each.revoke()


async def with_new_token(plane: ControlPlane, directory: Path, rights: Rights) -> Path:
    """Write a kubeconfig with a new token, in place of the one before."""
    token = await plane.service_account_token(NAMESPACE, rights.name)
    written = plane.kubeconfig(directory / "new", user=rights.name, token=token)
    return written.rename(directory / rights.name)


async def test_an_api_server_with_a_new_certificate_authority(built: Path, tmp_path: Path) -> None:
    """Without a controller manager, which reads the bundle once."""
    async with ControlPlane(built, controllers=False) as plane:
        kubeconfig = plane.kubeconfig(tmp_path / "kubeconfig")
        async with connect(str(kubeconfig), user_agent="test") as client, asyncio.TaskGroup() as group:
            await ensure_pod_groups(client)
            await register_nodes(client, [nodes(1, cpu="9")])
            kubelets = group.create_task(run_kubelets(client, every_node=True), name="kubelets")
            services = [start_task(group, name, kubeconfig) for name in SERVICES]
            for each in services:
                await each.service.until_ready()
            await runs(client, "before")

            plane.replace_authority()
            await plane.restart_apiserver()

            await runs(client, "after")
            for each in services:
                await each.service.until_ready()
                await each.end()
            kubelets.cancel()


async def runs(client: Client, name: str) -> None:
    """Create a gang and wait until its status says that it runs."""
    manifests: list[dict[str, Any]] = gang(name, 2)
    for body in manifests:
        await client.create(POD_GROUPS if body["kind"] == "PodGroup" else PODS, "default", body)

    async def says_so() -> bool:
        return (await client.get(POD_GROUPS, Key("default", name), PodGroup)).status.phase == "Running"

    await eventually(says_so, f"{name} runs", PATIENCE_S)

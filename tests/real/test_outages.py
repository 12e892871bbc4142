"""The API server restarts, or comes back with what it held before: the services go on."""

from pathlib import Path

from tests.support.cluster import running_cluster
from tests.support.controlplane import ControlPlane
from tests.support.manifests import gang, nodes

CPU_3 = {"cpu": 3}
PATIENCE_S = 60.0


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

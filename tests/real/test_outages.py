"""The API server goes away and comes back: the services go on."""

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

"""What happens in a cluster while its services cannot see it."""

from tests.support.cluster import Cluster
from tests.support.manifests import gang
from tests.support.proxy import Proxy


async def move_on_unseen(cluster: Cluster, proxy: Proxy) -> None:
    """Start both services behind a proxy, let gangs run, shut it; then one gang goes and another comes, of six."""
    for name in ("scheduler", "controller"):
        await cluster.start(name, kubeconfig=proxy.kubeconfig(cluster.kubeconfig))
    await cluster.create(*gang("old", 2), *gang("stays", 2))
    await cluster.until(lambda: cluster.phase("old") == cluster.phase("stays") == "Running", "both run")

    await proxy.shut()
    for name in ("old-0", "old-1"):
        await cluster.delete("Pod", name, grace_period_s=0)
    await cluster.delete("PodGroup", "old")
    await cluster.create(*gang("new", 6))
    await cluster.until(lambda: len(cluster.of("new")) == 6 and not cluster.of("old"), "the cluster has moved on")

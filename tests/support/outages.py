"""What happens in a cluster while its services cannot see it, or cannot yet be heard."""

from functools import partial

from tests.support.cluster import Cluster
from tests.support.manifests import gang, pod_group, pods
from tests.support.proxy import Proxy
from tests.support.services import Service, eventually


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


async def decide_unheard(cluster: Cluster, proxy: Proxy, name: str, count: int) -> None:
    """Start the scheduler behind a proxy, and let it decide a gang of 1-CPU pods whose binds are held there.

    The PodGroup is changed last, so that the scheduler need not read it again before it binds.
    """
    scheduler = await cluster.start("scheduler", kubeconfig=proxy.kubeconfig(cluster.kubeconfig))
    await cluster.create(pod_group(name, count + 1), *pods(count, name, name))
    await cluster.until(lambda: cluster.reasons(name) == ["GangIncomplete"] * count, f"{name} lacks one")
    proxy.hold()
    await cluster.patch("PodGroup", name, {"spec": {"minMember": count}})
    await eventually(partial(_has_decided, scheduler), f"{name} is decided")


async def _has_decided(scheduler: Service) -> bool:
    return (await scheduler.samples())['gangline_scheduler_decisions_total{outcome="placed"}'] == 1

"""The sandbox as a whole, over HTTP: what its users see."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gangline.contract.meta import Key
from gangline.kube.client import Client, connect
from gangline.kube.wire.errors import ApiError, TooManyRequests
from gangline.kube.wire.resources import (
    DEPLOYMENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SERVICE_ACCOUNTS,
    Resource,
)
from gangline.sandbox.cluster import Sandbox
from gangline.sandbox.kubelets.nodes import STOPPED_ANNOTATION, ClusterFileError, NodeGroup, read_cluster_file, uniform
from gangline.sandbox.kubelets.podlife import EXIT_CODE_ANNOTATION, RUN_SECONDS_ANNOTATION
from gangline.sandbox.kubelets.run import register_nodes, run_kubelets
from gangline.sandbox.objects.apps import Deployment, ReplicaSet, StatefulSet
from gangline.sandbox.objects.batch import CronJob, Job
from gangline.sandbox.objects.core import LEASE_NAMESPACE, Lease, Namespace, RunNode, RunPod
from gangline.sandbox.objects.meta import Thing
from gangline.sandbox.objects.policy import Budget
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.informer import Informer
from gangline.sandbox.reconciling.world import Pace
from tests.support.watching import until

CRON_JOBS, STATEFUL_SETS = RESOURCES[CronJob], RESOURCES[StatefulSet]
GONE = (None, True)
ONE_NODE = uniform(1, cpu="8", memory="32Gi")
QUICK = Pace(lost_node_s=0.1, job_backoff_s=0.1)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with (
        Sandbox(groups=uniform(2, cpu="4", memory="8Gi"), pace=QUICK) as sandbox,
        connect(str(sandbox.kubeconfig), user_agent="test") as connected,
    ):
        yield connected


def template(app: str, **annotations: str) -> dict[str, Any]:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"labels": {"app": app}, "annotations": annotations},
        "spec": {"schedulerName": "nobody", "restartPolicy": "Never", "containers": [container]},
    }


def workload(resource: Resource, name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": always(template(name)), **spec},
    }


def always(pod_template: dict[str, Any]) -> dict[str, Any]:
    return {**pod_template, "spec": {**pod_template["spec"], "restartPolicy": "Always"}}


def single(name: str, **annotations: str) -> dict[str, Any]:
    made = template(name, **annotations)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**made["metadata"], "name": name}, "spec": made["spec"]}


async def pods_until(client: Client, *phases: str) -> list[RunPod]:
    return await until(client, PODS, RunPod, lambda pods: sorted(p.status.phase or "" for p in pods) == sorted(phases))


async def bind_all(client: Client, node: str, pods: list[RunPod]) -> None:
    for pod in pods:
        if not pod.spec.node_name:
            await client.bind(pod.metadata.key, pod.metadata.uid, node)


async def gone(client: Client, resource: Resource) -> None:
    await until(client, resource, Thing, lambda things: not things)


async def test_bound_pods_run_until_their_time_is_over(client: Client) -> None:
    await client.create(PODS, "default", single("for-ever"))
    await client.create(PODS, "default", single("good", **{RUN_SECONDS_ANNOTATION: "0.1"}))
    await client.create(PODS, "default", single("bad", **{RUN_SECONDS_ANNOTATION: "0.1", EXIT_CODE_ANNOTATION: "2"}))

    await bind_all(client, "node-0", await pods_until(client, "Pending", "Pending", "Pending"))

    ended = await pods_until(client, "Running", "Succeeded", "Failed")
    assert {pod.metadata.name: pod.status.phase for pod in ended} == {
        "for-ever": "Running",
        "good": "Succeeded",
        "bad": "Failed",
    }


async def test_over_commit_shows_as_a_failed_pod(client: Client) -> None:
    for index in range(5):
        await client.create(PODS, "default", single(f"p{index}"))

    await bind_all(client, "node-1", await pods_until(client, *["Pending"] * 5))

    pods = await pods_until(client, *["Running"] * 4, "Failed")
    assert [pod.status.reason for pod in pods if pod.status.phase == "Failed"] == ["OutOfcpu"]


async def test_gracefully_deleted_pod_is_finished_before_it_goes(client: Client) -> None:
    await client.create(PODS, "default", single("a"))
    await bind_all(client, "node-0", await pods_until(client, "Pending"))
    await pods_until(client, "Running")
    seen: list[tuple[str | None, bool]] = []
    pods = Informer(client, PODS, RunPod)
    pods.listen(
        lambda _old, pod: seen.append((pod.status.phase, bool(pod.metadata.deletion_timestamp)) if pod else GONE)
    )

    async with asyncio.TaskGroup() as group:
        watch = group.create_task(pods.run())
        await pods.synced.wait()
        await client.delete(PODS, Key("default", "a"))
        await gone(client, PODS)
        watch.cancel()

    assert seen[:3] == [("Running", False), ("Running", True), ("Failed", True)]


async def test_deployment_rolls_to_a_new_template(client: Client) -> None:
    await client.create(DEPLOYMENTS, "default", workload(DEPLOYMENTS, "web", replicas=2))
    await bind_all(client, "node-0", await pods_until(client, "Pending", "Pending"))
    await pods_until(client, "Running", "Running")
    new = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "new"}]}}}}

    await client.patch(DEPLOYMENTS, Key("default", "web"), new)
    surge = await until(client, PODS, RunPod, lambda pods: len(pods) == 3)
    await bind_all(client, "node-1", surge)
    await bind_all(client, "node-1", await until(client, PODS, RunPod, lambda pods: len(images(pods)["new"]) == 2))

    await until(
        client, DEPLOYMENTS, Deployment, lambda all_: all_[0].status.updated_replicas == all_[0].status.replicas == 2
    )
    await until(client, DEPLOYMENTS, Deployment, lambda all_: all_[0].status.available_replicas == 2)
    assert images(await pods_until(client, "Running", "Running"))["old"] == []
    sets = await until(client, REPLICA_SETS, ReplicaSet, lambda sets: sorted(s.spec.replicas for s in sets) == [0, 2])
    assert all(each.metadata.name == f"web-{(each.metadata.labels or {})['pod-template-hash']}" for each in sets)


def images(pods: list[RunPod]) -> dict[str, list[str]]:
    by_image: dict[str, list[str]] = {"old": [], "new": []}
    for pod in pods:
        assert pod.spec.containers is not None
        by_image["new" if pod.spec.containers[0].image == "new" else "old"].append(pod.metadata.name)
    return by_image


async def test_job_ends_complete_with_everything_counted(client: Client) -> None:
    short = template("sums", **{RUN_SECONDS_ANNOTATION: "0.05"})
    body = workload(JOBS, "sums", parallelism=2, completions=3, template=short)
    del body["spec"]["selector"]
    await client.create(JOBS, "default", body)

    await bind_all(client, "node-0", await pods_until(client, "Pending", "Pending"))
    await bind_all(client, "node-0", await until(client, PODS, RunPod, lambda pods: len(pods) == 3))

    (job,) = await until(client, JOBS, Job, lambda jobs: jobs[0].status.completion_time is not None)
    assert (job.status.succeeded, job.status.failed, job.status.active) == (3, 0, 0)
    assert {each.type for each in job.status.conditions or ()} == {"SuccessCriteriaMet", "Complete"}


async def test_failed_job_takes_its_pods_with_it(client: Client) -> None:
    body = workload(JOBS, "sums", parallelism=3, completions=3, backoffLimit=0, template=template("sums"))
    del body["spec"]["selector"]
    await client.create(JOBS, "default", body)
    first, *_ = pods = await pods_until(client, "Pending", "Pending", "Pending")
    await bind_all(client, "node-0", pods)
    await pods_until(client, "Running", "Running", "Running")

    await client.delete(PODS, first.metadata.key)

    (job,) = await until(
        client, JOBS, Job, lambda jobs: any(each.type == "Failed" for each in jobs[0].status.conditions or ())
    )
    assert job.status.active == 0
    await gone(client, PODS)


@pytest.mark.parametrize("propagation", ["Background", "Foreground", None])
async def test_what_a_deployment_owns_goes_with_it(client: Client, propagation: str | None) -> None:
    await client.create(DEPLOYMENTS, "default", workload(DEPLOYMENTS, "web", replicas=2))
    await pods_until(client, "Pending", "Pending")

    await client.delete(DEPLOYMENTS, Key("default", "web"), propagation=propagation)

    for resource in (PODS, REPLICA_SETS, DEPLOYMENTS):
        await gone(client, resource)


async def test_orphans_stay_and_are_adopted_by_the_next_owner(client: Client) -> None:
    await client.create(REPLICA_SETS, "default", workload(REPLICA_SETS, "web", replicas=2))
    pods = await pods_until(client, "Pending", "Pending")
    old = {pod.metadata.uid for pod in pods}

    await client.delete(REPLICA_SETS, Key("default", "web"), propagation="Orphan")
    await gone(client, REPLICA_SETS)
    orphans = await until(client, PODS, RunPod, lambda pods: not any(pod.metadata.owner_references for pod in pods))
    await client.create(REPLICA_SETS, "default", workload(REPLICA_SETS, "web", replicas=2))

    adopted = await until(client, PODS, RunPod, lambda pods: all(pod.metadata.controller for pod in pods))
    assert old == {pod.metadata.uid for pod in orphans} == {pod.metadata.uid for pod in adopted}


async def test_eviction_is_granted_as_the_budget_allows(client: Client) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": spec}
    await client.create(REPLICA_SETS, "default", workload(REPLICA_SETS, "web", replicas=2))
    await client.create(POD_DISRUPTION_BUDGETS, "default", body)
    await bind_all(client, "node-0", await pods_until(client, "Pending", "Pending"))
    first, second = await pods_until(client, "Running", "Running")
    await until(client, POD_DISRUPTION_BUDGETS, Budget, lambda budgets: budgets[0].status.disruptions_allowed == 1)

    await client.evict(first.metadata.key)
    with pytest.raises(TooManyRequests):
        await client.evict(second.metadata.key)

    await pods_until(client, "Running", "Pending")


async def test_namespace_ends_with_everything_in_it(client: Client) -> None:
    await client.create(NAMESPACES, "", namespace("short"))
    await client.create(REPLICA_SETS, "short", workload(REPLICA_SETS, "web", replicas=2))
    await bind_all(client, "node-0", await pods_until(client, "Pending", "Pending"))

    await client.delete(NAMESPACES, Key("", "short"))

    await until(client, NAMESPACES, Namespace, lambda all_: "short" not in names(all_))
    await gone(client, PODS)
    await gone(client, REPLICA_SETS)


async def test_namespace_stays_while_something_in_it_holds_on(client: Client) -> None:
    pod = single("held")
    pod["metadata"]["finalizers"] = ["example.com/hold"]
    await client.create(NAMESPACES, "", namespace("holding"))
    await client.create(PODS, "holding", pod)
    await client.delete(NAMESPACES, Key("", "holding"))
    await until(client, PODS, RunPod, lambda pods: pods[0].metadata.deletion_timestamp is not None)

    for later in ("second", "third"):
        await client.create(NAMESPACES, "", namespace(later))
        await client.delete(NAMESPACES, Key("", later))
        left = await until(client, NAMESPACES, Namespace, lambda all_: names(all_).isdisjoint({"second", "third"}))
        assert "holding" in names(left)

    await client.patch(PODS, Key("holding", "held"), {"metadata": {"finalizers": None}})
    await until(client, NAMESPACES, Namespace, lambda all_: "holding" not in names(all_))


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def names(things: Sequence[Namespace]) -> set[str]:
    return {thing.metadata.name for thing in things}


async def test_owner_of_the_same_name_is_not_the_owner(client: Client) -> None:
    await client.create(REPLICA_SETS, "default", workload(REPLICA_SETS, "web", replicas=0))
    (owner,) = await until(client, REPLICA_SETS, ReplicaSet, lambda sets: len(sets) == 1)
    link = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
    for name, uid in (("right", owner.metadata.uid), ("wrong", "of-another-life")):
        pod = single(name)
        pod["metadata"]["ownerReferences"] = [{**link, "uid": uid}]
        await client.create(PODS, "default", pod)

    left = await until(client, PODS, RunPod, lambda pods: len(pods) == 1)

    assert [pod.metadata.name for pod in left] == ["right"]


async def test_pods_of_a_lost_node_are_removed(client: Client) -> None:
    await client.create(PODS, "default", single("a"))
    await bind_all(client, "node-1", await pods_until(client, "Pending"))
    await pods_until(client, "Running")

    await client.delete(NODES, Key("", "node-1"))

    await gone(client, PODS)


async def test_pod_bound_to_a_node_that_comes_later_runs_then() -> None:
    async with Sandbox(bare=True) as sandbox, connect(str(sandbox.kubeconfig), user_agent="test") as client:
        for pod, node in (("a", "late"), ("b", "early")):
            body = single(pod)
            body["spec"]["nodeName"] = node
            await client.create(PODS, "default", body)
        async with asyncio.TaskGroup() as group:
            kubelets = group.create_task(run_kubelets(client, every_node=True))
            await register_nodes(client, [NodeGroup(name="early", allocatable={"cpu": "1"})])
            await pods_until(client, "Pending", "Running")
            await register_nodes(client, [NodeGroup(name="late", allocatable={"cpu": "1"})])
            await pods_until(client, "Running", "Running")
            kubelets.cancel()


async def test_restarted_kubelets_write_nothing(client: Client) -> None:
    await client.create(PODS, "default", single("a"))
    await bind_all(client, "node-0", await pods_until(client, "Pending"))
    (before,) = await pods_until(client, "Running")

    async with asyncio.TaskGroup() as group:
        second = group.create_task(run_kubelets(client, every_node=True))
        await client.create(PODS, "default", single("b"))
        fresh = await until(client, PODS, RunPod, lambda pods: len(pods) == 2)
        await bind_all(client, "node-0", fresh)
        after, _ = await pods_until(client, "Running", "Running")
        second.cancel()

    assert after == before


async def test_cluster_file_says_which_nodes_there_are(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    groups = [
        {"name": "gpu", "count": 2, "labels": {"zone": "east"}, "allocatable": {"cpu": 64, "example.com/gpu": 8}},
        {"name": "edge", "taints": [{"key": "edge", "effect": "NoSchedule"}], "allocatable": {"cpu": "500m"}},
    ]
    file.write_text(yaml.safe_dump({"nodes": groups}))

    async with (
        Sandbox(groups=read_cluster_file(file), kubeconfig=tmp_path / "kubeconfig") as sandbox,
        connect(str(sandbox.kubeconfig), user_agent="test") as client,
    ):
        nodes, _ = await client.list(NODES, RunNode)

    assert sandbox.kubeconfig == tmp_path / "kubeconfig"
    assert [node.metadata.name for node in nodes] == ["edge", "gpu-0", "gpu-1"]
    assert nodes[1].status.allocatable == {"cpu": "64", "example.com/gpu": "8", "pods": "110"}
    assert (nodes[1].metadata.labels or {})["zone"] == "east"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("nodes: [{name: a, cpus: 3}]", "cpus", id="unknown field"),
        pytest.param("nodes: [{name: a, allocatable: {cpu: lots}}]", "nodes 'a', allocatable cpu", id="quantity"),
        pytest.param("nodes: [{name: a, allocatable: {cpu: -1}}]", "less than nothing", id="negative quantity"),
        pytest.param("nodes: [{name: a}, {name: a}]", "these repeat: a", id="repeated"),
        pytest.param("nodes: [{name: A B}]", "name", id="illegal name"),
        pytest.param("nodes: {", "cluster.yaml", id="no YAML"),
        pytest.param("nodes: [{name: a, count: -1}]", "count", id="negative count"),
    ],
)
def test_bad_cluster_file_is_named_with_its_problem(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)

    with pytest.raises(ClusterFileError) as caught:
        read_cluster_file(file)

    assert str(file) in str(caught.value)
    assert problem in str(caught.value)


async def test_bare_sandbox_has_neither_nodes_nor_controllers() -> None:
    async with Sandbox(bare=True) as sandbox, connect(str(sandbox.kubeconfig), user_agent="test") as client:
        nodes, _ = await client.list(NODES, RunNode)
        assert nodes == []


async def test_body_keeps_its_own_exception_and_nothing_is_left() -> None:
    sandbox = Sandbox(groups=ONE_NODE)

    with pytest.raises(LookupError, match="mine"):
        async with sandbox:
            raise LookupError("mine")

    assert not sandbox.kubeconfig.parent.exists()
    with pytest.raises((ApiError, OSError)):
        await asyncio.open_connection("127.0.0.1", int(sandbox.url.rpartition(":")[2]))


async def test_stateful_set_comes_up_and_is_updated(client: Client) -> None:
    bound = always(template("db"))
    bound["spec"]["nodeName"] = "node-0"
    await client.create(STATEFUL_SETS, "default", workload(STATEFUL_SETS, "db", replicas=2, template=bound))
    await until(client, STATEFUL_SETS, StatefulSet, lambda sets: sets[0].status.ready_replicas == 2)

    bound["metadata"]["labels"]["version"] = "2"
    await client.patch(STATEFUL_SETS, Key("default", "db"), {"spec": {"template": bound}})

    def is_updated(sets: list[StatefulSet]) -> bool:
        status = sets[0].status
        is_new = status.observed_generation == 2 and status.current_revision == status.update_revision
        return is_new and status.updated_replicas == status.ready_replicas == 2

    await until(client, STATEFUL_SETS, StatefulSet, is_updated)
    pods, _ = await client.list(PODS, RunPod, namespace="default")
    assert sorted(pod.metadata.name for pod in pods) == ["db-0", "db-1"]
    assert {(pod.metadata.labels or {})["version"] for pod in pods} == {"2"}


async def test_namespaces_have_a_default_account(client: Client) -> None:
    await client.create(NAMESPACES, "", {"metadata": {"name": "own"}})

    def uids(accounts: list[Thing]) -> list[str]:
        return [each.metadata.uid for each in accounts if each.metadata.key == Key("own", "default")]

    first = uids(await until(client, SERVICE_ACCOUNTS, Thing, lambda accounts: bool(uids(accounts))))
    await client.delete(SERVICE_ACCOUNTS, Key("own", "default"))
    await until(client, SERVICE_ACCOUNTS, Thing, lambda accounts: uids(accounts) not in ([], first))


async def test_nodes_renew_their_leases_whoever_renewed_them_before(client: Client) -> None:
    """A lease that nobody renews any more would have its node lost and found without end."""
    await until(client, LEASES, Lease, lambda leases: len(leases) == 2)
    long_ago = {"spec": {"holderIdentity": "other kubelets, that ended", "renewTime": "2020-01-01T00:00:00.000000Z"}}
    await client.patch(LEASES, Key(LEASE_NAMESPACE, "node-0"), long_ago)
    await until(client, LEASES, Lease, lambda leases: all(is_recent(lease) for lease in leases))
    await until(client, NODES, RunNode, lambda nodes: not any(node.spec.taints for node in nodes))


def is_recent(lease: Lease) -> bool:
    return lease.spec.renew_time is not None and lease.spec.renew_time.year > 2020


async def test_a_node_that_stops_is_tainted_and_loses_its_pods() -> None:
    async with (
        Sandbox(groups=ONE_NODE, pace=Pace(speed=1000), heartbeat_s=0.5) as sandbox,
        connect(str(sandbox.kubeconfig), user_agent="test") as client,
    ):
        pod = {"metadata": {"name": "p"}, "spec": {**always(template("p"))["spec"], "nodeName": "node-0"}}
        await client.create(PODS, "default", pod)
        await until(client, PODS, RunPod, lambda pods: pods[0].status.phase == "Running")

        await client.patch(NODES, Key("", "node-0"), {"metadata": {"annotations": {STOPPED_ANNOTATION: "true"}}})
        (node,) = await until(client, NODES, RunNode, lambda nodes: bool(nodes[0].spec.taints))
        await until(client, PODS, RunPod, lambda pods: pods[0].metadata.deletion_timestamp is not None)
        await client.patch(NODES, Key("", "node-0"), {"metadata": {"annotations": {STOPPED_ANNOTATION: None}}})
        await until(client, NODES, RunNode, lambda nodes: not nodes[0].spec.taints)
        await until(client, PODS, RunPod, lambda pods: not pods)

    assert {taint.effect for taint in node.spec.taints or ()} == {"NoExecute", "NoSchedule"}
    assert {taint.key for taint in node.spec.taints or ()} == {"node.kubernetes.io/unreachable"}


async def test_speed_lets_long_jobs_end_soon() -> None:
    async with (
        Sandbox(groups=ONE_NODE, pace=Pace(speed=3600)) as sandbox,
        connect(str(sandbox.kubeconfig), user_agent="test") as client,
    ):
        body = template("sums", **{RUN_SECONDS_ANNOTATION: "1800"})
        body["spec"]["nodeName"] = "node-0"
        spec = {"template": body, "completions": 2}
        await client.create(JOBS, "default", {"metadata": {"name": "sums"}, "spec": spec})

        await until(client, JOBS, Job, lambda jobs: jobs[0].status.succeeded == 2)


async def test_cron_job_starts_jobs_and_keeps_the_last_ones() -> None:
    async with (
        Sandbox(groups=ONE_NODE, pace=Pace(speed=3600)) as sandbox,
        connect(str(sandbox.kubeconfig), user_agent="test") as client,
    ):
        body = template("tick", **{RUN_SECONDS_ANNOTATION: "1"})
        body["spec"]["nodeName"] = "node-0"
        spec = {
            "schedule": "*/30 * * * *",
            "jobTemplate": {"spec": {"template": body}},
            "successfulJobsHistoryLimit": 1,
        }
        await client.create(CRON_JOBS, "default", {"metadata": {"name": "tick"}, "spec": spec})
        seen: set[str] = set()

        def has_started_three(jobs: list[Job]) -> bool:
            seen.update(job.metadata.name for job in jobs)
            return len(seen) >= 3

        await until(client, JOBS, Job, has_started_three)
        await until(client, JOBS, Job, lambda jobs: len(jobs) <= 2)

"""What the controllers of Kubernetes do to the pods of a gang, and what we make of it."""

from pathlib import Path
from typing import Any, Final

from gangline.sandbox.kubelets.podlife import START_DELAY_ANNOTATION
from tests.support.cluster import Cluster, running_cluster
from tests.support.kubectl import Kubectl
from tests.support.manifests import job, nodes, pod_group, replica_set
from tests.support.real_cluster import RealCluster

CURE_S: Final = 120.0
"""The scheduler waits for half a minute before it names the owner and what would help."""
NEVER_STARTS: Final = {START_DELAY_ANNOTATION: "600"}


def stateful_set(name: str, policy: str) -> dict[str, Any]:
    """A StatefulSet of three whose pods belong to the PodGroup of its name."""
    like = replica_set(name, 3, name)
    return like | {
        "kind": "StatefulSet",
        "spec": like["spec"] | {"serviceName": name, "podManagementPolicy": policy},
    }


def failing_once(name: str, backoff_limit: int, **more: Any) -> dict[str, Any]:
    """A Job of three whose pods belong to the PodGroup of its name."""
    body = job(name, name, parallelism=3, completions=3, **more)
    body["spec"]["backoffLimit"] = backoff_limit
    return body


async def test_owners_that_make_too_few_pods_are_named_with_the_cure(real: RealCluster, tmp_path: Path) -> None:
    kubectl = Kubectl(real, tmp_path)
    async with running_cluster(nodes(1, cpu="16")) as cluster:
        await kubectl.apply(pod_group("ordered", 3), stateful_set("ordered", "OrderedReady"))
        await kubectl.apply(pod_group("narrow", 3), job("narrow", "narrow", parallelism=2, completions=6))
        await kubectl.apply(pod_group("parallel", 3), stateful_set("parallel", "Parallel"))
        await cluster.until(lambda: cluster.phase("parallel") == "Running", "with Parallel the gang starts")
        await cluster.until(lambda: cluster.reasons("ordered") == ["GangIncomplete"], "one pod is made, and waits")
        await cluster.until(
            lambda: _all_say(cluster, "ordered", 1, "StatefulSet ordered", "podManagementPolicy: Parallel"),
            "the cure of the StatefulSet is told",
            CURE_S,
        )
        await cluster.until(
            lambda: _all_say(cluster, "narrow", 2, "Job narrow", "raise parallelism or lower minMember"),
            "the cure of the Job is told",
            CURE_S,
        )
        for kind, name in (("statefulset", "ordered"), ("job", "narrow")):
            await kubectl(f"delete {kind} {name}")
        await kubectl.apply(stateful_set("ordered", "Parallel"))
        await cluster.until(lambda: cluster.phase("ordered") == "Running", "the cure cures")


def _all_say(cluster: Cluster, name: str, count: int, *words: str) -> bool:
    messages = cluster.messages(name)
    return len(messages) == count and all(word in message for message in messages for word in words)


async def test_deleting_members_that_have_not_started_fails_a_job_without_retries(
    real: RealCluster, tmp_path: Path
) -> None:
    """So a gang that is half bound is finished, never taken back."""
    kubectl = Kubectl(real, tmp_path)
    async with running_cluster(nodes(1, cpu="16")) as cluster:
        await kubectl.apply(pod_group("frail", 3), failing_once("frail", 0, annotations=NEVER_STARTS))
        await cluster.until(lambda: cluster.bound("frail") == 3, "all are bound")
        victims = [pod.metadata.name for pod in cluster.of("frail")[:2]]
        await kubectl(f"delete pod --wait=false {' '.join(victims)}")
        await kubectl("wait job/frail --for=condition=Failed --timeout=100s")
        await cluster.until(lambda: not cluster.of("frail"), "the third is removed too")


async def test_a_member_that_fails_fails_a_job_without_retries_and_its_group(real: RealCluster, tmp_path: Path) -> None:
    kubectl = Kubectl(real, tmp_path)
    async with running_cluster(nodes(1, cpu="16")) as cluster:
        await kubectl.apply(pod_group("sums", 3), failing_once("sums", 0, run_s=1, exit_code=1))
        await kubectl("wait job/sums --for=condition=Failed --timeout=100s")
        await cluster.until(lambda: cluster.phase("sums") == "Failed", "the group says so")


async def test_a_member_that_is_lost_is_replaced_and_the_gang_repaired(real: RealCluster, tmp_path: Path) -> None:
    kubectl = Kubectl(real, tmp_path)
    async with running_cluster(nodes(1, cpu="3")) as cluster:
        await kubectl.apply(pod_group("tough", 3), failing_once("tough", 6))
        await cluster.until(lambda: cluster.phase("tough") == "Running", "all run")
        lost = cluster.of("tough")[0].metadata
        await kubectl(f"delete pod --wait=false {lost.name}")
        await cluster.until(lambda: _is_whole_without(cluster, lost.uid), "the Job makes another, and it starts")
        await cluster.until(lambda: cluster.phase("tough") == "Running", "the group says so")


def _is_whole_without(cluster: Cluster, uid: str) -> bool:
    return cluster.running("tough") == 3 and uid not in {pod.metadata.uid for pod in cluster.of("tough")}

"""The steps of the walk, in order: what is done, why, how a user would do it, and what must be seen then."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec import Struct

from gangline.cli.walk import checks, manifests
from gangline.cli.walk.checks import Expectation
from gangline.cli.walk.stage import Stage
from gangline.cli.walk.view import View, is_running
from gangline.contract.meta import Key
from gangline.contract.podgroup import Phase
from gangline.kube.wire.resources import DEPLOYMENTS, JOBS, POD_GROUPS, PODS, REPLICA_SETS
from gangline.sandbox.kubelets.nodes import NodeGroup

NODE_CPU: Final = "9"
NODE_MEMORY: Final = "1500Mi"
"""Room for exactly three pods of 3 CPU and 500Mi."""
JOB_RUN_S: Final = 1.0


class Step(Struct, frozen=True, kw_only=True):
    """One step; `expect` is asked before `act`, so that it can compare with what was."""

    title: str
    why: str
    commands: tuple[str, ...]
    expect: Callable[[View], Sequence[Expectation]]
    act: Callable[[Stage], Awaitable[None]]


def node(name: str) -> NodeGroup:
    """Describe a node with room for exactly three pods."""
    return NodeGroup(name=name, allocatable={"cpu": NODE_CPU, "memory": NODE_MEMORY})


def _expect_three_of_six(_view: View) -> Sequence[Expectation]:
    return (
        checks.never_more_than("team", 3),
        checks.pods_are("team", running=3, waiting=3),
        checks.group_is("team", Phase.RUNNING, scheduled=3, running=3),
        checks.every_waiting_pod_says("team", "0/1 nodes are available"),
    )


async def _start_team(stage: Stage) -> None:
    await stage.create(POD_GROUPS, manifests.pod_group("team", min_member=3))
    await stage.create(REPLICA_SETS, manifests.replica_set("team", replicas=6))


def _expect_nobody_evicted(view: View) -> Sequence[Expectation]:
    return (
        checks.untouched("team", _running_uids(view, "team")),
        checks.group_is("team", Phase.SCHEDULING, running=3),
        checks.pods_are("team", running=3, waiting=3),
        checks.every_waiting_pod_says("team", "0/1 nodes are available", "needs 3 cpu", "lacks 1"),
    )


async def _raise_min_member(stage: Stage) -> None:
    await stage.client.patch(POD_GROUPS, Key(manifests.NAMESPACE, "team"), {"spec": {"minMember": 4}})


def _expect_all_wait(view: View) -> Sequence[Expectation]:
    return (
        checks.none_bound_but("team", [pod.metadata.uid for pod in view.pods_of("team")]),
        checks.pods_are("team", running=0, waiting=6),
        checks.group_is("team", Phase.SCHEDULING, scheduled=0, running=0),
        checks.every_waiting_pod_says("team", "0/1 nodes are available", "3 of 4 members fit", "1 more needs 3 cpu"),
    )


async def _start_team_again(stage: Stage) -> None:
    await stage.delete(REPLICA_SETS, "team")
    await stage.until(checks.no_pods("team"))
    await stage.create(REPLICA_SETS, manifests.replica_set("team", replicas=6))


def _expect_all_run(_view: View) -> Sequence[Expectation]:
    return (
        checks.pods_are("team", running=6, waiting=0),
        checks.group_is("team", Phase.RUNNING, scheduled=6, running=6),
    )


async def _add_node(stage: Stage) -> None:
    await stage.add_node(node("node-1"))


def _expect_shadow_waits(view: View) -> Sequence[Expectation]:
    return (
        checks.no_group_object("shadow"),
        checks.untouched("team", _running_uids(view, "team")),
        checks.pods_are("shadow", running=0, waiting=4),
        checks.every_waiting_pod_says("shadow", "0/2 nodes are available", "0 of 4 members fit"),
    )


async def _start_shadow(stage: Stage) -> None:
    await stage.create(DEPLOYMENTS, manifests.shadow_deployment("shadow", replicas=4))


def _expect_shadow_runs(_view: View) -> Sequence[Expectation]:
    return (checks.no_group_object("shadow"), checks.pods_are("shadow", running=4, waiting=0))


async def _stop_team(stage: Stage) -> None:
    await stage.delete(REPLICA_SETS, "team")
    await stage.delete(POD_GROUPS, "team")


def _expect_job_finishes(_view: View) -> Sequence[Expectation]:
    return (
        checks.job_completed("sums", 7),
        checks.group_is("sums", Phase.FINISHED, succeeded=7),
    )


async def _run_job(stage: Stage) -> None:
    await stage.delete(DEPLOYMENTS, "shadow")
    await stage.until(checks.no_pods("shadow"))
    await stage.create(POD_GROUPS, manifests.pod_group("sums", min_member=3))
    await stage.create(JOBS, manifests.job("sums", parallelism=3, completions=7, run_s=JOB_RUN_S))


def _expect_crew(_view: View) -> Sequence[Expectation]:
    return (
        checks.pods_are("crew", running=6, waiting=0),
        checks.group_is("crew", Phase.RUNNING, scheduled=6, running=6),
    )


async def _start_crew(stage: Stage) -> None:
    await stage.delete(JOBS, "sums")
    await stage.delete(POD_GROUPS, "sums")
    await stage.create(POD_GROUPS, manifests.pod_group("crew", min_member=6))
    await stage.create(REPLICA_SETS, manifests.replica_set("crew", replicas=6))


def _expect_repair(view: View) -> Sequence[Expectation]:
    killed, *others = sorted(_running_uids(view, "crew"))
    return (
        checks.untouched("crew", others),
        checks.replaced("crew", killed),
        checks.pods_are("crew", running=6, waiting=0),
        checks.group_is("crew", Phase.RUNNING, scheduled=6, running=6),
    )


async def _kill_member(stage: Stage) -> None:
    uid = min(_running_uids(stage.view, "crew"))
    pod = stage.view.pods.cache.by_uid(uid)
    if pod is not None:
        await stage.client.delete(PODS, pod.metadata.key, uid=uid)


def _running_uids(view: View, app: str) -> frozenset[str]:
    return frozenset(pod.metadata.uid for pod in view.pods_of(app) if is_running(pod))


STEPS: Final = (
    Step(
        title="Six pods, room for three, minMember 3",
        why="One node has room for exactly 3 pods of 3 CPU and 500Mi. Three are enough, so three start.",
        commands=("kubectl apply -f team.yaml      # PodGroup team, minMember 3; ReplicaSet team, 6 replicas",),
        expect=_expect_three_of_six,
        act=_start_team,
    ),
    Step(
        title="minMember is raised to 4 while 3 run",
        why="What runs is left alone; the group says that it is one short, and the pods say what the fourth needs.",
        commands=('kubectl patch pg team --type merge -p \'{"spec":{"minMember":4}}\'',),
        expect=_expect_nobody_evicted,
        act=_raise_min_member,
    ),
    Step(
        title="The ReplicaSet is deleted and made again",
        why="Now nothing of the gang runs yet, and 4 do not fit: nobody starts, nobody holds room.",
        commands=("kubectl delete rs team --cascade=foreground", "kubectl apply -f team.yaml"),
        expect=_expect_all_wait,
        act=_start_team_again,
    ),
    Step(
        title="A node is added",
        why="Room for six: the four that were missing start together, the other two follow.",
        commands=("kubectl apply -f node-1.yaml    # 9 CPU, 1500Mi",),
        expect=_expect_all_run,
        act=_add_node,
    ),
    Step(
        title="A shadow gang: no PodGroup, one annotation",
        why='Four more pods, tied by `scheduling.k8s.io/group-min-member: "4"`. There is no room, so none starts.',
        commands=("kubectl apply -f shadow.yaml    # Deployment shadow, 4 replicas",),
        expect=_expect_shadow_waits,
        act=_start_shadow,
    ),
    Step(
        title="The team goes, the shadow gang starts",
        why="Room comes free piece by piece; the gang starts when there is enough for all four.",
        commands=("kubectl delete rs,pg team",),
        expect=_expect_shadow_runs,
        act=_stop_team,
    ),
    Step(
        title="A Job of seven, three at a time",
        why="The seventh pod comes alone. Its siblings have done their part, so it does not wait for anybody.",
        commands=(
            "kubectl delete deploy shadow",
            "kubectl apply -f sums.yaml      # PodGroup, minMember 3; Job, 7 in threes",
        ),
        expect=_expect_job_finishes,
        act=_run_job,
    ),
    Step(
        title="A gang of six fills both nodes",
        why="All six or none.",
        commands=(
            "kubectl delete job,pg sums",
            "kubectl apply -f crew.yaml      # PodGroup crew, minMember 6; ReplicaSet crew, 6 replicas",
        ),
        expect=_expect_crew,
        act=_start_crew,
    ),
    Step(
        title="A member is killed",
        why="The gang is repaired: the replacement starts at once, the five others are not touched.",
        commands=("kubectl delete pod $(kubectl get pods -l app=crew -o name | head -1)",),
        expect=_expect_repair,
        act=_kill_member,
    ),
)

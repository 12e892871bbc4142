"""All workload controllers on one client: which kinds they watch, and which change wakes which."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.contract.policy import LabelSelector
from gangline.contract.selectors import label_selector_matches
from gangline.kube.client import Client
from gangline.kube.wire.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
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
from gangline.sandbox.actions import Decision
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers.accounts import DEFAULT, DefaultAccounts
from gangline.sandbox.controllers.cronjob import CRON_JOBS, CronJobs
from gangline.sandbox.controllers.deployment import Deployments
from gangline.sandbox.controllers.disruption import Budget, Budgets
from gangline.sandbox.controllers.gc import Collector
from gangline.sandbox.controllers.job import Jobs
from gangline.sandbox.controllers.namespace import NamespaceEnder
from gangline.sandbox.controllers.nodes import NodeLifecycle, TaintEvictions, evicting_taints
from gangline.sandbox.controllers.podgc import LostPods
from gangline.sandbox.controllers.replicaset import ReplicaSets
from gangline.sandbox.controllers.served import Served
from gangline.sandbox.controllers.statefulset import CLAIMS, STATEFUL_SETS, StatefulSets
from gangline.sandbox.informer import AnyInformer, Informer
from gangline.sandbox.kubelet import LEASE_NAMESPACE
from gangline.sandbox.objects import (
    CronJob,
    Deployment,
    Identified,
    Job,
    Lease,
    Namespace,
    ReplicaSet,
    RunNode,
    RunPod,
    StatefulSet,
    Thing,
)
from gangline.sandbox.reconciler import Decider, Reconciler

T = TypeVar("T", bound=Identified)


class Pace(Struct, frozen=True, kw_only=True):
    """How long things take here that take longer on a real cluster, in seconds."""

    lost_node_s: float = 5.0
    """From a node's end to the removal of its pods (there: about 50)."""
    job_backoff_s: float = 2.0
    """Before the replacement of a Job's first failed pod (there: about 10)."""
    speed: float = 1.0
    """How many times faster everything goes for which objects name seconds: run times, deadlines, tolerations."""

    @property
    def hurried_backoff_s(self) -> float:
        """`job_backoff_s` at this speed."""
        return self.job_backoff_s / self.speed


class Watched:
    """The kinds that the controllers read whole, each watched once."""

    def __init__(self, client: Client) -> None:
        self.pods = Informer(client, PODS, RunPod)
        self.replica_sets = Informer(client, REPLICA_SETS, ReplicaSet)
        self.deployments = Informer(client, DEPLOYMENTS, Deployment)
        self.stateful_sets = Informer(client, STATEFUL_SETS, StatefulSet)
        self.claims = Informer(client, CLAIMS, Thing)
        self.jobs = Informer(client, JOBS, Job)
        self.cron_jobs = Informer(client, CRON_JOBS, CronJob)
        self.nodes = Informer(client, NODES, RunNode)
        self.leases = Informer(client, LEASES, Lease)
        self.accounts = Informer(client, SERVICE_ACCOUNTS, Thing)
        self.namespaces = Informer(client, NAMESPACES, Namespace)
        self.budgets = Informer(client, POD_DISRUPTION_BUDGETS, Budget)
        definitions = Informer(client, CUSTOM_RESOURCE_DEFINITIONS, Thing)
        kinds = (
            self.pods,
            self.replica_sets,
            self.deployments,
            self.stateful_sets,
            self.claims,
            self.jobs,
            self.cron_jobs,
            self.nodes,
            self.leases,
            self.accounts,
            self.namespaces,
            self.budgets,
            definitions,
        )
        self.informers: Mapping[Resource, AnyInformer] = {each.resource: each for each in kinds}
        self.caches: Mapping[Resource, Cache[Any]] = {each.resource: each.cache for each in kinds}


async def run_controllers(client: Client, *, pace: Pace | None = None) -> None:
    """Run all controllers until cancelled."""
    pace = pace or Pace()
    watched = Watched(client)
    collector = Collector(client, watched.informers)
    loops: dict[str, Reconciler[Any]] = {
        "replicasets": _replica_sets(client, watched, pace),
        "deployments": _deployments(client, watched),
        "statefulsets": _stateful_sets(client, watched, pace),
        "jobs": _jobs(client, watched, pace),
        "cronjobs": _cron_jobs(client, watched, pace),
        "budgets": _budgets(client, watched),
        "lost-pods": _lost_pods(client, watched, pace),
        "nodes": _nodes(client, watched),
        "taint-evictions": _taint_evictions(client, watched, pace),
        "service-accounts": _accounts(client, watched),
        "namespaces": _namespaces(client, watched, collector.served),
        "garbage-collector": collector.loop,
    }
    synced = [each.synced for each in watched.informers.values()]
    async with asyncio.TaskGroup() as group:
        for informer in watched.informers.values():
            group.create_task(informer.run(), name=f"watch-{informer.resource.plural}")
        group.create_task(collector.served.run(), name="served-kinds")
        for name, loop in loops.items():
            needs = [*synced, collector.served.synced] if name in ("namespaces", "garbage-collector") else synced
            group.create_task(loop.run(needs), name=name)


def _replica_sets(client: Client, watched: Watched, pace: Pace) -> Reconciler[Key]:
    controller = ReplicaSets(watched.replica_sets.cache, watched.pods.cache, speed=pace.speed)
    loop = _loop(client, watched, "replicasets", controller.decide)
    _wake_for_itself(watched.replica_sets, loop)
    _wake_owner(watched.pods, watched.replica_sets, lambda owner: owner.spec.selector, loop)
    return loop


def _deployments(client: Client, watched: Watched) -> Reconciler[Key]:
    controller = Deployments(watched.deployments.cache, watched.replica_sets.cache, watched.pods.cache)
    loop = _loop(client, watched, "deployments", controller.decide)
    _wake_for_itself(watched.deployments, loop)
    _wake_owner(watched.replica_sets, watched.deployments, lambda owner: owner.spec.selector, loop)

    def wake_grandparent(old: RunPod | None, new: RunPod | None) -> None:
        pod = new or old
        parent = pod.metadata.controller if pod is not None else None
        replica_set = watched.replica_sets.cache.by_uid(parent.uid) if parent is not None else None
        for key in _controller_keys(replica_set, DEPLOYMENTS.kind):
            loop.enqueue(key)

    watched.pods.listen(wake_grandparent)
    return loop


def _stateful_sets(client: Client, watched: Watched, pace: Pace) -> Reconciler[Key]:
    controller = StatefulSets(watched.stateful_sets.cache, watched.pods.cache, watched.claims.cache, speed=pace.speed)
    loop = _loop(client, watched, "statefulsets", controller.decide)
    _wake_for_itself(watched.stateful_sets, loop)
    _wake_owner(watched.pods, watched.stateful_sets, lambda owner: owner.spec.selector, loop)
    return loop


def _jobs(client: Client, watched: Watched, pace: Pace) -> Reconciler[Key]:
    controller = Jobs(watched.jobs.cache, watched.pods.cache, backoff_s=pace.hurried_backoff_s, speed=pace.speed)
    watched.pods.listen(controller.observe)
    watched.jobs.listen(controller.forget)
    loop = _loop(client, watched, "jobs", controller.decide)
    _wake_for_itself(watched.jobs, loop)
    _wake_owner(watched.pods, watched.jobs, lambda _job: None, loop)
    return loop


def _cron_jobs(client: Client, watched: Watched, pace: Pace) -> Reconciler[Key]:
    controller = CronJobs(watched.cron_jobs.cache, watched.jobs.cache, speed=pace.speed)
    loop = _loop(client, watched, "cronjobs", controller.decide)
    _wake_for_itself(watched.cron_jobs, loop)
    _wake_owner(watched.jobs, watched.cron_jobs, lambda _cron_job: None, loop)
    return loop


def _budgets(client: Client, watched: Watched) -> Reconciler[Key]:
    controller = Budgets(watched.budgets.cache, watched.pods.cache)
    loop = _loop(client, watched, "budgets", controller.decide)
    _wake_for_itself(watched.budgets, loop)

    def wake_budgets_of(old: RunPod | None, new: RunPod | None) -> None:
        pods = [pod for pod in (old, new) if pod is not None]
        for budget in watched.budgets.cache.in_namespace(pods[0].metadata.namespace):
            if any(label_selector_matches(budget.spec.selector, pod.metadata.labels) for pod in pods):
                loop.enqueue(budget.metadata.key)

    watched.pods.listen(wake_budgets_of)
    return loop


def _lost_pods(client: Client, watched: Watched, pace: Pace) -> Reconciler[Key]:
    controller = LostPods(watched.pods.cache, watched.nodes.cache, grace_s=pace.lost_node_s)
    loop = _loop(client, watched, "lost-pods", controller.decide)
    _wake_for_itself(watched.pods, loop)

    def wake_pods_of(old: RunNode | None, new: RunNode | None) -> None:
        if old is not None and new is None:
            for pod in watched.pods.cache:
                if pod.spec.node_name == old.metadata.name:
                    loop.enqueue(pod.metadata.key)

    watched.nodes.listen(wake_pods_of)
    return loop


def _nodes(client: Client, watched: Watched) -> Reconciler[Key]:
    controller = NodeLifecycle(watched.nodes.cache, watched.leases.cache)
    loop = _loop(client, watched, "nodes", controller.decide)
    _wake_for_itself(watched.nodes, loop)

    def wake_node_of(old: Lease | None, new: Lease | None) -> None:
        lease = new or old
        if lease is not None and old is None and lease.metadata.namespace == LEASE_NAMESPACE:
            loop.enqueue(Key("", lease.metadata.name))

    watched.leases.listen(wake_node_of)
    return loop


def _taint_evictions(client: Client, watched: Watched, pace: Pace) -> Reconciler[Key]:
    controller = TaintEvictions(watched.pods.cache, watched.nodes.cache, speed=pace.speed)
    loop = _loop(client, watched, "taint-evictions", controller.decide)

    def wake_if_tainted(_old: RunPod | None, new: RunPod | None) -> None:
        node = watched.nodes.cache.get(Key("", new.spec.node_name)) if new is not None and new.spec.node_name else None
        if new is not None and evicting_taints(node):
            loop.enqueue(new.metadata.key)

    def wake_pods_of(_old: RunNode | None, new: RunNode | None) -> None:
        for pod in watched.pods.cache if evicting_taints(new) else ():
            if new is not None and pod.spec.node_name == new.metadata.name:
                loop.enqueue(pod.metadata.key)

    watched.pods.listen(wake_if_tainted)
    watched.nodes.listen(wake_pods_of)
    return loop


def _accounts(client: Client, watched: Watched) -> Reconciler[Key]:
    controller = DefaultAccounts(watched.namespaces.cache, watched.accounts.cache)
    loop = _loop(client, watched, "service-accounts", controller.decide)
    _wake_for_itself(watched.namespaces, loop)

    def wake_namespace_of(old: Thing | None, new: Thing | None) -> None:
        account = new or old
        if account is not None and account.metadata.name == DEFAULT:
            loop.enqueue(Key("", account.metadata.namespace))

    watched.accounts.listen(wake_namespace_of)
    return loop


def _namespaces(client: Client, watched: Watched, served: Served) -> Reconciler[str]:
    ender = NamespaceEnder(client, watched.namespaces.cache, served)
    loop = Reconciler("namespaces", ender.reconcile, workers=2)
    watched.namespaces.listen(lambda _old, new: loop.enqueue(new.metadata.name) if new is not None else None)
    return loop


def _loop(client: Client, watched: Watched, name: str, decide: Callable[[Key, datetime], Decision]) -> Reconciler[Key]:
    return Reconciler(name, Decider(client, decide, watched.caches).reconcile)


def _wake_for_itself(informer: Informer[T], loop: Reconciler[Key]) -> None:
    def wake(old: T | None, new: T | None) -> None:
        thing = new or old
        if thing is not None:
            loop.enqueue(thing.metadata.key)

    informer.listen(wake)


def _wake_owner(
    children: AnyInformer,
    owners: Informer[T],
    selector_of: Callable[[T], LabelSelector | None],
    loop: Reconciler[Key],
) -> None:
    """Wake the controller that a child has or had, and those that could adopt a child without one."""

    def wake(old: Identified | None, new: Identified | None) -> None:
        for key in (*_controller_keys(old, owners.resource.kind), *_controller_keys(new, owners.resource.kind)):
            loop.enqueue(key)
        if new is not None and new.metadata.controller is None:
            for owner in owners.cache.in_namespace(new.metadata.namespace):
                if label_selector_matches(selector_of(owner), new.metadata.labels):
                    loop.enqueue(owner.metadata.key)

    children.listen(wake)


def _controller_keys(thing: Identified | None, kind: str) -> Iterable[Key]:
    controller = thing.metadata.controller if thing is not None else None
    if thing is not None and controller is not None and controller.kind == kind:
        yield Key(thing.metadata.namespace, controller.name)

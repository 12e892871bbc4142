"""All workload controllers on one client: which kinds they watch, and which change wakes which."""

import asyncio
from collections.abc import Mapping
from typing import Any

from gangline.kube.client import Client
from gangline.sandbox.controllers import (
    cronjob,
    deployment,
    disruption,
    evictions,
    namespace,
    nodes,
    replicaset,
    statefulset,
)
from gangline.sandbox.controllers.evictions import Evictions
from gangline.sandbox.controllers.gc import Collector
from gangline.sandbox.controllers.job import Jobs
from gangline.sandbox.controllers.namespace import NamespaceEnder
from gangline.sandbox.controllers.nodes import Nodes
from gangline.sandbox.objects.apps import Deployment, ReplicaSet, StatefulSet
from gangline.sandbox.objects.batch import CronJob, Job
from gangline.sandbox.objects.core import Lease, Namespace, RunNode, RunPod, ServiceAccount
from gangline.sandbox.objects.policy import Budget
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.loops import Loops, Wake, owners
from gangline.sandbox.reconciling.world import Pace


async def run_controllers(client: Client, *, pace: Pace | None = None) -> None:
    """Run all controllers until cancelled."""
    loops = Loops(client, RESOURCES, pace or Pace())
    _add_workloads(loops)
    _add_policies(loops)
    collector = Collector(client, loops.informers)
    ender = NamespaceEnder(client, loops.informer(Namespace), collector.served)
    async with asyncio.TaskGroup() as group:
        group.create_task(loops.run(), name="controllers")
        group.create_task(collector.served.run(), name="served-kinds")
        group.create_task(collector.loop.run([collector.served.synced]), name="garbage-collector")
        group.create_task(ender.loop.run([collector.served.synced]), name="namespaces")


def _add_workloads(loops: Loops) -> None:
    jobs = Jobs()
    loops.informer(RunPod).listen(jobs.observe)
    loops.informer(Job).listen(jobs.forget)
    sets = owners(ReplicaSet, lambda owner: owner.spec.selector)
    loops.add("replicasets", ReplicaSet, replicaset.decide, {RunPod: sets}, component="replicaset-controller")
    deployments = owners(Deployment, lambda owner: owner.spec.selector)
    wakers: Mapping[type[Any], Wake] = {ReplicaSet: deployments, RunPod: deployment.wake_owner_of_pod}
    loops.add("deployments", Deployment, deployment.decide, wakers, component="deployment-controller")
    sets = owners(StatefulSet, lambda owner: owner.spec.selector)
    loops.add("statefulsets", StatefulSet, statefulset.decide, {RunPod: sets}, component="statefulset-controller")
    loops.add("jobs", Job, jobs.decide, {RunPod: owners(Job)}, component="job-controller")
    loops.add("cronjobs", CronJob, cronjob.decide, {Job: owners(CronJob)}, component="cronjob-controller")


def _add_policies(loops: Loops) -> None:
    """Add what looks after nodes, budgets and namespaces."""
    loops.add("budgets", Budget, disruption.decide, {RunPod: disruption.wake_budgets_of}, component="controllermanager")
    loops.add("nodes", RunNode, Nodes().decide, {Lease: nodes.wake_node_of}, component="node-controller")
    wakers: Mapping[type[Any], Wake] = {RunNode: evictions.wake_pods_of}
    loops.add("evictions", RunPod, Evictions().decide, wakers, component="taint-eviction-controller")
    wakers = {ServiceAccount: namespace.wake_namespace_of}
    loops.add("service-accounts", Namespace, namespace.decide, wakers, component="serviceaccount-controller")

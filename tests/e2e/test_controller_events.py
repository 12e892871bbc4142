"""What workload controllers tell in Events, on either backend in the same words."""

import re
from collections import Counter
from typing import Any, Final

from msgspec import Struct

from gangline.contract.meta import Key, ObjectMeta
from gangline.kube.client import Client
from gangline.kube.wire.resources import (
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    Resource,
)
from gangline.sandbox.kubelets.podlife import EXIT_CODE_ANNOTATION, RUN_SECONDS_ANNOTATION
from gangline.sandbox.objects.apps import StatefulSet
from gangline.sandbox.objects.resources import RESOURCES
from tests.support.backends import without_services
from tests.support.cluster import NAMESPACE
from tests.support.manifests import nodes
from tests.support.services import eventually

STATEFUL_SETS: Final = RESOURCES[StatefulSet]
MADE_UP: Final = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5,10}(?=\b)")
CREATED: Final = "Normal SuccessfulCreate {}: Created pod: {}-?"
DELETED: Final = "Normal SuccessfulDelete {}: Deleted pod: {}-?"
DENIED: Final = "ReplicaSet/denied"
"""Tried again and again, as often as time allows."""
JOB, REPLICA_SET = "job-controller", "replicaset-controller"

EXPECTED: Final[dict[str, list[str]]] = {
    "ReplicaSet/crew": [*[CREATED.format(REPLICA_SET, "crew")] * 3, *[DELETED.format(REPLICA_SET, "crew")] * 2],
    "Deployment/web": [
        "Normal ScalingReplicaSet deployment-controller: Scaled up replica set web-? from 0 to 2",
        "Normal ScalingReplicaSet deployment-controller: Scaled down replica set web-? from 2 to 0",
        "Normal ScalingReplicaSet deployment-controller: Scaled up replica set web-? from 0 to 2",
    ],
    "StatefulSet/team": [
        "Normal SuccessfulCreate statefulset-controller: Create Pod team-0 in StatefulSet team successful",
        "Normal SuccessfulCreate statefulset-controller: Create Pod team-1 in StatefulSet team successful",
        "Normal SuccessfulDelete statefulset-controller: Delete Pod team-1 in StatefulSet team successful",
    ],
    "Job/well": [CREATED.format(JOB, "well"), f"Normal Completed {JOB}: Job completed"],
    "Job/ill": [
        CREATED.format(JOB, "ill"),
        f"Warning BackoffLimitExceeded {JOB}: Job has reached the specified backoff limit",
    ],
    "Job/late": [
        CREATED.format(JOB, "late"),
        DELETED.format(JOB, "late"),
        f"Warning DeadlineExceeded {JOB}: Job was active longer than specified deadline",
    ],
    "Job/held": [
        f"Normal Suspended {JOB}: Job suspended",
        f"Normal Resumed {JOB}: Job resumed",
        CREATED.format(JOB, "held"),
        f"Normal Completed {JOB}: Job completed",
    ],
    "PodDisruptionBudget/none": ["Normal NoPods controllermanager: No matching pods found"],
    "Pod/driven": [
        "Normal TaintManagerEviction taint-eviction-controller: Marking for deletion Pod default/driven",
    ],
    DENIED: [
        (
            f'Warning FailedCreate {REPLICA_SET}: Error creating: pods "denied-" is forbidden: '
            "no PriorityClass with name nobody was found"
        ),
    ],
}


class Regarding(Struct, frozen=True):
    """What an Event is about."""

    kind: str = ""
    name: str = ""


class Happening(Struct, frozen=True, kw_only=True, rename="camel"):
    """An Event."""

    metadata: ObjectMeta
    regarding: Regarding
    reason: str
    type: str
    note: str
    reporting_controller: str = ""


def template(app: str, node: str = "node-0", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "pause"}
    annotations = spec.pop("annotations", {})
    body = {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [container], **spec}
    return {"metadata": {"labels": {"app": app}, "annotations": annotations}, "spec": body}


async def create(client: Client, resource: Resource, name: str, **spec: Any) -> None:
    await client.create(resource, NAMESPACE, {"metadata": {"name": name}, "spec": spec})


async def workload(client: Client, resource: Resource, name: str, replicas: int, **spec: Any) -> None:
    selector = {"matchLabels": {"app": name}}
    more = {"template": template(name, **spec.pop("pod", {})), **spec}
    await create(client, resource, name, replicas=replicas, selector=selector, **more)


async def job(client: Client, name: str, run_s: float = 0, exit_code: int = 0, **spec: Any) -> None:
    annotations = {RUN_SECONDS_ANNOTATION: str(run_s), EXIT_CODE_ANNOTATION: str(exit_code)}
    pod = template(name, restartPolicy="Never", annotations=annotations)
    await create(client, JOBS, name, template=pod, **spec)


async def told(client: Client) -> dict[str, list[str]]:
    """What controllers told of each object, without names that are made up."""
    found: dict[str, list[str]] = {}
    happenings, _ = await client.list(EVENTS, Happening, namespace=NAMESPACE)
    for each in sorted(happenings, key=lambda one: one.metadata.name):
        text = f"{each.type} {each.reason} {each.reporting_controller}: {MADE_UP.sub('-?', each.note)}"
        if each.reporting_controller != "kubelet":
            found.setdefault(f"{each.regarding.kind}/{each.regarding.name}", []).append(text)
    return found


async def until_told(client: Client, of: str, *words: str) -> None:
    """Wait until Events of an object have these words, each in one of its own."""

    async def is_told() -> bool:
        texts = (await told(client)).get(of, [])
        return all(sum(word in text for text in texts) >= times for word, times in Counter(words).items())

    await eventually(is_told, f"{of}: {words}")


async def test_controllers_tell_what_they_do() -> None:
    async with without_services(nodes(2, cpu="16")) as client:
        await workload(client, REPLICA_SETS, "crew", 3)
        await workload(client, REPLICA_SETS, "denied", 1, pod={"priorityClassName": "nobody"})
        await workload(client, DEPLOYMENTS, "web", 2, strategy={"type": "Recreate"})
        await workload(client, STATEFUL_SETS, "team", 2, serviceName="team")
        await job(client, "well")
        await job(client, "ill", exit_code=1, backoffLimit=0)
        await job(client, "late", run_s=600, activeDeadlineSeconds=1)
        await job(client, "held", suspend=True)
        await create(client, POD_DISRUPTION_BUDGETS, "none", minAvailable=1, selector={"matchLabels": {"app": "none"}})
        driven = {"metadata": {"name": "driven"}, "spec": template("driven", "node-1")["spec"]}
        await client.create(PODS, NAMESPACE, driven)

        await until_told(client, "ReplicaSet/crew", *["Created"] * 3)
        await client.patch(REPLICA_SETS, Key(NAMESPACE, "crew"), {"spec": {"replicas": 1}})
        await until_told(client, "Deployment/web", "from 0 to 2")
        other = {"spec": {"template": template("web", terminationGracePeriodSeconds=1)}}
        await client.patch(DEPLOYMENTS, Key(NAMESPACE, "web"), other)
        await until_told(client, "StatefulSet/team", "team-1")
        await client.patch(STATEFUL_SETS, Key(NAMESPACE, "team"), {"spec": {"replicas": 1}})
        await until_told(client, "Job/held", "Suspended")
        await client.patch(JOBS, Key(NAMESPACE, "held"), {"spec": {"suspend": False}})
        taint = {"key": "gone", "value": "now", "effect": "NoExecute"}
        await client.patch(NODES, Key("", "node-1"), {"spec": {"taints": [taint]}})

        for of, texts in EXPECTED.items():
            await until_told(client, of, *texts)
        seen = await told(client)
        assert {of: Counter(seen[of]) for of in EXPECTED if of != DENIED} == {
            of: Counter(texts) for of, texts in EXPECTED.items() if of != DENIED
        }
        assert set(seen[DENIED]) == set(EXPECTED[DENIED])

"""What kubelets and controllers tell in Events: in whose words, how often, and never in anybody's way."""

import asyncio
from typing import Any

import msgspec
import pytest

from gangline.contract.meta import Key, ObjectMeta
from gangline.kube.client import connect
from gangline.kube.wire.errors import Forbidden
from gangline.kube.wire.resources import EVENTS, NAMESPACES, NODES, PODS, Resource
from gangline.sandbox.cluster import Sandbox
from gangline.sandbox.objects.apps import StatefulSet
from gangline.sandbox.objects.batch import CronJob
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.reconciling.actions import Action, Create, Delete, Note, Patch
from gangline.sandbox.reconciling.announcements import BURST, DISTINCT, WAITING, Announcer, note_of
from tests.support.services import eventually
from tests.support.workloads import NAMESPACE, job, metadata, replica_set, run_node, run_pod

DENIED = Forbidden("not allowed", status=403)
TEAM = msgspec.convert({"metadata": metadata("team")}, StatefulSet)
TICK = msgspec.convert({"metadata": metadata("tick")}, CronJob)


def made(resource: Resource = PODS) -> Create:
    return Create(resource=resource, namespace="team", body={})


def removed(resource: Resource = PODS) -> Delete:
    return Delete(resource=resource, key=Key("team", "p"), uid="u")


JOBS = Resource("batch", "v1", "jobs", "Job")


@pytest.mark.parametrize(
    ("owner", "action", "error", "note"),
    [
        pytest.param(replica_set("web", 1), made(), None, Note("SuccessfulCreate", "Created pod: p"), id="made"),
        pytest.param(job("sum"), removed(), None, Note("SuccessfulDelete", "Deleted pod: p"), id="removed"),
        pytest.param(
            job("sum"), made(), DENIED, Note("FailedCreate", "Error creating: not allowed", "Warning"), id="not made"
        ),
        pytest.param(
            job("sum"),
            removed(),
            DENIED,
            Note("FailedDelete", "Error deleting: not allowed", "Warning"),
            id="not removed",
        ),
        pytest.param(
            TEAM, made(), None, Note("SuccessfulCreate", "Create Pod p in StatefulSet team successful"), id="numbered"
        ),
        pytest.param(TICK, made(JOBS), None, Note("SuccessfulCreate", "Created job p"), id="a Job"),
        pytest.param(job("sum"), removed(JOBS), None, None, id="a Job whose time to live is over"),
        pytest.param(TEAM, Patch(resource=PODS, key=Key("team", "p"), body={}), None, None, id="adopted"),
        pytest.param(run_pod("p"), removed(), None, None, id="a pod that its kubelet removes"),
    ],
)
def test_what_became_of_children(owner: Identified, action: Action, error: Forbidden | None, note: Note | None) -> None:
    assert note_of(owner, action, "p", error) == note


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """An Event."""

    metadata: ObjectMeta
    regarding: dict[str, Any]
    note: str


async def written(*told: tuple[Identified, Note]) -> list[Happening]:
    """The Events that are there once as many as may be written at once have been."""
    async with Sandbox(bare=True) as sandbox, connect(str(sandbox.kubeconfig), user_agent="test") as client:
        await client.create(NAMESPACES, "", {"metadata": {"name": NAMESPACE}})
        announcer = Announcer(client, "tester")
        for thing, note in told:
            announcer.tell(thing, note)
        found: list[Happening] = []

        async def is_all() -> bool:
            found[:] = (await client.list(EVENTS, Happening))[0]
            return len(found) >= min(len({note.message for _, note in told}), DISTINCT + 1, BURST)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(announcer.run(), name="announcer")
            await eventually(is_all, "the Events are written")
            task.cancel()
    return sorted(found, key=lambda each: each.metadata.name)


async def test_similar_sentences_about_one_object_are_folded() -> None:
    found = await written(
        *((replica_set("web", 1), Note("SuccessfulCreate", f"Created pod: {index}")) for index in range(40))
    )

    assert [each.note for each in found] == [
        *(f"Created pod: {index}" for index in range(DISTINCT)),
        f"(combined from similar events): Created pod: {DISTINCT}",
    ]


async def test_an_event_names_what_it_is_about() -> None:
    (found,) = await written((run_node("n", {}), Note("NodeReady", "Node n status is now: NodeReady")))

    assert found.metadata.namespace == "default"
    assert found.regarding == {"apiVersion": NODES.api_version, "kind": "Node", "name": "n", "uid": "uid-n"}


async def test_more_than_may_wait_is_lost() -> None:
    pods = [run_pod(f"p{index}") for index in range(WAITING + 50)]

    async with Sandbox(bare=True) as sandbox, connect(str(sandbox.kubeconfig), user_agent="test") as client:
        announcer = Announcer(client, "tester")
        for pod in pods:
            announcer.tell(pod, Note("Started", "Container started"))

    assert len(announcer) == WAITING

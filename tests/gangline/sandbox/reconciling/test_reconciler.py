"""The shell of kubelets and controllers: failures come back, and decisions wait for what they wrote."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gangline.contract.meta import Key
from gangline.kube.client import Client, connect
from gangline.kube.wire.errors import ApiError, NotFound
from gangline.kube.wire.resources import PODS, REPLICA_SETS, Resource
from gangline.sandbox.cluster import Sandbox
from gangline.sandbox.objects.apps import ReplicaSet
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.reconciling.actions import Action, Create, Decision, Delete, Note, Patch
from gangline.sandbox.reconciling.cache import Cache
from gangline.sandbox.reconciling.reconciler import Decider, Reconciler
from gangline.sandbox.reconciling.world import Pace, World
from tests.support.workloads import cache_of, replica_set

KEY = Key("default", "a")
OWNER = replica_set("web", 1)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Sandbox(bare=True) as sandbox, connect(str(sandbox.kubeconfig), user_agent="test") as connected:
        yield connected


class Script:
    """Decides the same actions each time, and counts; what it decides about is `OWNER`."""

    def __init__(self, *actions: Action, notes: tuple[Note, ...] = ()) -> None:
        self.actions = actions
        self.notes = notes
        self.asked = 0
        self.told: list[Note] = []

    def decide(self, _owner: ReplicaSet, _world: World) -> Decision:
        self.asked += 1
        return Decision(actions=self.actions, notes=self.notes)

    def decider(self, client: Client, pods: Cache[RunPod] | None = None) -> Decider[ReplicaSet]:
        """Carries out what this decides."""
        caches: dict[Resource, Cache[Any]] = {REPLICA_SETS: cache_of(OWNER)}
        if pods is not None:
            caches[PODS] = pods
        return Decider(
            client, ReplicaSet, self.decide, caches, pace=Pace(), tell=lambda _owner, note: self.told.append(note)
        )


def create(name: str) -> Create:
    spec = {"containers": [{"name": "main", "image": "pause"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    return Create(resource=PODS, namespace="default", body=body)


async def read(client: Client, name: str) -> RunPod:
    return await client.get(PODS, Key("default", name), RunPod)


async def test_nothing_is_decided_until_the_cache_shows_the_new_object(client: Client) -> None:
    cache: Cache[RunPod] = Cache()
    script = Script(create("a"))
    decider = script.decider(client, cache)

    await decider.reconcile(OWNER.metadata.key)
    assert await decider.reconcile(OWNER.metadata.key) is not None
    assert script.asked == 1

    cache.put(await read(client, "a"))
    script.actions = ()
    await decider.reconcile(OWNER.metadata.key)
    assert script.asked == 2


async def test_nothing_is_decided_until_the_cache_shows_the_deletion(client: Client) -> None:
    await client.create(PODS, "default", create("a").body)
    pod = await read(client, "a")
    cache: Cache[RunPod] = Cache()
    cache.put(pod)
    script = Script(Delete(resource=PODS, key=KEY, uid=pod.metadata.uid, grace_period_s=0))
    decider = script.decider(client, cache)

    await decider.reconcile(OWNER.metadata.key)
    await decider.reconcile(OWNER.metadata.key)
    assert script.asked == 1

    cache.remove(KEY)
    await decider.reconcile(OWNER.metadata.key)
    assert script.asked == 2


async def test_patch_that_changes_nothing_is_not_waited_for(client: Client) -> None:
    await client.create(PODS, "default", create("a").body)
    cache: Cache[RunPod] = Cache()
    cache.put(await read(client, "a"))
    script = Script(Patch(resource=PODS, key=KEY, body={"metadata": {}}))
    decider = script.decider(client, cache)

    await decider.reconcile(OWNER.metadata.key)
    await decider.reconcile(OWNER.metadata.key)

    assert script.asked == 2


async def test_one_failed_write_does_not_keep_the_others_from_being_made(client: Client) -> None:
    await client.create(PODS, "default", create("taken").body)
    script = Script(create("taken"), create("free"), Delete(resource=PODS, key=Key("default", "gone"), uid="uid"))
    decider = script.decider(client)

    with pytest.raises(ApiError) as caught:
        await decider.reconcile(OWNER.metadata.key)

    assert "taken" in str(caught.value)
    assert (await read(client, "free")).metadata.name == "free"


@pytest.mark.parametrize(
    "error", [NotFound("not yet"), ValueError("no number"), OverflowError("too far away"), KeyError("uid")], ids=repr
)
async def test_failed_key_comes_back_and_others_go_on(error: Exception) -> None:
    calls: list[str] = []
    finished = asyncio.Event()

    async def reconcile(key: str) -> float | None:
        calls.append(key)
        if key == "bad" and calls.count("bad") < 3:
            raise error
        if calls.count("bad") == 3 and "good" in calls:
            finished.set()
        return None

    loop = Reconciler("test", reconcile, workers=1)
    for key in ("bad", "good"):
        loop.enqueue(key)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(loop.run([]))
        await finished.wait()
        task.cancel()

    assert calls == ["bad", "good", "bad", "bad"]


async def test_reconciler_comes_back_when_asked_to_and_waits_for_what_it_rests_on() -> None:
    synced, finished = asyncio.Event(), asyncio.Event()
    calls: list[bool] = []

    async def reconcile(_key: str) -> float | None:
        calls.append(synced.is_set())
        if len(calls) == 2:
            finished.set()
        return 0.01 if len(calls) == 1 else None

    loop = Reconciler("test", reconcile)
    loop.enqueue("a")
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(loop.run([synced]))
        synced.set()
        await finished.wait()
        task.cancel()

    assert calls == [True, True]


async def test_a_patch_that_meets_another_pod_of_the_name_has_nothing_left_to_do(client: Client) -> None:
    await client.create(PODS, "default", create("a").body)
    body = {"metadata": {"uid": "of-the-one-before"}, "status": {"phase": "Running"}}
    decider = Script(Patch(resource=PODS, key=KEY, body=body, subresource="status")).decider(client)

    assert await decider.reconcile(OWNER.metadata.key) is None
    assert (await read(client, "a")).status.phase == "Pending"


async def test_what_became_of_each_child_is_told_and_the_rest_once_all_is_written(client: Client) -> None:
    await client.create(PODS, "default", create("taken").body)
    script = Script(create("free"), create("taken"), notes=(Note("Done", "all is well"),))

    with pytest.raises(ApiError):
        await script.decider(client).reconcile(OWNER.metadata.key)
    assert sorted(script.told, key=lambda note: note.type) == [
        Note("SuccessfulCreate", "Created pod: free"),
        Note("FailedCreate", 'Error creating: pods "taken" already exists', "Warning"),
    ]

    script.actions = (Delete(resource=PODS, key=Key("default", "free"), uid=(await read(client, "free")).metadata.uid),)
    await script.decider(client).reconcile(OWNER.metadata.key)
    assert script.told[2:] == [Note("SuccessfulDelete", "Deleted pod: free"), Note("Done", "all is well")]

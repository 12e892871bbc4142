"""What a real API server was seen to do and our services count on; the sandbox must do the same."""

from typing import Any

import msgspec
import pytest

from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.client import STRATEGIC_PATCH, Client
from gangline.kube.wire import requests
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.resources import DEPLOYMENTS, POD_GROUPS, PODS
from tests.support.backends import without_services
from tests.support.cluster import NAMESPACE, running_cluster
from tests.support.manifests import deployment, job, nodes, pod, pod_group

ELSEWHERE = "someone-else"
A = Key(NAMESPACE, "a")


async def unbound(client: Client) -> Pod:
    """Create the pod `a`, which no scheduler takes."""
    await client.create(PODS, NAMESPACE, pod("a", scheduler=ELSEWHERE))
    return await client.get(PODS, A, Pod)


async def test_a_binding_to_no_node_is_accepted_and_its_answer_has_no_version() -> None:
    async with without_services() as client:
        one = await unbound(client)
        body = await client.send(requests.bind(A, one.metadata.uid, "nowhere"))
        answer = msgspec.json.decode(body)
        assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Success", 201)
        assert "resourceVersion" not in answer.get("metadata", {})
        assert (await client.get(PODS, A, Pod)).spec.node_name == "nowhere"


@pytest.mark.parametrize("again", ["node-0", "node-1"], ids=["same-node", "other-node"])
async def test_a_second_binding_conflicts(again: str) -> None:
    async with without_services(nodes(2, cpu="4")) as client:
        one = await unbound(client)
        await client.bind(A, one.metadata.uid, "node-0")
        with pytest.raises(ApiError) as refusal:
            await client.bind(A, one.metadata.uid, again)
        assert (refusal.value.status, refusal.value.reason) == (409, "Conflict")
        assert 'pod a is already assigned to node "node-0"' in refusal.value.message
        assert (await client.get(PODS, A, Pod)).spec.node_name == "node-0"


async def test_a_binding_with_another_uid_conflicts() -> None:
    async with without_services(nodes(1, cpu="4")) as client:
        await unbound(client)
        with pytest.raises(ApiError) as refusal:
            await client.bind(A, "00000000-0000-0000-0000-000000000000", "node-0")
        assert (refusal.value.status, refusal.value.reason) == (409, "Conflict")
        assert "UID in precondition: 00000000-0000-0000-0000-000000000000" in refusal.value.message
        assert (await client.get(PODS, A, Pod)).spec.node_name is None


async def test_a_binding_of_no_pod_is_not_found() -> None:
    async with without_services(nodes(1, cpu="4")) as client:
        with pytest.raises(ApiError) as refusal:
            await client.bind(A, "00000000-0000-0000-0000-000000000000", "node-0")
        assert (refusal.value.status, refusal.value.reason) == (404, "NotFound")


async def test_a_bound_pod_may_be_called_unscheduled() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "stale"}
    async with without_services() as client:
        one = await unbound(client)
        await client.bind(A, one.metadata.uid, "nowhere")
        await client.patch(
            PODS, A, {"status": {"conditions": [condition]}}, subresource="status", content_type=STRATEGIC_PATCH
        )
        seen = await client.get(PODS, A, Pod)
        assert [(each.status, each.reason) for each in seen.status.conditions or () if each.type == "PodScheduled"] == [
            ("False", "Unschedulable")
        ]


async def test_a_patch_for_an_older_version_conflicts() -> None:
    async with without_services() as client:
        one = await unbound(client)
        await client.patch(PODS, A, {"metadata": {"labels": {"changed": "yes"}}})
        stale = {"metadata": {"uid": one.metadata.uid, "resourceVersion": one.metadata.resource_version}}
        with pytest.raises(ApiError) as refusal:
            await client.patch(
                PODS, A, stale | {"status": {"message": "late"}}, subresource="status", content_type=STRATEGIC_PATCH
            )
        assert (refusal.value.status, refusal.value.reason) == (409, "Conflict")


async def test_a_pruned_field_changes_nothing() -> None:
    async with without_services() as client:
        await client.create(POD_GROUPS, NAMESPACE, pod_group("g", 3))
        before = await client.get(POD_GROUPS, Key(NAMESPACE, "g"), dict[str, Any])
        after = await client.patch(POD_GROUPS, Key(NAMESPACE, "g"), {"spec": {"queue": "fast"}})
        assert after == before


async def test_a_status_written_with_the_object_is_dropped() -> None:
    async with without_services() as client:
        await client.create(POD_GROUPS, NAMESPACE, pod_group("g", 3) | {"status": {"phase": "Running"}})
        seen = await client.get(POD_GROUPS, Key(NAMESPACE, "g"), dict[str, Any])
        assert "status" not in seen


async def test_a_selector_stays_as_it_is() -> None:
    async with without_services() as client:
        await client.create(DEPLOYMENTS, NAMESPACE, deployment("web", 0, scheduler=ELSEWHERE))
        other = {"matchLabels": {"app": "other"}}
        change = {"spec": {"selector": other, "template": {"metadata": {"labels": other["matchLabels"]}}}}
        with pytest.raises(ApiError) as refusal:
            await client.patch(DEPLOYMENTS, Key(NAMESPACE, "web"), change)
        assert (refusal.value.status, refusal.value.reason) == (422, "Invalid")
        assert "field is immutable" in refusal.value.message


async def test_a_new_version_of_a_deployment_begins_with_one_pod() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(deployment("web", 3))
        await cluster.until(lambda: cluster.running("web") == 3, "three run")
        await cluster.patch(
            "Deployment",
            "web",
            {"spec": {"template": {"spec": {"nodeSelector": {"nobody": "has-this"}}}}},
        )
        await cluster.until(lambda: cluster.waiting("web") == 1, "one new pod waits")
        assert cluster.running("web") == 3


async def test_a_job_without_retries_fails_with_its_first_pod_and_ends_the_others() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        patience = {"backoffLimit": 0}
        failing = job("sums", parallelism=3, completions=3, run_s=0.2, exit_code=1)
        failing["spec"] |= patience
        await cluster.create(failing)
        await cluster.until(lambda: cluster.in_phase("sums", "Failed") > 0, "one fails")
        await cluster.until(lambda: cluster.running("sums") == 0, "nothing of it runs on")

"""Create, read, update and patch: what holds for all kinds."""

from typing import Any

import pytest

from gangline.sandbox.apiserver.schema.walk import json_type
from tests.support.rest import DEFINITIONS, POD_GROUPS, PODS, Rest, pod

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def config_map(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


def deployment(replicas: int = 1) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod()["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


async def test_the_server_sets_its_own_metadata(rest: Rest) -> None:
    mine = {"name": "a", "uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z"}
    created = (await rest.post(PODS, {**pod(), "metadata": mine})).body["metadata"]

    assert created["uid"] != "mine"
    assert not created["creationTimestamp"].startswith("2000")
    assert created["namespace"] == "default"
    assert created["generation"] == 1


async def test_generated_names_differ(rest: Rest) -> None:
    body = {**config_map(), "metadata": {"generateName": "job-"}}
    names = {(await rest.post(CONFIG_MAPS, body)).body["metadata"]["name"] for _ in range(3)}

    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


@pytest.mark.parametrize(
    ("path", "body", "verdict"),
    [
        (PODS, pod("taken"), (409, "AlreadyExists", 'pods "taken" already exists')),
        ("/api/v1/namespaces/none/pods", pod(), (404, "NotFound", 'namespaces "none" not found')),
        (
            PODS,
            {**pod(), "apiVersion": "v2"},
            (400, "BadRequest", "Pod of v2 cannot be handled as a Pod of v1"),
        ),
        (
            PODS,
            {**pod(), "metadata": {"name": "a", "namespace": "other"}},
            (
                400,
                "BadRequest",
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
        ),
        (
            PODS,
            {**pod(), "metadata": {}},
            (422, "Invalid", 'Pod "" is invalid: metadata.name: Required value: name or generateName is required'),
        ),
        (
            PODS,
            {**pod(), "metadata": {"name": "a", "labels": {"n": 1}}},
            (
                400,
                "BadRequest",
                'Pod in version "v1" cannot be handled as a Pod: metadata.labels[n]: 1 is not of type string',
            ),
        ),
        (
            "/api/v1/pods",
            pod(),
            (405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
        ),
        ("/api/v1/gizmos", {}, (404, "NotFound", "the server could not find the requested resource")),
    ],
    ids=["taken", "no namespace", "version", "namespace", "nameless", "label type", "all namespaces", "no kind"],
)
async def test_refusals_of_create(rest: Rest, path: str, body: object, verdict: tuple[int, str, str]) -> None:
    await rest.post(PODS, pod("taken"))

    assert (await rest.post(path, body)).verdict == verdict


async def test_a_refusal_is_a_whole_status(rest: Rest) -> None:
    assert (await rest.get(f"{DEPLOYMENTS}/a")).body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "a" not found',
        "reason": "NotFound",
        "details": {"name": "a", "group": "apps", "kind": "deployments"},
        "code": 404,
    }


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"x"', b"\xff"], ids=["cut", "list", "text", "no utf-8"])
async def test_a_body_that_is_no_object_is_a_bad_request(rest: Rest, body: bytes) -> None:
    assert (await rest.post(PODS, body)).status == 400


async def test_update_needs_the_newest_version_and_bumps_it(rest: Rest) -> None:
    created = (await rest.post(CONFIG_MAPS, config_map(data={"k": "1"}))).body
    updated = await rest.put(f"{CONFIG_MAPS}/a", {**created, "data": {"k": "2"}})
    stale = await rest.put(f"{CONFIG_MAPS}/a", {**created, "data": {"k": "3"}})

    assert (updated.status, updated.body["data"]) == (200, {"k": "2"})
    assert int(updated.version) > int(created["metadata"]["resourceVersion"])
    assert stale.verdict == (
        409,
        "Conflict",
        (
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes '
            "to the latest version and try again"
        ),
    )


async def test_update_without_version_overwrites_built_in_kinds_but_not_custom_ones(
    rest: Rest, pod_groups: None
) -> None:
    await rest.post(CONFIG_MAPS, config_map())
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "a"}}
    await rest.post(POD_GROUPS, group)

    assert (await rest.put(f"{CONFIG_MAPS}/a", config_map(data={"k": "1"}))).status == 200
    assert (await rest.put(f"{POD_GROUPS}/a", group)).status == 422


async def test_update_of_another_uid_or_name_is_refused(rest: Rest) -> None:
    await rest.post(CONFIG_MAPS, config_map())
    other_uid = {**config_map(), "metadata": {"name": "a", "uid": "other"}}

    assert (await rest.put(f"{CONFIG_MAPS}/a", other_uid)).status == 409
    assert (await rest.put(f"{CONFIG_MAPS}/a", config_map("b"))).status == 400
    assert (await rest.put(f"{CONFIG_MAPS}/c", config_map("c"))).status == 404


async def test_the_status_of_a_custom_resource_may_be_patched_with_another_uid(rest: Rest, pod_groups: None) -> None:
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "a"}}
    await rest.post(POD_GROUPS, group)

    patch = {"metadata": {"uid": "other"}, "status": {"phase": "Running"}}
    told = await rest.patch(f"{POD_GROUPS}/a/status", patch)
    main = await rest.patch(f"{POD_GROUPS}/a", patch)

    assert (told.status, told.body["status"]["phase"], main.status) == (200, "Running", 422)
    assert told.body["metadata"]["uid"] != "other"


async def test_a_put_creates_a_lease(rest: Rest) -> None:
    lease = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}

    assert (await rest.put(f"{LEASES}/a", lease)).status == 201


async def test_a_write_that_changes_nothing_keeps_the_version(rest: Rest) -> None:
    created = await rest.post(CONFIG_MAPS, config_map(data={"k": "1"}))

    assert (await rest.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "1"}})).version == created.version


async def test_generation_counts_changes_of_the_spec_alone(rest: Rest) -> None:
    await rest.post(DEPLOYMENTS, deployment())
    labelled = await rest.patch(f"{DEPLOYMENTS}/a", {"metadata": {"labels": {"x": "1"}}})
    scaled = await rest.patch(f"{DEPLOYMENTS}/a", {"spec": {"replicas": 2}})
    status = await rest.patch(f"{DEPLOYMENTS}/a/status", {"status": {"replicas": 2}})

    assert [reply.body["metadata"]["generation"] for reply in (labelled, scaled, status)] == [1, 2, 2]


async def test_status_and_the_rest_are_apart(rest: Rest) -> None:
    await rest.post(DEPLOYMENTS, {**deployment(), "status": {"replicas": 9}})
    main = await rest.patch(f"{DEPLOYMENTS}/a", {"status": {"replicas": 8}, "spec": {"replicas": 3}})
    status = await rest.patch(f"{DEPLOYMENTS}/a/status", {"status": {"replicas": 7}, "spec": {"replicas": 5}})

    assert (main.body["spec"]["replicas"], main.body["status"]) == (3, {})
    assert (status.body["spec"]["replicas"], status.body["status"]) == (3, {"replicas": 7})


async def test_scale(rest: Rest) -> None:
    await rest.post(DEPLOYMENTS, deployment())
    shown = (await rest.get(f"{DEPLOYMENTS}/a/scale")).body
    patched = await rest.patch(f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": 4}})
    put = await rest.put(f"{DEPLOYMENTS}/a/scale", {**shown, "spec": {"replicas": 5}})

    assert (shown["kind"], shown["spec"], shown["status"]["selector"]) == ("Scale", {"replicas": 1}, "app=a")
    assert patched.body["spec"]["replicas"] == 4
    assert put.status == 409
    assert (await rest.get(f"{DEPLOYMENTS}/a")).body["spec"]["replicas"] == 4


@pytest.mark.parametrize(
    ("policy", "status", "warned"),
    [("Ignore", 201, False), ("Warn", 201, True), ("Strict", 400, False)],
    ids=["ignore", "warn", "strict"],
)
async def test_unknown_fields(rest: Rest, policy: str, status: int, warned: bool) -> None:
    reply = await rest.post(PODS, pod(color="red"), fieldValidation=policy)

    assert reply.status == status
    assert (reply.headers.get("Warning") == '299 - "unknown field \\"spec.color\\""') is warned
    assert "color" not in reply.body.get("spec", {})
    if policy == "Strict":
        assert reply.body["message"].endswith('strict decoding error: unknown field "spec.color"')


async def test_a_dry_run_keeps_nothing(rest: Rest) -> None:
    assert (await rest.post(PODS, pod(), dryRun="All")).status == 201
    assert (await rest.get(f"{PODS}/a")).status == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [("post", f"{PODS}/a"), ("put", PODS), ("patch", PODS)],
    ids=["post to a name", "put to a collection", "patch of a collection"],
)
async def test_verbs_that_a_path_does_not_have(rest: Rest, method: str, path: str) -> None:
    assert (await getattr(rest, method)(path, {})).status == 405


async def test_a_form_that_nobody_serves_is_not_acceptable(rest: Rest) -> None:
    assert (await rest.get(PODS, accept="application/vnd.kubernetes.protobuf")).status == 406
    assert (await rest.get(PODS, accept="application/vnd.kubernetes.protobuf,application/json")).status == 200


async def test_a_large_body(rest: Rest) -> None:
    assert (await rest.post(CONFIG_MAPS, config_map(data={"k": "x" * 1_000_000}))).status == 201


async def test_a_body_too_large_for_the_server(rest: Rest) -> None:
    assert (await rest.post(CONFIG_MAPS, config_map(data={"k": "x" * 4_000_000}))).status == 413


@pytest.mark.parametrize("body", [b"a: 2026-99-99", b"a: [", b"[" * 5000], ids=["no date", "open", "deep"])
async def test_yaml_that_cannot_be_read_is_a_bad_request(rest: Rest, body: bytes) -> None:
    refused = await rest.patch(f"{CONFIG_MAPS}/a", body, "apply", fieldManager="me")

    assert refused.verdict[:2] == (400, "BadRequest")


@pytest.mark.parametrize("value", [5, 1.5, True, [], {}], ids=str)
@pytest.mark.parametrize("field", ["apiVersion", "kind"])
async def test_a_body_whose_kind_is_no_text_is_a_bad_request(rest: Rest, field: str, value: Any) -> None:
    refused = await rest.post(CONFIG_MAPS, {**config_map(), field: value})

    assert refused.verdict[:2] == (400, "BadRequest")
    assert refused.body["message"].endswith(f"{field}: {json_type(value)} is not of type string")


async def test_null_stands_for_the_kind_of_the_url(rest: Rest) -> None:
    assert (await rest.post(CONFIG_MAPS, {**config_map(), "apiVersion": None, "kind": None})).status == 201


async def test_a_workload_without_a_spec_is_invalid(rest: Rest) -> None:
    refused = await rest.post(DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}})

    assert refused.verdict[:2] == (422, "Invalid")


@pytest.mark.parametrize(
    "spec",
    [None, {}, {"names": {}}, {"versions": [{"storage": True, "served": True}]}, {"group": "x.io", "versions": [{}]}],
    ids=["none", "empty", "names", "version", "group"],
)
async def test_half_a_definition_is_invalid(rest: Rest, spec: dict[str, Any] | None) -> None:
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a.x.io"}}
    refused = await rest.post(DEFINITIONS, body if spec is None else {**body, "spec": spec})

    assert refused.verdict[:2] == (422, "Invalid")


async def test_a_job_keeps_its_spec(rest: Rest) -> None:
    template = {"spec": {**pod()["spec"], "restartPolicy": "Never"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": template}}
    await rest.post(JOBS, job)
    refused = await rest.patch(f"{JOBS}/a", {"spec": None})

    assert refused.verdict[:2] == (422, "Invalid")

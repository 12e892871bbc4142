"""Server-side apply: who owns what, what goes when it is no longer named, conflicts."""

from typing import Any

import pytest

from tests.support.rest import POD_GROUPS, PODS, Rest, pod

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


async def apply(rest: Rest, body: dict[str, Any], manager: str, path: str = CONFIG_MAPS, **query: str) -> Any:
    return await rest.patch(f"{path}/a", body, form="apply", fieldManager=manager, **query)


async def test_apply_creates_and_then_merges(rest: Rest) -> None:
    created = await apply(rest, config_map(x="1"), "one")
    merged = await apply(rest, config_map(y="2"), "two")

    assert (created.status, merged.status) == (201, 200)
    assert merged.body["data"] == {"x": "1", "y": "2"}
    owners = {entry["manager"]: entry["fieldsV1"] for entry in merged.body["metadata"]["managedFields"]}
    assert owners == {"one": {"f:data": {"f:x": {}}}, "two": {"f:data": {"f:y": {}}}}


async def test_a_field_that_its_only_manager_drops_goes(rest: Rest) -> None:
    await apply(rest, config_map(x="1", shared="s"), "one")
    await apply(rest, config_map(shared="s"), "two")
    dropped = await apply(rest, config_map(z="3"), "one")

    assert dropped.body["data"] == {"shared": "s", "z": "3"}


async def test_another_managers_value_is_a_conflict_unless_forced(rest: Rest) -> None:
    await apply(rest, config_map(x="1", y="1"), "one")
    refused = await apply(rest, config_map(x="2"), "two")
    same = await apply(rest, config_map(x="1"), "three")
    forced = await apply(rest, config_map(x="2"), "two", force="true")

    assert refused.verdict == (409, "Conflict", 'Apply failed with 1 conflict: conflict with "one": .data.x')
    assert refused.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}
    ]
    assert same.status == 200
    assert forced.body["data"] == {"x": "2", "y": "1"}
    owners = {entry["manager"]: entry["fieldsV1"] for entry in forced.body["metadata"]["managedFields"]}
    assert owners == {"one": {"f:data": {"f:y": {}}}, "two": {"f:data": {"f:x": {}}}}


async def test_a_plain_write_takes_what_it_changes(rest: Rest) -> None:
    await apply(rest, config_map(x="1"), "one")
    await rest.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "2"}}, fieldManager="editor")

    refused = await apply(rest, config_map(x="1"), "one")
    assert 'conflict with "editor"' in refused.body["message"]


async def test_lists_merge_by_their_keys(rest: Rest) -> None:
    base = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    await apply(rest, {**base, "spec": {"containers": [{"name": "main", "image": "1"}]}}, "one", PODS)
    both = await apply(rest, {**base, "spec": {"containers": [{"name": "main", "image": "2"}]}}, "one", PODS)

    assert [item["image"] for item in both.body["spec"]["containers"]] == ["2"]


async def test_a_list_item_that_its_manager_drops_goes(rest: Rest) -> None:
    def body(*names: str) -> dict[str, Any]:
        items = [{"name": name, "image": "1"} for name in names]
        template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": items}}
        spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}

    await apply(rest, body("main", "side"), "one", DEPLOYMENTS)
    dropped = await apply(rest, body("main"), "one", DEPLOYMENTS)

    assert [item["name"] for item in dropped.body["spec"]["template"]["spec"]["containers"]] == ["main"]


async def test_the_same_apply_twice_changes_nothing(rest: Rest, pod_groups: None) -> None:
    body = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "a", "labels": {"team": "x"}},
        "spec": {"minMember": 3},
    }
    first = await apply(rest, body, "one", POD_GROUPS)
    second = await apply(rest, body, "one", POD_GROUPS)

    assert second.version == first.version


async def test_an_apply_without_manager_is_refused(rest: Rest) -> None:
    assert (await rest.patch(f"{CONFIG_MAPS}/a", config_map(), form="apply")).status == 422


async def test_objects_that_nobody_applied_have_no_managed_fields(rest: Rest) -> None:
    await rest.post(PODS, pod())
    changed = await rest.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}})

    assert "managedFields" not in changed.body["metadata"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"metadata": "x"}, ".metadata: expected map, got &{x}"),
        ({"metadata": []}, ".metadata: expected map, got &{[]}"),
        ({"metadata": {"ownerReferences": ["x"]}}, ".metadata.ownerReferences: element 0: {keyed} non-map elements"),
        ({"spec": "x"}, ".spec: expected map, got &{x}"),
        ({"spec": {"containers": 1}}, ".spec.containers: expected list, got &{1}"),
        ({"spec": {"containers": ["x"]}}, ".spec.containers: element 0: {keyed} non-map elements"),
        ({"spec": {"containers": [{"name": "a"}, []]}}, ".spec.containers: element 1: {keyed} non-map elements"),
        ({"spec": {"containers": [None]}}, ".spec.containers: element 0: {keyed} a null element"),
        ({"status": {"conditions": [True]}}, ".status.conditions: element 0: {keyed} non-map elements"),
    ],
)
async def test_what_has_another_shape_is_refused_as_such(rest: Rest, fields: dict[str, Any], problem: str) -> None:
    refused = await apply(rest, {"apiVersion": "v1", "kind": "Pod", **fields}, "one", PODS)

    told = problem.replace("{keyed}", "associative list with keys may not have")
    assert refused.status == 500
    assert refused.body["message"] == f"failed to create typed patch object (/; /v1, Kind=Pod): {told}"


async def test_metadata_that_are_null_are_none(rest: Rest) -> None:
    assert (await apply(rest, {**config_map(x="1"), "metadata": None}, "one")).status == 201

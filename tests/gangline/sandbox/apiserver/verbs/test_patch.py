"""The patch forms, as pure functions and through the server."""

from typing import Any

import pytest

from gangline.sandbox.apiserver.kinds import PODS
from gangline.sandbox.apiserver.schema.shapes import resolved, shape_of
from gangline.sandbox.apiserver.verbs import patch
from tests.support.rest import PODS as PODS_PATH
from tests.support.rest import Rest, pod

POD_SHAPE = resolved(shape_of(PODS))


@pytest.mark.parametrize(
    ("document", "changes", "merged"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": 1}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
    ],
    ids=["add", "remove", "nested", "lists replace", "scalar becomes object", "nulls in new parts"],
)
def test_merge_patch(document: Any, changes: Any, merged: Any) -> None:
    assert patch.merge_patch(document, changes) == merged


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(items)}}


@pytest.mark.parametrize(
    ("document", "changes", "merged"),
    [
        (
            containers({"name": "a", "image": "1"}, {"name": "b"}),
            containers({"name": "a", "image": "2"}, {"name": "c"}),
            containers({"name": "a", "image": "2"}, {"name": "c"}, {"name": "b"}),
        ),
        (
            containers({"name": "a"}, {"name": "b"}),
            containers({"name": "a", "$patch": "delete"}),
            containers({"name": "b"}),
        ),
        (
            containers({"name": "a"}, {"name": "b"}),
            containers({"$patch": "replace"}, {"name": "c"}),
            containers({"name": "c"}),
        ),
        (
            containers({"name": "a"}, {"name": "b"}),
            {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}},
            containers({"name": "b"}, {"name": "a"}),
        ),
        (
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["c"]}},
            {"metadata": {"finalizers": ["a", "b", "c"]}},
        ),
        (
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
            {"metadata": {"finalizers": ["b"]}},
        ),
        (
            {"spec": {"tolerations": [{"key": "a"}]}},
            {"spec": {"tolerations": [{"key": "b"}]}},
            {"spec": {"tolerations": [{"key": "b"}]}},
        ),
        (
            {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
            {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}]}},
            {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}},
        ),
        (
            {"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}},
            {"status": {"conditions": [{"type": "A", "status": "False"}]}},
            {"status": {"conditions": [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}]}},
        ),
        (
            {"metadata": {"labels": {"a": "1"}}},
            {"metadata": {"labels": {"$patch": "replace", "b": "2"}}},
            {"metadata": {"labels": {"b": "2"}}},
        ),
    ],
    ids=[
        "merge by key",
        "delete item",
        "replace list",
        "order",
        "primitive union",
        "primitive deletion",
        "atomic list",
        "retain keys",
        "conditions by type",
        "replace map",
    ],
)
def test_strategic_merge_patch(document: Any, changes: Any, merged: Any) -> None:
    before = repr(document)

    assert patch.strategic_merge_patch(document, changes, POD_SHAPE) == merged
    assert repr(document) == before, "arguments are never changed"


async def test_json_patch(rest: Rest) -> None:
    await rest.post(PODS_PATH, pod(labels={"a": "1"}))
    path = f"{PODS_PATH}/a"
    replace = [
        {"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
    ]

    assert (await rest.patch(path, replace, form="json")).body["metadata"]["labels"] == {"a": "2"}
    assert (await rest.patch(path, replace, form="json")).status == 422
    assert (await rest.patch(path, [{"op": "remove", "path": "/metadata/labels/z"}], form="json")).status == 422
    assert (await rest.patch(path, {"op": "remove"}, form="json")).status == 400
    assert (await rest.patch(path, [{"op": "fly"}], form="json")).status == 422


async def test_a_patch_cannot_change_what_the_server_owns(rest: Rest) -> None:
    created = (await rest.post(PODS_PATH, pod())).body["metadata"]
    changed = await rest.patch(f"{PODS_PATH}/a", {"metadata": {"creationTimestamp": None, "generation": 9}})

    assert changed.body["metadata"] == created


async def test_a_patch_that_leaves_a_wrong_type_is_refused_and_changes_nothing(rest: Rest) -> None:
    created = await rest.post(PODS_PATH, pod())

    assert (await rest.patch(f"{PODS_PATH}/a", {"metadata": {"labels": {"a": 1}}})).status == 422
    assert (await rest.patch(f"{PODS_PATH}/a", {"metadata": "x"})).status == 422
    assert (await rest.get(f"{PODS_PATH}/a")).version == created.version

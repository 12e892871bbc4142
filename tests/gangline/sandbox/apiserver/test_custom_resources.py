"""CustomResourceDefinitions and the resources they bring."""

from typing import Any

import pytest

from gangline.contract.crd import crd
from tests.support.rest import DEFINITIONS, POD_GROUPS, Rest

GROUP_PATH = f"{POD_GROUPS}/g"


def group(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    """A kind Gadget with this schema for its spec."""
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": schema}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    spec = {
        "group": "x.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [version],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.x.io"},
        "spec": spec,
    }


GADGETS = "/apis/x.io/v1/namespaces/default/gadgets"


def gadget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "x.io/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": spec}


async def test_a_kind_is_served_from_its_definition_until_the_definition_goes(rest: Rest) -> None:
    assert (await rest.get(POD_GROUPS)).status == 404
    created = (await rest.post(DEFINITIONS, crd())).body
    established = (await rest.get(f"{DEFINITIONS}/podgroups.scheduling.x-k8s.io")).body
    await rest.post(POD_GROUPS, group(minMember=1))
    served = await rest.get(POD_GROUPS)
    await rest.delete(f"{DEFINITIONS}/podgroups.scheduling.x-k8s.io")
    await rest.post("/sandbox/compact", {})

    conditions = {item["type"]: item["status"] for item in established["status"]["conditions"]}
    assert created["status"]["conditions"] is None
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert served.names == ["g"]
    assert (await rest.get(POD_GROUPS)).status == 404
    await rest.post(DEFINITIONS, crd())
    assert (await rest.get(POD_GROUPS)).names == []


@pytest.mark.parametrize(
    ("case", "spec", "status"),
    [
        ("A1", {"minMember": 1}, 201),
        ("A2", {"minMember": 0}, 422),
        ("A3", {"minMember": -1}, 422),
        ("A4 empty", {}, 201),
        ("A5 integer", {"minMember": 1, "minResources": {"cpu": 4}}, 201),
        ("A5 text", {"minMember": 1, "minResources": {"cpu": "4"}}, 201),
        ("A5 milli", {"minMember": 1, "minResources": {"cpu": "500m"}}, 201),
        ("A5 binary", {"minMember": 1, "minResources": {"memory": "1.5Gi"}}, 201),
        ("A6", {"minMember": 1, "minResources": {"cpu": "four"}}, 422),
        ("A7 zero", {"scheduleTimeoutSeconds": 0}, 201),
        ("A7 negative", {"scheduleTimeoutSeconds": -1}, 201),
        ("A7 most", {"scheduleTimeoutSeconds": 2147483647}, 201),
        ("A8", {"scheduleTimeoutSeconds": 2147483648}, 422),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_a_pod_group_may_say(
    rest: Rest, pod_groups: None, case: str, spec: dict[str, Any], status: int
) -> None:
    assert (await rest.post(POD_GROUPS, group(**spec))).status == status, case


async def test_status_is_written_through_its_subresource_alone(rest: Rest, pod_groups: None) -> None:
    created = await rest.post(POD_GROUPS, {**group(minMember=1), "status": {"phase": "Running"}})
    ignored = await rest.patch(GROUP_PATH, {"status": {"phase": "Running"}})
    written = await rest.patch(f"{GROUP_PATH}/status", {"status": {"phase": "Pending"}, "spec": {"minMember": 9}})

    assert "status" not in created.body
    assert ignored.version == created.version
    assert (written.body["status"], written.body["spec"]) == ({"phase": "Pending"}, {"minMember": 1})
    assert written.body["metadata"]["generation"] == 1


async def test_unknown_fields_are_pruned_and_leave_the_version_as_it_was(rest: Rest, pod_groups: None) -> None:
    created = await rest.post(POD_GROUPS, group(minMember=1, color="red"))
    patched = await rest.patch(GROUP_PATH, {"spec": {"color": "red"}})

    assert created.body["spec"] == {"minMember": 1}
    assert patched.version == created.version


async def test_strategic_patches_are_for_built_in_kinds(rest: Rest, pod_groups: None) -> None:
    await rest.post(POD_GROUPS, group(minMember=1))

    assert (await rest.patch(GROUP_PATH, {"spec": {"minMember": 2}}, form="strategic")).status == 415
    changed = await rest.patch(GROUP_PATH, {"spec": {"minMember": 2}})
    assert changed.body["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("schema", "value", "detail"),
    [
        ({"type": "integer"}, "x", 'Invalid value: "string": spec.f in body must be of type integer: "string"'),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            ["a", "a"],
            'Duplicate value: "a"',
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            1,
            "Invalid value: 1: spec.f in body should be greater than 1",
        ),
        ({"type": "integer", "minimum": 1}, 0, "Invalid value: 0: spec.f in body should be greater than or equal to 1"),
        ({"type": "integer", "maximum": 1}, 2, "Invalid value: 2: spec.f in body should be less than or equal to 1"),
        ({"type": "string", "enum": ["a", "b"]}, "c", 'Unsupported value: "c": supported values: "a", "b"'),
        ({"type": "string", "pattern": "^a+$"}, "b", "Invalid value: \"b\": spec.f in body should match '^a+$'"),
        ({"type": "string", "maxLength": 1}, "ab", "Too long: may not be more than 1 bytes"),
        ({"type": "string", "minLength": 2}, "a", 'Invalid value: "a": spec.f in body should be at least 2 chars long'),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 0},
            ["a"],
            "Too many: 1: must have at most 0 items",
        ),
        (
            {"type": "string", "format": "date-time"},
            "noon",
            'Invalid value: "noon": spec.f in body must be of type date-time: "noon"',
        ),
    ],
    ids=[
        "type",
        "set",
        "exclusive",
        "minimum",
        "maximum",
        "enum",
        "pattern",
        "too long",
        "too short",
        "too many",
        "time",
    ],
)
async def test_rules_of_a_schema(rest: Rest, schema: dict[str, Any], value: object, detail: str) -> None:
    await rest.post(DEFINITIONS, definition({"f": schema}))
    refused = await rest.post(GADGETS, gadget(f=value))

    place = "[1]" if detail.startswith("Duplicate") else ""
    assert refused.verdict == (422, "Invalid", f'Gadget.x.io "a" is invalid: spec.f{place}: {detail}')


async def test_defaults_and_required_fields(rest: Rest) -> None:
    inner = {"type": "object", "required": ["b"], "properties": {"a": {"type": "integer", "default": 3}, "b": {}}}
    await rest.post(DEFINITIONS, definition({"outer": inner, "text": {"type": "string", "default": "t"}}))

    assert (await rest.post(GADGETS, gadget(outer={"b": 1}))).body["spec"] == {"outer": {"a": 3, "b": 1}, "text": "t"}
    refused = await rest.post(GADGETS, gadget(outer={}))
    assert refused.body["details"]["causes"] == [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.outer.b"}
    ]


async def test_preserved_and_nullable_fields(rest: Rest) -> None:
    schema = {
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "maybe": {"type": "string", "nullable": True},
        "either": {"x-kubernetes-int-or-string": True},
    }
    await rest.post(DEFINITIONS, definition(schema))
    spec = {"free": {"any": [1, {"thing": None}]}, "maybe": None, "either": "50%"}

    assert (await rest.post(GADGETS, gadget(**spec))).body["spec"] == spec


async def test_a_value_that_was_legal_once_stays_until_it_changes(rest: Rest) -> None:
    await rest.post(DEFINITIONS, definition({"f": {"type": "integer"}, "g": {"type": "integer"}}))
    await rest.post(GADGETS, gadget(f=0, g=0))
    versions = definition({"f": {"type": "integer", "minimum": 1}, "g": {"type": "integer"}})["spec"]["versions"]
    await rest.patch(f"{DEFINITIONS}/gadgets.x.io", {"spec": {"versions": versions}})

    assert (await rest.patch(f"{GADGETS}/a", {"spec": {"g": 1}})).status == 200
    assert (await rest.patch(f"{GADGETS}/a", {"spec": {"f": -1}})).status == 422


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"metadata": {"name": "other.x.io"}}, "metadata.name"),
        (
            {"spec": {"versions": [{"name": "v1", "served": True, "storage": True}]}},
            "spec.versions[0].schema.openAPIV3Schema",
        ),
    ],
    ids=["name", "schema"],
)
async def test_an_invalid_definition_is_refused(rest: Rest, change: dict[str, Any], field: str) -> None:
    body = definition({})
    for part, values in change.items():
        body[part] = {**body[part], **values}
    refused = await rest.post(DEFINITIONS, body)

    assert [cause["field"] for cause in refused.body["details"]["causes"]] == [field]


async def test_every_served_version_shows_the_same_object(rest: Rest) -> None:
    body = definition({"f": {"type": "integer"}})
    body["spec"]["versions"].append({**body["spec"]["versions"][0], "name": "v2", "storage": False})
    await rest.post(DEFINITIONS, body)
    await rest.post("/apis/x.io/v2/namespaces/default/gadgets", {**gadget(f=1), "apiVersion": "x.io/v2"})

    first = (await rest.get(f"{GADGETS}/a")).body
    second = (await rest.get("/apis/x.io/v2/namespaces/default/gadgets/a")).body
    assert (first["apiVersion"], second["apiVersion"]) == ("x.io/v1", "x.io/v2")
    assert first["spec"] == second["spec"] == {"f": 1}


async def test_a_custom_resource_has_no_scale(rest: Rest) -> None:
    body = definition({"size": {"type": "integer"}})
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
    body["spec"]["versions"][0]["subresources"] = {"scale": scale}
    await rest.post(DEFINITIONS, body)
    await rest.post(GADGETS, gadget(size=1))

    assert (await rest.get(f"{GADGETS}/a/scale")).status == 404

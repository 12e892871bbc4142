import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gangline.contract.crd import crd, rendered

Schema = dict[str, Any]


def version() -> Schema:
    found: Schema = crd()["spec"]["versions"][0]
    return found


def root() -> Schema:
    schema: Schema = version()["schema"]["openAPIV3Schema"]
    return schema


def at(path: str) -> Schema:
    schema = root()
    for name in path.split("."):
        schema = schema["properties"][name]
    return schema


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, property_ in schema.get("properties", {}).items():
        yield from nodes(property_, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from nodes(schema[keyword], f"{path}[]")


def test_names_and_scope() -> None:
    assert crd()["metadata"] == {"name": "podgroups.scheduling.x-k8s.io"}
    spec = crd()["spec"]
    assert (spec["group"], spec["scope"]) == ("scheduling.x-k8s.io", "Namespaced")
    assert spec["names"] == {
        "kind": "PodGroup",
        "listKind": "PodGroupList",
        "plural": "podgroups",
        "singular": "podgroup",
        "shortNames": ["pg", "pgs"],
    }
    assert [(v["name"], v["served"], v["storage"], v["subresources"]) for v in spec["versions"]] == [
        ("v1alpha1", True, True, {"status": {}})
    ]


def test_columns() -> None:
    columns = {column["name"]: (column["type"], column["jsonPath"]) for column in version()["additionalPrinterColumns"]}

    assert list(columns) == ["Phase", "MinMember", "Scheduled", "Running", "Succeeded", "Failed", "Age"]
    assert columns["Age"] == ("date", ".metadata.creationTimestamp")
    for type_, path in columns.values():
        if not path.startswith(".metadata"):
            assert at(path.removeprefix("."))["type"] == type_


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "spec.minMember",
            {"type": "integer", "format": "int32", "minimum": 1, "maximum": 2147483647},
            id="minMember",
        ),
        pytest.param(
            "spec.scheduleTimeoutSeconds",
            {"type": "integer", "format": "int32", "minimum": -2147483648, "maximum": 2147483647},
            id="timeout",
        ),
        pytest.param("spec.priorityClassName", {"type": "string"}, id="class"),
        pytest.param("status.phase", {"type": "string"}, id="phase"),
        pytest.param("status.occupiedBy", {"type": "string"}, id="occupiedBy"),
        pytest.param("status.scheduled", {"type": "integer", "format": "int32"}, id="scheduled"),
        pytest.param("status.running", {"type": "integer", "format": "int32"}, id="running"),
        pytest.param("status.succeeded", {"type": "integer", "format": "int32"}, id="succeeded"),
        pytest.param("status.failed", {"type": "integer", "format": "int32"}, id="failed"),
        pytest.param("status.scheduleStartTime", {"type": "string", "format": "date-time"}, id="start"),
        pytest.param("status.observedGeneration", {"type": "integer", "format": "int64"}, id="generation"),
        pytest.param("metadata", {"type": "object"}, id="metadata"),
    ],
)
def test_field(path: str, expected: Schema) -> None:
    assert {keyword: value for keyword, value in at(path).items() if keyword != "description"} == expected


def test_no_other_fields() -> None:
    assert {path for path, _ in nodes(root()) if path.startswith(".spec.")} == {
        ".spec.minMember",
        ".spec.minResources",
        ".spec.minResources[]",
        ".spec.scheduleTimeoutSeconds",
        ".spec.priorityClassName",
    }


def test_min_resources_are_quantities() -> None:
    quantity = at("spec.minResources")["additionalProperties"]

    assert quantity["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert quantity["x-kubernetes-int-or-string"] is True
    assert "type" not in quantity
    for text in ("4", "500m", "1.5Gi", "1e3", "-1", ".5"):
        assert re.search(quantity["pattern"], text), text
    for text in ("four", "", "1 Gi", "1Gib", "1e"):
        assert not re.search(quantity["pattern"], text), text


def test_conditions_are_a_map_by_type() -> None:
    conditions = at("status.conditions")

    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert conditions["items"]["required"] == ["type"]
    assert set(conditions["items"]["properties"]) == {
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime",
        "observedGeneration",
    }


def test_the_schema_is_structural_and_keeps_nothing_unknown() -> None:
    for path, schema in nodes(root()):
        assert "type" in schema or schema.get("x-kubernetes-int-or-string") is True, path
        assert "x-kubernetes-preserve-unknown-fields" not in schema, path
        assert "x-kubernetes-validations" not in schema, path
        assert not {"$ref", "default", "nullable", "oneOf", "allOf"} & set(schema), path
        assert "required" not in schema or path == ".status.conditions[]", path


def test_every_field_explains_itself() -> None:
    for path, schema in nodes(root()):
        if not path.endswith("[]") and path != ".metadata":
            assert len(schema.get("description", "")) > 15, path
            assert schema["description"].endswith("."), path


def test_the_manifest_is_what_the_structs_say() -> None:
    manifest = Path(__file__).parents[3] / "manifests/base/crd.yaml"

    assert manifest.read_text() == rendered()


def test_yaml_says_the_same_without_anchors() -> None:
    assert yaml.safe_load(rendered()) == crd()
    assert "&id" not in rendered()

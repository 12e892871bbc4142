"""Tables, discovery and OpenAPI: what kubectl reads."""

from typing import Any

import pytest

from gangline.sandbox.apiserver.schema import jsonpath
from tests.support.rest import POD_GROUPS, PODS, Rest, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def rows(body: dict[str, Any]) -> list[dict[str, Any]]:
    names = [column["name"] for column in body["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in body["rows"]]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({}, {"Ready": "0/1", "Status": "Pending", "Restarts": "0"}),
        (
            {
                "phase": "Running",
                "containerStatuses": [{"name": "main", "ready": True, "restartCount": 2, "image": "", "imageID": ""}],
            },
            {"Ready": "1/1", "Status": "Running", "Restarts": "2"},
        ),
        ({"phase": "Failed", "reason": "OutOfcpu"}, {"Ready": "0/1", "Status": "OutOfcpu", "Restarts": "0"}),
    ],
    ids=["new", "running", "failed"],
)
async def test_the_table_of_pods(rest: Rest, status: dict[str, Any], shown: dict[str, str]) -> None:
    await rest.post(PODS, pod())
    await rest.patch(f"{PODS}/a/status", {"status": status})
    (row,) = rows((await rest.get(PODS, accept=TABLE)).body)

    assert row["Name"] == "a"
    assert {column: row[column] for column in shown} == shown


async def test_the_table_of_a_custom_kind_has_its_printer_columns(rest: Rest, pod_groups: None) -> None:
    body = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 3},
    }
    await rest.post(POD_GROUPS, body)
    table = (await rest.get(POD_GROUPS, accept=TABLE)).body
    (row,) = rows(table)

    age = row.pop("Age")
    assert row == {
        "Name": "g",
        "Phase": "",
        "MinMember": 3,
        "Scheduled": None,
        "Running": None,
        "Succeeded": None,
        "Failed": None,
    }
    assert age.endswith("s")
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_a_table_watch_names_its_columns_once(rest: Rest) -> None:
    await rest.post(PODS, pod("a"))
    await rest.post(PODS, pod("b"))
    async with rest.watch(PODS, accept=TABLE) as watch:
        first, second = await watch.next(), await watch.next()

    assert len(first["object"]["columnDefinitions"]) == 9
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "b"


async def test_metadata_alone_are_no_form_of_an_answer(rest: Rest) -> None:
    assert (await rest.get(PODS, accept=PARTIAL)).status == 406
    assert (await rest.get(PODS, accept=f"{PARTIAL},application/json")).body["kind"] == "PodList"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", 1),
        (".list[1].x", 3),
        (".list[*].x", 2),
        ('.list[?(@.type=="two")].x', 3),
        (".map['dotted.key']", 4),
        (r".map.dotted\.key", 4),
        (".nothing", None),
        (".a[?(", None),
    ],
)
def test_json_paths(path: str, found: object) -> None:
    item = {"a": {"b": 1}, "list": [{"type": "one", "x": 2}, {"type": "two", "x": 3}], "map": {"dotted.key": 4}}

    assert jsonpath.first(item, path) == found


async def test_discovery(rest: Rest, pod_groups: None) -> None:
    resources = (await rest.get("/apis/scheduling.x-k8s.io/v1alpha1")).body["resources"]
    groups = {group["name"]: group for group in (await rest.get("/apis")).body["groups"]}

    assert [entry["name"] for entry in resources] == ["podgroups", "podgroups/status"]
    assert resources[0]["shortNames"] == ["pg", "pgs"]
    assert groups["scheduling.x-k8s.io"]["preferredVersion"]["version"] == "v1alpha1"
    assert (await rest.get("/api")).body["versions"] == ["v1"]
    assert (await rest.get("/apis/none.io")).status == 404


async def test_openapi_changes_with_the_definitions(rest: Rest) -> None:
    before = (await rest.get("/openapi/v3")).body["paths"]
    core = (await rest.get("/openapi/v3/api/v1")).body

    assert "apis/scheduling.x-k8s.io/v1alpha1" not in before
    parameters = core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]["parameters"]
    assert [parameter["name"] for parameter in parameters] == ["fieldValidation"]
    assert "io.k8s.api.core.v1.PodSpec" in core["components"]["schemas"]
    assert (await rest.get("/version")).body["minor"] == "37"

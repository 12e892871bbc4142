"""Lists: pages, revisions, selectors."""

from collections.abc import Mapping

import pytest

from tests.support.rest import PODS, Rest, pod


async def populate(rest: Rest, names: str = "abcde") -> None:
    for name in names:
        assert (await rest.post(PODS, pod(name, labels={"name": name}))).status == 201


async def test_pages_show_one_revision_whatever_happens_between_them(rest: Rest) -> None:
    await populate(rest)
    first = await rest.get(PODS, limit="2")
    await rest.delete(f"{PODS}/d")
    await rest.post(PODS, pod("bb"))
    second = await rest.get(PODS, limit="2", **{"continue": first.body["metadata"]["continue"]})
    third = await rest.get(PODS, limit="2", **{"continue": second.body["metadata"]["continue"]})

    assert [first.names, second.names, third.names] == [["a", "b"], ["c", "d"], ["e"]]
    assert first.version == second.version == third.version
    assert first.body["metadata"]["remainingItemCount"] == 3
    assert "continue" not in third.body["metadata"]


async def test_a_page_token_from_before_compaction_expires_and_offers_another(rest: Rest) -> None:
    await populate(rest)
    first = await rest.get(PODS, limit="2")
    await rest.delete(f"{PODS}/a")
    await rest.post("/sandbox/compact", {})
    gone = await rest.get(PODS, limit="2", **{"continue": first.body["metadata"]["continue"]})

    assert (gone.status, gone.body["reason"]) == (410, "Expired")
    rest_of_list = await rest.get(PODS, **{"continue": gone.body["metadata"]["continue"]})
    assert rest_of_list.names == ["c", "d", "e"]


async def test_an_exact_revision_shows_the_past(rest: Rest) -> None:
    await populate(rest, "ab")
    before = await rest.get(PODS)
    await rest.delete(f"{PODS}/a")

    past = await rest.get(PODS, resourceVersion=before.version, resourceVersionMatch="Exact")
    newest = await rest.get(PODS, resourceVersion=before.version, resourceVersionMatch="NotOlderThan")

    assert (past.names, past.version) == (["a", "b"], before.version)
    assert newest.names == ["b"]


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        ({"resourceVersion": "999999"}, 504, "Timeout"),
        ({"resourceVersion": "x"}, 400, "BadRequest"),
        ({"resourceVersionMatch": "Exact"}, 422, "Invalid"),
        ({"resourceVersion": "0", "resourceVersionMatch": "Exact"}, 422, "Invalid"),
        ({"resourceVersion": "1", "resourceVersionMatch": "Newest"}, 422, "Invalid"),
        ({"continue": "nonsense"}, 400, "BadRequest"),
        ({"labelSelector": "a in (b"}, 400, "BadRequest"),
        ({"labelSelector": "rank>99"}, 400, "BadRequest"),
        ({"fieldSelector": "spec.color=red"}, 400, "BadRequest"),
        ({"limit": "many"}, 400, "BadRequest"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
async def test_a_bad_list_query_is_refused(rest: Rest, query: Mapping[str, str], status: int, reason: str) -> None:
    refused = await rest.get(PODS, **query)

    assert (refused.status, refused.body["reason"]) == (status, reason)


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("name=a", ["a"]),
        ("name==a", ["a"]),
        ("name!=a", ["b", "c", "d", "e"]),
        ("name in (a, c)", ["a", "c"]),
        ("name notin (a,b,c)", ["d", "e"]),
        ("name,other", []),
        ("!other", ["a", "b", "c", "d", "e"]),
        ("name in (a,b),name!=b", ["a"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_label_selectors(rest: Rest, selector: str, names: list[str]) -> None:
    await populate(rest)

    assert (await rest.get(PODS, labelSelector=selector)).names == names


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("metadata.name=a", ["a"]),
        ("metadata.namespace=default,metadata.name!=a", ["b"]),
        ("spec.nodeName=", ["a"]),
        ("spec.nodeName!=", ["b"]),
        ("spec.nodeName=n", ["b"]),
        ("status.phase=Pending", ["a", "b"]),
        ("spec.schedulerName=gangline", ["b"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_field_selectors_on_pods(rest: Rest, selector: str, names: list[str]) -> None:
    await rest.post(PODS, pod("a"))
    await rest.post(PODS, pod("b", nodeName="n", schedulerName="gangline"))

    assert (await rest.get(PODS, fieldSelector=selector)).names == names


async def test_a_list_of_all_namespaces_is_in_key_order(rest: Rest) -> None:
    for namespace, name in (("kube-system", "a"), ("default", "z"), ("default", "b")):
        await rest.post(f"/api/v1/namespaces/{namespace}/pods", pod(name))

    found = (await rest.get("/api/v1/pods")).body["items"]

    keys = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in found]
    assert keys == [("default", "b"), ("default", "z"), ("kube-system", "a")]

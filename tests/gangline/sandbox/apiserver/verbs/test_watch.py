"""Watches over a real socket."""

import pytest

from gangline.sandbox.apiserver.server import ApiServer
from tests.support.rest import PODS, Rest, new_event, pod


async def test_a_watch_from_a_revision_tells_what_came_after(rest: Rest) -> None:
    first = await rest.post(PODS, pod("a"))
    await rest.post(PODS, pod("b"))
    await rest.patch(f"{PODS}/b", {"metadata": {"labels": {"x": "1"}}})
    await rest.delete(f"{PODS}/a")

    async with rest.watch(PODS, resourceVersion=first.version) as watch:
        assert await watch.take(4) == [("ADDED", "b"), ("MODIFIED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_watch_from_the_future_waits_for_it(rest: Rest) -> None:
    first = await rest.post(PODS, pod("a"))
    async with rest.watch(PODS, resourceVersion=str(int(first.version) + 1)) as watch:
        await rest.post(PODS, pod("b"))
        await rest.post(PODS, pod("c"))

        assert await watch.take(1) == [("ADDED", "c")]


async def test_a_watch_from_nowhere_begins_with_what_is_there(rest: Rest) -> None:
    await rest.post(PODS, pod("a"))

    async with rest.watch(PODS) as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        await rest.post(PODS, pod("b"))
        assert await watch.take(1) == [("ADDED", "b")]


async def test_a_deleted_event_carries_the_revision_of_the_deletion(rest: Rest) -> None:
    created = await rest.post(PODS, pod("a"))
    async with rest.watch(PODS, resourceVersion=created.version) as watch:
        await rest.delete(f"{PODS}/a")
        event = await watch.next()

    assert int(event["object"]["metadata"]["resourceVersion"]) > int(created.version)


@pytest.mark.parametrize(
    ("query", "change", "expected"),
    [
        (
            {"labelSelector": "x=1"},
            {"metadata": {"labels": {"x": "1"}}},
            [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")],
        ),
        (
            {"labelSelector": "!x"},
            {"metadata": {"labels": {"x": "1"}}},
            [("DELETED", "b"), ("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")],
        ),
    ],
    ids=["begins to match", "stops matching"],
)
async def test_a_selecting_watch_adds_and_deletes_what_begins_and_stops_to_match(
    rest: Rest, query: dict[str, str], change: object, expected: list[tuple[str, str]]
) -> None:
    start = await rest.post(PODS, pod("b"))
    async with rest.watch(PODS, resourceVersion=start.version, **query) as watch:
        await rest.patch(f"{PODS}/b", change)
        await rest.patch(f"{PODS}/b", {"metadata": {"annotations": {"seen": "1"}}})
        await rest.patch(f"{PODS}/b", {"metadata": {"labels": {"x": None}}})
        await rest.delete(f"{PODS}/b")

        assert await watch.take(len(expected)) == expected


async def test_a_watch_of_one_namespace_or_one_name_sees_nothing_else(rest: Rest) -> None:
    start = await rest.post("/api/v1/namespaces/kube-system/pods", pod("a"))
    async with (
        rest.watch(PODS, resourceVersion=start.version) as default,
        rest.watch("/api/v1/pods", resourceVersion=start.version, fieldSelector="metadata.name=b") as named,
    ):
        await rest.post("/api/v1/namespaces/kube-system/pods", pod("c"))
        await rest.post(PODS, pod("d"))
        await rest.post(PODS, pod("b"))

        assert await default.take(2) == [("ADDED", "d"), ("ADDED", "b")]
        assert await named.take(1) == [("ADDED", "b")]


async def test_a_watch_from_before_compaction_ends_with_410_in_the_stream(rest: Rest) -> None:
    first = await rest.post(PODS, pod("a"))
    await rest.post(PODS, pod("b"))
    await rest.post("/sandbox/compact", {})

    async with rest.watch(PODS, resourceVersion=first.version) as watch:
        (event,) = await watch.rest()

    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith(f"too old resource version: {first.version} (")


async def test_bookmarks_come_on_their_own_and_say_how_far_the_stream_is(rest: Rest) -> None:
    start = await rest.post(PODS, pod("a"))
    other = await rest.post("/api/v1/namespaces", {"metadata": {"name": "other"}})
    async with rest.watch(PODS, resourceVersion=start.version, allowWatchBookmarks="true") as watch:
        event = await watch.next()

    assert event["type"] == "BOOKMARK"
    assert event["object"]["kind"] == "Pod"
    assert event["object"]["metadata"] == {"resourceVersion": other.version}


async def test_a_watch_ends_cleanly_when_its_time_is_over_with_a_last_bookmark() -> None:
    async with (
        ApiServer(bookmark_s=60) as server,
        Rest(server.url) as rest,
        rest.watch(PODS, timeoutSeconds="1", allowWatchBookmarks="true") as watch,
    ):
        events = await watch.rest()

    assert [event["type"] for event in events] == ["BOOKMARK"]


async def test_initial_events_end_with_a_marked_bookmark(rest: Rest) -> None:
    await rest.post(PODS, pod("a"))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}

    async with rest.watch(PODS, **query) as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        bookmark = await watch.next()

    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_events_show_in_the_version_that_is_watched(rest: Rest) -> None:
    created = await rest.post("/apis/events.k8s.io/v1/namespaces/default/events", new_event())
    assert created.status == 201

    async with rest.watch("/api/v1/events", fieldSelector="involvedObject.name=a") as old:
        shown = (await old.next())["object"]
    async with rest.watch("/apis/events.k8s.io/v1/events", fieldSelector="regarding.name=a") as new:
        same = (await new.next())["object"]

    assert (shown["apiVersion"], shown["message"], shown["involvedObject"]["name"]) == ("v1", "hello", "a")
    assert (same["apiVersion"], same["note"], same["regarding"]["name"]) == ("events.k8s.io/v1", "hello", "a")


async def test_closing_the_server_ends_open_watches() -> None:
    async with ApiServer() as server, Rest(server.url) as rest, rest.watch(PODS) as watch:
        await server.__aexit__(None, None, None)
        assert await watch.rest() == []

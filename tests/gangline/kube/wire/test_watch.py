"""The watch machine: every way a server behaves, as a table; and a model server that misbehaves at random."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gangline.base.backoff import Backoff
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.wire.changes import Change, Observed, Progress, Removed, Synced, Unreadable
from gangline.kube.wire.errors import (
    ApiError,
    Forbidden,
    Gone,
    Interrupted,
    NotFound,
    ServerError,
    Silent,
    TooManyRequests,
    Unauthorized,
    Undecodable,
    Unreachable,
)
from gangline.kube.wire.resources import PODS, Resource
from gangline.kube.wire.watch import Confirm, ListPage, OpenWatch, Wait, WatchMachine

A = Key("team", "a")
B = Key("team", "b")


def pod(name: str, version: int, *, uid: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"namespace": "team", "name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, **fields}


def page(version: int | str, *pods: dict[str, Any], token: str = "") -> bytes:
    return json.dumps({"metadata": {"resourceVersion": str(version), "continue": token}, "items": pods}).encode()


def event(kind: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version)}})


def error_event(code: int, reason: str, message: str = "sorry") -> bytes:
    return event("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": message})


def machine(resource: Resource | None = None) -> WatchMachine[Pod]:
    return WatchMachine(Pod, watch_seconds=(300, 600), backoff=Backoff(initial_s=1.0, limit_s=30.0), resource=resource)


def listed(*pods: dict[str, Any], version: int = 100) -> WatchMachine[Pod]:
    """Return a machine that has listed these pods."""
    made = machine()
    made.page(page(version, *pods), 0.0)
    return made


def watching(*pods: dict[str, Any], version: int = 100) -> WatchMachine[Pod]:
    """Return a machine that has listed these pods and has had a watch open since 0 s."""
    made = listed(*pods, version=version)
    made.opened(0.0)
    return made


def told(changes: list[Change[Pod]]) -> list[str]:
    """Return changes as short words: `+a` observed, `-a` removed, `?a` unreadable, `=` synced, `>7` progress."""
    words = []
    for change in changes:
        match change:
            case Observed(item):
                words.append(f"+{item.metadata.name}")
            case Removed(key, _, _):
                words.append(f"-{key.name}")
            case Unreadable(key=key):
                words.append(f"?{key.name}")
            case Synced():
                words.append("=")
            case Progress(version):
                words.append(f">{version}")
    return words


def test_starts_with_the_first_page_and_watches_from_the_version_of_the_list() -> None:
    made = machine()

    assert made.next(0.0) == ListPage("", 500)
    assert told(made.page(page(7, pod("a", 3), token="t"), 0.0)) == ["+a"]
    synced_with_half = made.synced
    assert made.next(0.0) == ListPage("t", 500)
    assert told(made.page(page(7, pod("b", 5)), 0.0)) == ["+b", "=", ">7"]
    assert (synced_with_half, made.synced) == (False, True)
    assert made.next(0.5) == OpenWatch("7", 450)


@pytest.mark.parametrize(("jitter", "seconds"), [(0.0, 300), (0.999, 600)], ids=["shortest", "longest"])
def test_the_length_of_a_watch_is_drawn_between_its_bounds(jitter: float, seconds: int) -> None:
    assert watching().next(jitter) == OpenWatch("100", seconds)


@pytest.mark.parametrize(
    ("line", "words", "resume_from"),
    [
        pytest.param(event("ADDED", pod("b", 101)), ["+b"], "101", id="added"),
        pytest.param(event("MODIFIED", pod("a", 101)), ["+a"], "101", id="modified"),
        pytest.param(event("DELETED", pod("a", 101)), ["-a"], "101", id="deleted"),
        pytest.param(event("DELETED", pod("z", 101)), ["-z"], "101", id="deleted-but-never-seen"),
        pytest.param(event("ADDED", pod("a", 101, uid="new")), ["-a", "+a"], "101", id="recreated-and-removal-missed"),
        pytest.param(event("ADDED", pod("a", 100)), ["+a"], "100", id="replayed"),
        pytest.param(bookmark(140), [">140"], "140", id="bookmark"),
        pytest.param(b"\n", [], "100", id="blank-line"),
        pytest.param(event("ADDED", pod("b", 101))[:-30], [], "100", id="line-cut-off"),
        pytest.param(event("ADDED", pod("b", 101))[:-1], [], "100", id="line-without-its-end"),
        pytest.param(event("RENAMED", pod("b", 101)), [], "100", id="event-of-an-unknown-type"),
        pytest.param(event("ADDED", pod("b", 101, spec={"containers": 3})), ["?b"], "101", id="object-unreadable"),
        pytest.param(event("DELETED", pod("a", 101, spec=[])), ["-a"], "101", id="deleted-object-unreadable"),
        pytest.param(b'{"object":{"metadata":{"name":"b"}},"type":"ADDED"}\n', ["+b"], "100", id="type-comes-last"),
    ],
)
def test_one_line(line: bytes, words: list[str], resume_from: str) -> None:
    made = watching(pod("a", 50))

    assert told(made.line(line, 1.0)) == words
    made.ended(400.0)
    assert made.next(0.0) == Confirm()
    made.confirmed(page(1000))
    assert made.next(0.0) == OpenWatch(resume_from, 300)


def test_a_removal_carries_the_uid_and_the_last_version() -> None:
    made = watching(pod("a", 50))

    [change] = made.line(event("DELETED", pod("a", 101, spec={"nodeName": "n1"})), 1.0)

    assert isinstance(change, Removed)
    assert (change.key, change.uid) == (A, "uid-a")
    assert change.last is not None
    assert change.last.spec.node_name == "n1"


def test_an_unreadable_object_tells_its_envelope() -> None:
    made = watching()

    [change] = made.line(event("ADDED", pod("b", 101, spec={"nodeName": "n1", "priority": "high"})), 1.0)

    assert isinstance(change, Unreadable)
    assert (change.key, change.uid, change.resource_version, change.node_name) == (B, "uid-b", "101", "n1")
    assert "`$.spec.priority`" in change.message


def test_unreadable_objects_do_not_spoil_the_page_they_stand_in() -> None:
    made = machine()

    changes = made.page(page(9, pod("a", 1), pod("b", 2, metadata_={}, spec={"priority": {}}), pod("c", 3)), 0.0)

    assert told(changes) == ["+a", "?b", "+c", "=", ">9"]


def test_an_unreadable_object_that_disappears_is_removed_by_the_next_list() -> None:
    made = machine()
    made.page(page(9, pod("b", 2, spec=[])), 0.0)
    made.failed(Gone("expired", status=410), 1.0)

    assert made.page(page(20), 2.0)[0] == Removed(B, "uid-b")


def test_a_relist_tells_removals_before_it_is_synced() -> None:
    made = watching(pod("a", 1), pod("b", 2), pod("c", 3, uid="old"))
    made.failed(Gone("expired", status=410), 10.0)

    assert isinstance(made.next(0.0), Wait)
    assert made.next(0.0) == ListPage("", 500)
    assert told(made.page(page(200, pod("b", 2), token="t"), 11.0)) == ["+b"]
    changes = made.page(page(200, pod("c", 150, uid="new"), pod("d", 160)), 11.0)

    assert told(changes) == ["-c", "+c", "+d", "-a", "=", ">200"]
    assert changes[0] == Removed(Key("team", "c"), "old")
    assert changes[3] == Removed(A, "uid-a")


@pytest.mark.parametrize(
    ("error", "then"),
    [
        pytest.param(Gone("too old", status=410), ListPage("", 500), id="410-as-a-status"),
        pytest.param(
            ServerError("Too large resource version: 9, current: 3", status=504), ListPage("", 500), id="too-large"
        ),
        pytest.param(
            ServerError("later", status=504, causes=("ResourceVersionTooLarge",)),
            ListPage("", 500),
            id="too-large-cause",
        ),
        pytest.param(ServerError("boom", status=500), Confirm(), id="500"),
        pytest.param(ServerError("<html>Bad gateway", status=502), ListPage("", 500), id="html-502"),
        pytest.param(TooManyRequests("busy", status=429), Confirm(), id="429"),
        pytest.param(Unreachable("refused"), ListPage("", 500), id="refused"),
        pytest.param(Interrupted("reset"), ListPage("", 500), id="no-answer"),
        pytest.param(Forbidden("no", status=403), Confirm(), id="forbidden"),
    ],
)
def test_after_a_watch_that_did_not_open(error: ApiError, then: ListPage | Confirm) -> None:
    made = listed()

    made.failed(error, 5.0)

    assert made.problem == str(error)
    assert made.synced
    assert isinstance(made.next(0.0), Wait)
    assert made.next(0.0) == then


@pytest.mark.parametrize(
    ("line", "error", "then"),
    [
        pytest.param(error_event(410, "Expired"), Gone, ListPage("", 500), id="410-in-the-stream"),
        pytest.param(error_event(410, "Gone"), Gone, ListPage("", 500), id="410-gone-in-the-stream"),
        pytest.param(
            error_event(504, "Timeout", "Too large resource version: 9, current: 3"),
            ServerError,
            ListPage("", 500),
            id="too-large-in-the-stream",
        ),
        pytest.param(error_event(500, "InternalError"), ServerError, Confirm(), id="500-in-the-stream"),
        pytest.param(b"<html>oops</html>\n", Undecodable, Confirm(), id="html-in-the-stream"),
        pytest.param(b"[1]\n", Undecodable, Confirm(), id="no-event"),
        pytest.param(b"\xff\xfe\n", Undecodable, Confirm(), id="no-text"),
        pytest.param(b"[" * 100_000 + b"\n", Undecodable, Confirm(), id="bottomless"),
        pytest.param(event("MODIFIED", pod("a", 99)), Gone, ListPage("", 500), id="history-goes-back"),
        pytest.param(bookmark(20), Gone, ListPage("", 500), id="bookmark-goes-back"),
    ],
)
def test_a_line_that_ends_the_stream(line: bytes, error: type[ApiError], then: ListPage | Confirm) -> None:
    made = watching(pod("a", 50))

    with pytest.raises(error) as raised:
        made.line(line, 5.0)
    made.failed(raised.value, 5.0)

    assert isinstance(made.next(0.0), Wait)
    assert made.next(0.0) == then


def test_versions_that_are_no_numbers_are_not_compared() -> None:
    made = watching()
    made.line(event("ADDED", pod("a", 0) | {"metadata": {"name": "a", "resourceVersion": "zz"}}), 1.0)

    assert told(made.line(event("ADDED", {"metadata": {"name": "b", "resourceVersion": "b"}}), 1.0)) == ["+b"]


@pytest.mark.parametrize(
    ("error", "then"),
    [
        pytest.param(Interrupted("reset"), Confirm(), id="broken-off"),
        pytest.param(Silent("quiet"), ListPage("", 500), id="silent"),
        pytest.param(Undecodable("what", status=200), Confirm(), id="garbage"),
    ],
)
def test_after_an_open_stream_has_failed(error: ApiError, then: ListPage | Confirm) -> None:
    made = watching()

    made.failed(error, 80.0)

    assert isinstance(made.next(0.0), Wait)
    assert made.next(0.0) == then


@pytest.mark.parametrize(
    ("error", "then"),
    [
        pytest.param(Interrupted("reset"), ListPage("", 500), id="cut-off"),
        pytest.param(ServerError("nobody behind me", status=502), ListPage("", 500), id="502"),
        pytest.param(ServerError("starting", status=503), ListPage("", 500), id="503"),
        pytest.param(ServerError("nobody answers me", status=504), ListPage("", 500), id="504"),
        pytest.param(
            TooManyRequests("storage is (re)initializing", status=429), ListPage("", 500), id="storage-just-started"
        ),
        pytest.param(TooManyRequests("busy", status=429), Confirm(), id="429"),
        pytest.param(ServerError("boom", status=500), Confirm(), id="500"),
        pytest.param(Unauthorized("who are you", status=401), Confirm(), id="401"),
    ],
)
def test_a_server_that_was_away_is_listed_anew(error: ApiError, then: ListPage | Confirm) -> None:
    """It may be back from a backup, and past our version by now."""
    made = watching()
    made.ended(300.0)

    made.failed(error, 301.0)

    assert isinstance(made.next(0.0), Wait)
    assert made.next(0.0) == then


def test_no_watch_follows_another_before_the_server_knows_the_version() -> None:
    made = watching()
    made.line(bookmark(120), 60.0)
    made.ended(300.0)

    assert made.next(0.0) == Confirm()
    made.confirmed(page(500))
    assert made.next(0.0) == OpenWatch("120", 300)
    made.opened(300.0)
    made.failed(Interrupted("reset"), 310.0)
    made.next(0.0)
    assert made.next(0.0) == Confirm()


def test_a_server_that_is_less_far_than_we_are_is_listed_anew() -> None:
    made = watching(pod("a", 50), pod("lost", 90))
    made.ended(300.0)

    with pytest.raises(Gone, match="went back from 100 to 60") as raised:
        made.confirmed(page(60, pod("a", 50), token="t"))
    made.failed(raised.value, 300.0)

    made.next(0.0)
    assert made.next(0.0) == ListPage("", 500)
    assert told(made.page(page(60, pod("a", 50)), 301.0)) == ["+a", "-lost", "=", ">60"]
    assert made.next(0.0) == OpenWatch("60", 300)


@pytest.mark.parametrize(
    ("was_open", "end"),
    [
        pytest.param(True, lambda made: made.ended(400.0), id="ended"),
        pytest.param(True, lambda made: made.failed(Interrupted("reset"), 400.0), id="broke-off"),
        pytest.param(False, lambda made: made.failed(NotFound("no such kind", status=404), 400.0), id="did-not-open"),
    ],
)
def test_custom_resources_are_listed_after_each_watch(
    *, was_open: bool, end: Callable[[WatchMachine[Pod]], None]
) -> None:
    made = machine(replace(PODS, custom=True))
    made.page(page(100, pod("a", 50)), 0.0)
    if was_open:
        made.opened(0.0)

    end(made)

    if isinstance(order := made.next(0.0), Wait):
        order = made.next(0.0)
    assert order == ListPage("", 500)
    assert told(made.page(page(100, pod("a", 50)), 401.0)) == ["+a", "=", ">100"]
    assert made.next(0.0) == OpenWatch("100", 300)


def test_without_the_right_to_list_custom_resources_are_watched_on_as_well() -> None:
    made = machine(replace(PODS, custom=True))
    made.page(page(100, pod("a", 50), pod("b", 60)), 0.0)
    made.opened(0.0)
    made.ended(400.0)

    assert made.next(0.0) == ListPage("", 500)
    assert told(made.page(page(110, pod("a", 50), token="t"), 401.0)) == ["+a"]
    made.failed(Forbidden("no", status=403), 402.0)
    made.next(0.0)
    assert made.next(0.0) == OpenWatch("100", 30)
    made.opened(403.0)
    made.ended(433.0)

    lack = made.problem
    assert made.next(0.0) == ListPage("", 500)
    assert told(made.page(page(120, pod("b", 60)), 434.0)) == ["+b", "-a", "=", ">120"]
    assert (lack, made.problem) == ("403 Forbidden: no", None)
    assert made.next(0.0) == OpenWatch("120", 300)


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"metadata":{},"items":[]}'], ids=["html", "empty", "no-version"])
def test_what_is_no_list_confirms_nothing(body: bytes) -> None:
    made = watching()
    made.ended(300.0)

    with pytest.raises(Undecodable) as raised:
        made.confirmed(body)
    made.failed(raised.value, 300.0)

    made.next(0.0)
    assert made.next(0.0) == Confirm()


def test_without_the_right_to_list_the_watch_goes_on_in_short_pieces_and_the_lack_is_said() -> None:
    made = watching()
    made.ended(300.0)
    made.failed(Forbidden("cannot list", status=403), 300.0)

    assert isinstance(made.next(0.0), Wait)
    assert made.next(0.0) == OpenWatch("100", 30)
    made.opened(301.0)
    assert told(made.line(event("ADDED", pod("a", 101)), 302.0)) == ["+a"]
    assert made.problem == "403 Forbidden: cannot list"


def test_when_the_right_to_list_is_back_all_is_listed_anew() -> None:
    """The server may have been restored meanwhile, and its new history may have passed ours."""
    made = watching()
    made.ended(300.0)
    made.failed(Forbidden("cannot list", status=403), 300.0)
    made.next(0.0)
    made.opened(301.0)
    made.ended(331.0)

    assert made.next(0.0) == Confirm()
    made.confirmed(page(500))
    assert made.problem is None
    assert made.next(0.0) == ListPage("", 500)


def test_a_confirmation_does_not_excuse_a_watch_that_is_refused() -> None:
    made = watching()
    made.failed(Forbidden("cannot watch", status=403), 300.0)
    made.next(0.0)
    made.confirmed(page(500))

    assert made.problem == "403 Forbidden: cannot watch"
    assert made.staleness_s(310.0) == 310.0


def test_only_bookmarks_are_life() -> None:
    made = watching()

    for minute in range(1, 10):
        made.line(bookmark(100 + minute), 60.0 * minute)

    assert made.staleness_s(545.0) == 5.0
    assert made.problem is None


def test_a_healthy_end_is_followed_by_the_next_watch_at_once() -> None:
    made = watching()

    made.ended(300.0)

    assert made.next(0.0) == Confirm()
    made.confirmed(page(500))
    assert made.next(0.0) == OpenWatch("100", 300)
    assert made.problem is None


def test_a_server_that_hangs_up_at_once_is_asked_less_and_less() -> None:
    made = watching()
    waits = []

    for _ in range(8):
        made.line(event("MODIFIED", pod("a", 100)), 0.0)
        made.ended(0.5)
        order = made.next(0.0)
        assert isinstance(order, Wait)
        waits.append(order.seconds)
        assert made.next(0.0) == Confirm()
        made.confirmed(page(500))
        assert isinstance(made.next(0.0), OpenWatch)
        made.opened(0.0)

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]


def test_a_list_that_works_and_a_watch_that_never_does_is_no_hot_loop() -> None:
    made = machine()
    waits = []

    for _ in range(4):
        made.page(page(100), 0.0)
        made.failed(Gone("expired", status=410), 0.0)
        order = made.next(0.0)
        assert isinstance(order, Wait)
        waits.append(order.seconds)

    assert waits == [0.5, 1.0, 2.0, 4.0]


def test_a_second_of_life_makes_it_quick_again() -> None:
    made = watching()
    for _ in range(5):
        made.failed(Interrupted("reset"), 0.0)
    made.next(0.0)
    made.opened(100.0)

    made.failed(Interrupted("reset"), 101.0)

    assert made.next(0.0) == Wait(0.5)


def test_connection_refused_for_minutes_tells_the_problem_and_then_lists_again() -> None:
    """What comes back after that may have been restored from a backup."""
    made = watching()
    made.ended(0.0)
    now = 0.0

    while now < 600.0:
        made.failed(Unreachable("connection refused"), now)
        order = made.next(0.999)
        assert isinstance(order, Wait)
        assert order.seconds <= 30.0
        now += order.seconds

    assert made.problem == "Unreachable: connection refused"
    assert made.staleness_s(now) == now
    assert made.next(0.0) == ListPage("", 500)


def test_retry_after_is_a_lower_bound_of_the_wait() -> None:
    made = watching()

    made.failed(TooManyRequests("busy", status=429, retry_after_s=20.0), 5.0)

    assert made.next(0.5) == Wait(21.0)


def test_a_page_that_goes_unanswered_is_asked_for_again() -> None:
    made = machine()
    made.page(page(200, pod("a", 1), token="t"), 0.0)
    made.failed(Interrupted("no answer in time"), 60.0)
    made.next(0.0)

    assert made.next(0.0) == ListPage("t", 500)


def test_permission_lost_and_regained() -> None:
    made = watching(pod("a", 1))
    made.failed(Gone("expired", status=410), 400.0)
    made.next(0.0)
    made.failed(Forbidden("pods is forbidden", status=403, reason="Forbidden"), 401.0)

    assert made.problem == "403 Forbidden: pods is forbidden"
    assert made.synced
    assert isinstance(made.next(0.0), Wait)
    assert made.next(0.0) == ListPage("", 500)
    assert told(made.page(page(500), 430.0)) == ["-a", "=", ">500"]
    assert made.problem is None


def test_a_kind_that_is_not_served_yet_is_waited_for() -> None:
    made = machine()

    made.failed(NotFound("the server could not find the requested resource", status=404), 0.0)

    assert not made.synced
    assert made.problem is not None
    assert isinstance(made.next(0.0), Wait)
    assert made.next(0.0) == ListPage("", 500)


def test_a_page_token_that_expires_starts_the_list_again_and_then_in_one_piece() -> None:
    made = watching(pod("a", 1), pod("b", 2))
    made.failed(Gone("expired", status=410), 1.0)
    made.next(0.0)
    made.page(page(200, pod("a", 1), token="t"), 2.0)
    made.failed(Gone("token expired", status=410), 3.0)
    made.next(0.0)

    assert made.next(0.0) == ListPage("", 500)
    made.page(page(210, pod("c", 205), token="u"), 4.0)
    made.failed(Gone("token expired", status=410), 5.0)
    made.next(0.0)

    assert made.next(0.0) == ListPage("", 0)
    assert told(made.page(page(220, pod("b", 2)), 6.0)) == ["+b", "-a", "-c", "=", ">220"]


def test_a_failure_between_pages_goes_on_with_the_same_page() -> None:
    made = machine()
    made.page(page(200, pod("a", 1), token="t"), 0.0)
    made.failed(ServerError("boom", status=500), 0.0)
    made.next(0.0)

    assert made.next(0.0) == ListPage("t", 500)
    assert told(made.page(page(200), 0.0)) == ["=", ">200"]


def test_a_server_that_was_away_between_pages_is_listed_from_the_start() -> None:
    """The token may belong to a history that a restore has undone."""
    made = machine()
    made.page(page(200, pod("a", 1), pod("b", 150), token="t"), 0.0)
    made.failed(Unreachable("refused"), 0.0)
    made.next(0.0)

    assert made.next(0.0) == ListPage("", 500)
    assert told(made.page(page(120, pod("a", 1)), 0.0)) == ["+a", "-b", "=", ">120"]


@pytest.mark.parametrize(
    "body",
    [
        b"<html>welcome</html>",
        b"",
        b"{}",
        b'{"metadata":{},"items":[]}',
        b'{"metadata":{"resourceVersion":"1"},"items":3}',
    ],
    ids=["html", "empty", "no-metadata", "no-version", "items-no-list"],
)
def test_a_page_that_is_none(body: bytes) -> None:
    made = machine()

    with pytest.raises(Undecodable):
        made.page(body, 0.0)


def test_a_list_of_nothing_may_say_null() -> None:
    assert told(machine().page(b'{"metadata":{"resourceVersion":"1"},"items":null}', 0.0)) == ["=", ">1"]


OBSTACLES = [
    pytest.param(None, 90.0, None, id="all-is-well"),
    pytest.param(None, 181.0, "not heard of for 181 s", id="nothing-heard"),
    pytest.param(Forbidden("no", status=403), 1.0, "403 Forbidden: no", id="no-right-at-once"),
    pytest.param(NotFound("no such kind", status=404), 1.0, "404 NotFound: no such kind", id="kind-gone-at-once"),
    pytest.param(Unauthorized("who", status=401), 1.0, "401 Unauthorized: who", id="no-credentials-at-once"),
    pytest.param(Interrupted("reset"), 90.0, None, id="passes-by-itself"),
    pytest.param(Gone("expired", status=410), 90.0, None, id="is-listed-anew"),
    pytest.param(Unreachable("refused"), 200.0, "not heard of for 200 s: Unreachable: refused", id="does-not-pass"),
]


@pytest.mark.parametrize(("error", "now", "expected"), OBSTACLES)
def test_what_stands_in_the_way_of_relying_on_it(error: ApiError | None, now: float, expected: str | None) -> None:
    made = watching()
    if error is not None:
        made.failed(error, 0.5)

    assert made.obstacle(now, 180.0) == expected


def test_a_stream_that_opens_ends_what_stood_in_the_way() -> None:
    made = watching()
    made.failed(Forbidden("no", status=403), 0.5)
    made.opened(30.0)

    assert made.obstacle(31.0, 180.0) is None


def test_what_was_never_listed_says_why() -> None:
    made = machine()
    before = made.obstacle(0.0, 180.0)
    made.failed(Forbidden("no", status=403), 0.5)

    assert before == "not listed yet"
    assert made.obstacle(1.0, 180.0) == "not listed yet: 403 Forbidden: no"


def test_before_the_first_answer_it_is_infinitely_stale() -> None:
    assert machine().staleness_s(5.0) == float("inf")
    assert machine().problem == "not listed yet"

"""Events: what is written, what becomes a series, and what is given up."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangline.kube.wire.errors import ApiError, Forbidden, Invalid, NotFound, TooManyRequests, Unreachable
from gangline.kube.wire.events import ATTEMPTS, EventLog, ObjectReference, Occurrence
from gangline.kube.wire.requests import Request

START = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
POD = ObjectReference.of("Pod", "team", "a", "uid-a")


def occurrence(**changes: Any) -> Occurrence:
    fields: dict[str, Any] = {
        "regarding": POD,
        "type": "Warning",
        "reason": "Unschedulable",
        "action": "Scheduling",
        "note": "0/3 nodes are available",
        "name": "",
    }
    return Occurrence(**fields | changes)


class Recording:
    """An event log with its clock; seconds since the start."""

    def __init__(self, limit: int = 100) -> None:
        self.log = EventLog(component="gangline.io/scheduler", instance="host-1", limit=limit)

    def record(self, second: float, **changes: Any) -> bool:
        return self.log.record(occurrence(**changes), second, START + timedelta(seconds=second))

    def take(self, second: float) -> tuple[Occurrence, Request]:
        taken = self.log.take(second)
        assert taken is not None
        return taken

    def write(self, second: float) -> dict[str, Any]:
        """Take the next write, let it succeed, and return its body."""
        taken, request = self.take(second)
        self.log.written(taken, second)
        return body(request)


def body(request: Request) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(request.body or b"")
    return decoded


def test_an_event_has_the_fields_of_kube_scheduler() -> None:
    recording = Recording()
    recording.record(0.000042)

    _, request = recording.take(1.0)

    assert (request.method, request.path) == ("POST", "/apis/events.k8s.io/v1/namespaces/team/events")
    written = body(request)
    assert written["metadata"].pop("name").startswith("a.")
    assert written == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "team"},
        "eventTime": "2026-11-30T10:00:00.000042Z",
        "reportingController": "gangline.io/scheduler",
        "reportingInstance": "host-1",
        "action": "Scheduling",
        "reason": "Unschedulable",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "team", "name": "a", "uid": "uid-a"},
        "note": "0/3 nodes are available",
        "type": "Warning",
    }


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("Pod", "v1"), ("Node", "v1"), ("Namespace", "v1"), ("PodGroup", "scheduling.x-k8s.io/v1alpha1"), ("Other", "")],
    ids=str,
)
def test_references_know_the_api_versions_of_our_kinds(kind: str, api_version: str) -> None:
    assert ObjectReference.of(kind, "team", "a", "u").api_version == api_version


def test_what_is_about_a_cluster_scoped_object_goes_to_the_default_namespace() -> None:
    recording = Recording()
    recording.record(0.0, regarding=ObjectReference.of("Node", "", "n1", "u"))

    assert recording.write(0.0)["metadata"]["namespace"] == "default"


@pytest.mark.parametrize(
    ("note", "written"),
    [
        pytest.param("x" * 1024, "x" * 1024, id="fits"),
        pytest.param("x" * 1025, "x" * 1021 + "...", id="one-too-many"),
        pytest.param("ü" * 600, "ü" * 510 + "...", id="cut-between-characters"),
        pytest.param("\ud800", "?", id="half-a-surrogate"),
    ],
)
def test_a_note_is_cut_to_1024_bytes(note: str, written: str) -> None:
    recording = Recording()
    recording.record(0.0, note=note)

    assert recording.write(0.0)["note"] == written


def test_made_names_differ_and_fit() -> None:
    recording = Recording()
    long = ObjectReference.of("Pod", "team", "p" * 253, "u")
    recording.record(0.0, regarding=long, note="one")
    recording.record(0.0, regarding=long, note="two")

    names = [recording.write(0.0)["metadata"]["name"] for _ in range(2)]

    assert len(set(names)) == 2
    assert all(len(name) <= 253 for name in names)


def test_a_given_name_is_kept() -> None:
    recording = Recording()
    recording.record(0.0, name="timeout-uid-1")

    assert recording.write(0.0)["metadata"]["name"] == "timeout-uid-1"


def test_repeats_before_the_first_write_are_written_with_it() -> None:
    recording = Recording()
    for second in range(3):
        recording.record(float(second))

    assert recording.write(3.0)["series"] == {"count": 3, "lastObservedTime": "2026-11-30T10:00:02.000000Z"}
    assert recording.log.take(1000.0) is None


def test_repeats_after_it_are_counted_up_at_most_every_thirty_seconds() -> None:
    recording = Recording()
    recording.record(0.0)
    name = recording.write(0.0)["metadata"]["name"]
    for second in range(1, 11):
        recording.record(float(second))

    assert recording.log.take(29.9) is None
    assert recording.log.next_ready(10.0) == 30.0
    _, request = recording.take(30.0)
    assert (request.method, request.path.rpartition("/")[2]) == ("PATCH", name)
    assert body(request) == {"series": {"count": 11, "lastObservedTime": "2026-11-30T10:00:10.000000Z"}}


def test_a_repeat_while_a_write_is_under_way_is_not_lost() -> None:
    recording = Recording()
    recording.record(0.0)
    taken, _ = recording.take(0.0)
    recording.record(1.0)
    recording.log.written(taken, 2.0)

    assert recording.write(100.0) == {"series": {"count": 2, "lastObservedTime": "2026-11-30T10:00:01.000000Z"}}


@pytest.mark.parametrize(
    "changes",
    [{"note": "another"}, {"reason": "Other"}, {"type": "Normal"}, {"regarding": ObjectReference(name="b")}],
    ids=["note", "reason", "type", "object"],
)
def test_anything_else_is_another_event(changes: dict[str, Any]) -> None:
    recording = Recording()
    recording.record(0.0)
    recording.record(0.0, **changes)

    assert len(recording.log) == 2


@pytest.mark.parametrize(("pause_s", "again"), [(600.0, False), (600.1, True)], ids=["within", "after"])
def test_after_ten_minutes_it_is_a_new_event(pause_s: float, *, again: bool) -> None:
    recording = Recording()
    recording.record(0.0)
    recording.write(0.0)
    recording.record(pause_s)

    assert ("metadata" in recording.write(pause_s)) is again


def test_what_has_no_room_is_refused_and_repeats_need_none() -> None:
    recording = Recording(limit=2)

    assert [recording.record(0.0, note=note) for note in ("one", "two", "three", "one")] == [True, True, False, True]


@pytest.mark.parametrize(
    "error",
    [Forbidden("namespace is being terminated", status=403), Invalid("bad", status=422), NotFound("none", status=404)],
    ids=["forbidden", "invalid", "no-namespace"],
)
def test_a_definite_refusal_gives_the_event_up(error: ApiError) -> None:
    recording = Recording()
    recording.record(0.0)
    taken, _ = recording.take(0.0)

    assert not recording.log.failed(taken, error, 0.0, 0.0)
    assert recording.log.take(1000.0) is None
    assert recording.record(1.0)
    assert "metadata" in recording.write(1.0)


def test_a_passing_failure_is_tried_again_with_growing_waits_and_then_given_up() -> None:
    recording = Recording()
    recording.record(0.0)
    now, waits = 0.0, []
    for _ in range(ATTEMPTS - 1):
        taken, _ = recording.take(now)
        assert recording.log.failed(taken, Unreachable("refused"), now, 0.999)
        due = recording.log.next_ready(now)
        assert due is not None
        waits.append(round(due - now, 1))
        now = due
    taken, _ = recording.take(now)

    assert not recording.log.failed(taken, Unreachable("refused"), now, 0.999)
    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert len(recording.log) == 0


def test_retry_after_is_obeyed() -> None:
    recording = Recording()
    recording.record(0.0)
    taken, _ = recording.take(0.0)
    recording.log.failed(taken, TooManyRequests("busy", status=429, retry_after_s=20.0), 0.0, 0.0)

    assert recording.log.next_ready(0.0) == 20.0


def test_a_series_whose_event_has_expired_is_created_again() -> None:
    recording = Recording()
    recording.record(0.0)
    recording.write(0.0)
    recording.record(1.0)
    taken, _ = recording.take(30.0)

    assert recording.log.failed(taken, NotFound("gone", status=404), 30.0, 0.0)
    assert recording.write(60.0)["series"]["count"] == 2


def test_memory_of_what_was_written_is_bounded() -> None:
    recording = Recording()
    for number in range(5000):
        recording.record(0.0, note=str(number))
        recording.write(0.0)

    recording.record(1.0, note="0")

    assert "series" not in recording.write(1.0), "the oldest had been forgotten"


def test_a_repeat_of_an_event_that_is_given_up_meanwhile_goes_with_it() -> None:
    recording = Recording()
    recording.record(0)
    refused, _ = recording.take(0)
    recording.record(1)

    assert not recording.log.failed(refused, Forbidden("namespace is being terminated", status=403), 2, 0.0)

    assert recording.log.take(1000) is None
    assert len(recording.log) == 0
    assert recording.record(1001)
    assert recording.write(1001)["note"] == "0/3 nodes are available"


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a", "a."),
        ("A b", "a-b."),
        ("..", "unnamed."),
        ("\u5e2e", "unnamed."),
        ("a.-b-.c..", "a"),
        ("x" * 252 + ".y", "x"),
    ],
)
def test_the_name_of_an_event_is_legal_whatever_it_is_about(name: str, start: str) -> None:
    recording = Recording()
    recording.record(0.0, regarding=ObjectReference.of("Pod", "team", name, "u"))

    made = recording.write(0.0)["metadata"]["name"]

    assert made.startswith(start)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", made), made
    assert len(made) <= 253

"""Events in both API groups: what each demands."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangline.sandbox.apiserver.kinds import EVENTS, NAMESPACES
from gangline.sandbox.apiserver.registry import Registry
from gangline.sandbox.apiserver.store import Store
from gangline.sandbox.apiserver.strategies.events import expire
from gangline.sandbox.apiserver.strategies.strategy import ClusterState
from gangline.sandbox.apiserver.verbs.paths import Target
from gangline.sandbox.apiserver.verbs.verbs import Verbs, WriteOptions
from tests.support.rest import Rest, new_event

OLD = "/api/v1/namespaces/default/events"
NEW = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, []),
        ({"eventTime": None}, ["eventTime"]),
        ({"action": ""}, ["action"]),
        ({"reason": ""}, ["reason"]),
        ({"reportingController": ""}, ["reportingController"] * 3),
        ({"reportingInstance": "x" * 129}, ["reportingInstance"]),
        ({"note": "x" * 1025}, ["message"]),
        ({"type": "Odd"}, ["type"]),
        ({"deprecatedCount": 2}, ["count"]),
        ({"regarding": {"kind": "Pod", "name": "a", "namespace": "other"}}, []),
    ],
    ids=["good", "time", "action", "reason", "controller", "instance", "note", "type", "count", "other namespace"],
)
async def test_what_the_new_group_demands(rest: Rest, change: dict[str, Any], fields: list[str]) -> None:
    reply = await rest.post(NEW, new_event(**change))

    assert reply.status == (422 if fields else 201)
    assert [cause["field"] for cause in (reply.body.get("details") or {}).get("causes", [])] == fields


async def test_only_the_series_of_a_new_event_may_change(rest: Rest) -> None:
    await rest.post(NEW, new_event())
    series = {"count": 2, "lastObservedTime": "2026-11-30T10:01:00.000000Z"}

    assert (await rest.patch(f"{NEW}/e", {"series": series})).body["series"] == series
    refused = await rest.patch(f"{NEW}/e", {"note": "other"})
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["message"]


@pytest.mark.parametrize(("namespace", "status"), [("default", 201), ("other", 422)], ids=["same", "other"])
async def test_an_old_event_lives_in_the_namespace_of_its_object(rest: Rest, namespace: str, status: int) -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "a", "namespace": namespace}}

    assert (await rest.post(OLD, event)).status == status


def test_events_go_an_hour_after_they_were_last_written() -> None:
    start = datetime(2026, 11, 30, 12, tzinfo=UTC)
    now = [start]
    state = ClusterState(store=Store(), registry=Registry(), now=lambda: now[0])
    verbs, options = Verbs(state), WriteOptions(manager="test")
    event = Target(kind=EVENTS, namespace="default", name="e")
    verbs.create(Target(kind=NAMESPACES, namespace="", name=""), {"metadata": {"name": "default"}}, options)
    body = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"}}
    verbs.create(event, body, options)

    def is_there(minutes: int) -> bool:
        now[0] = start + timedelta(minutes=minutes)
        expire(state)
        return state.store.get(EVENTS.resource, event.key) is not None

    assert is_there(50)
    verbs.patch(event, lambda old: {**old, "count": 2}, options)
    assert is_there(105)
    assert not is_there(111)
    assert [each.change for each in state.store.since(EVENTS.resource, 0)] == ["ADDED", "MODIFIED", "DELETED"]

"""The bench for faults and the admin endpoints."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from gangline.sandbox.apiserver.faults import Delay, Faults, Occasion, Refuse, Rule, RuleBook
from tests.support.rest import PODS, Rest, binding, pod

FAULTS = "/sandbox/faults"


async def install(rest: Rest, fault: dict[str, Any], **rule: Any) -> None:
    reply = await rest.put(FAULTS, {"rules": [{"resource": "pods", **rule, "fault": fault}]})
    assert reply.status == 200, reply.body


@pytest.mark.parametrize("code", [403, 409, 422, 429, 500, 503])
async def test_a_refused_request_is_not_acted_on(rest: Rest, code: int) -> None:
    await install(rest, {"type": "refuse", "code": code, "retry_after_s": 2}, verb="create", count=1)
    refused = await rest.post(PODS, pod())

    assert (refused.status, refused.headers["Retry-After"]) == (code, "2")
    assert (await rest.get(f"{PODS}/a")).status == 404
    assert (await rest.post(PODS, pod())).status == 201


async def test_a_lost_reply_was_acted_on_and_a_cut_request_was_not(rest: Rest) -> None:
    await install(rest, {"type": "lost_reply"}, subresource="binding")
    await rest.post(PODS, pod("a"))
    with pytest.raises(aiohttp.ClientError):
        await rest.post(f"{PODS}/a/binding", binding("a", "n"))
    assert (await rest.get(f"{PODS}/a")).body["spec"]["nodeName"] == "n"

    await install(rest, {"type": "cut"}, verb="delete")
    with pytest.raises(aiohttp.ClientError):
        await rest.delete(f"{PODS}/a", gracePeriodSeconds="0")
    assert (await rest.get(f"{PODS}/a")).status == 200


async def test_a_dropped_watch_ends_in_the_middle_of_a_line(rest: Rest) -> None:
    await rest.post(PODS, pod())
    await install(rest, {"type": "drop_watch"}, verb="watch")

    async with rest.watch(PODS) as watch:
        received = await watch.until_cut()

    assert received.startswith(b'{"type":"ADDED"')
    assert not received.endswith(b"\n")


async def test_a_stalled_watch_stays_open_and_silent(rest: Rest) -> None:
    await rest.post(PODS, pod("a"))
    await install(rest, {"type": "stall_watch", "after_writes": 1}, verb="watch")
    async with rest.watch(PODS, allowWatchBookmarks="true", timeoutSeconds="1") as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        await rest.post(PODS, pod("b"))
        assert await watch.rest() == []


async def test_open_watches_can_be_dropped_at_once(rest: Rest) -> None:
    await rest.post(PODS, pod("a"))
    async with rest.watch(PODS) as watch, rest.watch("/api/v1/namespaces") as other:
        await watch.take(1)
        dropped = await rest.post("/sandbox/watches/drop", {"resource": "pods"})
        assert await watch.until_cut() == b""
        await other.take(1)

    assert dropped.body == {"dropped": 1}


def occasion(verb: str) -> Occasion:
    return Occasion(method="POST", verb=verb, resource="pods", subresource="", namespace="default", name="")


def test_the_same_seed_gives_the_same_dice() -> None:
    def strikes(seed: int) -> list[bool]:
        faults = Faults()
        faults.install(RuleBook(rules=(Rule(fault=Refuse(code=500), probability=0.5),), seed=seed))
        return [faults.strike(occasion("create"))[1] is not None for _ in range(64)]

    assert strikes(1) == strikes(1)
    assert strikes(1) != strikes(2)
    assert 10 < sum(strikes(1)) < 54


def test_rules_skip_count_and_add_delays_up() -> None:
    faults = Faults()
    rules = (
        Rule(fault=Delay(seconds=1.0), verb="create"),
        Rule(fault=Delay(seconds=0.5)),
        Rule(fault=Refuse(code=409), skip=1, count=1),
    )
    faults.install(RuleBook(rules=rules))

    struck = [faults.strike(occasion(verb)) for verb in ("create", "get", "get")]

    assert struck == [(1.5, None), (0.5, Refuse(code=409)), (0.5, None)]
    assert [count for _, count in faults.report()] == [1, 3, 1]


async def test_a_rule_with_an_unknown_word_is_refused(rest: Rest) -> None:
    refused = await rest.put(FAULTS, {"rules": [{"resourc": "pods", "fault": {"type": "cut"}}]})

    assert refused.status == 400
    assert "resourc" in refused.body["message"]


async def test_delays_hold_a_request_back(rest: Rest) -> None:
    await install(rest, {"type": "delay", "seconds": 30}, verb="list")
    waiting = asyncio.create_task(rest.get(PODS))
    await rest.post(PODS, pod())

    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_an_object_goes_into_the_store_past_validation(rest: Rest) -> None:
    hostile = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "labels": {"n": 1}},
        "spec": {"containers": "none", "priority": "high"},
    }
    async with rest.watch(PODS) as watch:
        stored = await rest.post("/sandbox/objects", hostile)
        event = await watch.next()
    listed = await rest.get(PODS)

    assert stored.status == 201
    assert event["object"]["spec"] == listed.body["items"][0]["spec"] == hostile["spec"]
    assert (await rest.post("/sandbox/objects", hostile)).status == 200
    assert (await rest.get(PODS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")).status == 200
    assert (await rest.get(PODS, labelSelector="n=1", fieldSelector="spec.nodeName=x")).names == []
    assert (await rest.delete(f"{PODS}/a")).status == 200


async def test_an_object_that_does_not_say_where_it_belongs_is_put_where_asked(rest: Rest) -> None:
    assert (await rest.post("/sandbox/objects", {"apiVersion": "v1", "kind": "Pod"}, key="default/a")).status == 201

    assert len((await rest.get(PODS)).body["items"]) == 1


async def test_a_deletion_timestamp_of_null_is_none(rest: Rest) -> None:
    meta = {"name": "a", "namespace": "default", "deletionTimestamp": None}
    await rest.post("/sandbox/objects", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}})

    assert (await rest.post(f"{PODS}/a/binding", binding("a", "n"))).status == 201


async def test_a_defect_costs_one_request(rest: Rest) -> None:
    hostile = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}, "spec": "none"}
    await rest.post("/sandbox/objects", hostile)
    broken = await rest.post(f"{PODS}/a/binding", binding("a", "n"))

    assert (broken.status, broken.body["reason"]) == (500, "InternalError")
    assert (await rest.get(PODS)).names == ["a"]


async def test_the_log_has_every_version_in_order(rest: Rest) -> None:
    created = await rest.post(PODS, pod())
    await rest.post(f"{PODS}/a/binding", binding("a", "n"))
    await rest.post("/sandbox/compact", {})
    await rest.delete(f"{PODS}/a", gracePeriodSeconds="0")
    text = (await rest.get("/sandbox/log", after=str(int(created.version) - 1))).body
    lines = [json.loads(line) for line in text.splitlines()]

    assert [line["type"] for line in lines] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert [line["revision"] for line in lines] == sorted(line["revision"] for line in lines)
    assert {line["key"] for line in lines} == {"default/a"}

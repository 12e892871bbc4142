from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.contract.counting import (
    Counts,
    MemberFacts,
    PodPhase,
    count,
    current_run,
    facts_of,
    finished_time,
    is_mismatched,
    need,
)
from gangline.contract.pod import Pod

PENDING, RUNNING, SUCCEEDED, FAILED, UNKNOWN = PodPhase


def waiting(uid: str = "w", created_s: float = 100, **facts: Any) -> MemberFacts:
    return MemberFacts(uid=uid, created_s=created_s, **facts)


def bound(uid: str = "b", created_s: float = 100, **facts: Any) -> MemberFacts:
    return MemberFacts(uid=uid, created_s=created_s, node="n1", **facts)


def finished(uid: str = "f", at: float = 100, phase: PodPhase = SUCCEEDED, **facts: Any) -> MemberFacts:
    return MemberFacts(uid=uid, created_s=10, finished_s=at, phase=phase, node="n1", **facts)


@pytest.mark.parametrize(
    ("members", "counted"),
    [
        pytest.param([], "", id="nobody"),
        pytest.param([waiting("a"), bound("b")], "ab", id="unfinished"),
        pytest.param([waiting("a", gated=True), waiting("b")], "b", id="gated"),
        pytest.param([bound("a", deleting=True), waiting("b", deleting=True)], "", id="deleting"),
        pytest.param([finished("a", deleting=True)], "", id="deleting, whatever its phase"),
        pytest.param([waiting("a", ours=False), bound("b", ours=False)], "b", id="foreign until bound"),
        pytest.param([finished("a", 50), finished("b", 90, FAILED)], "ab", id="all finished: all count"),
        pytest.param([finished("a", 99), waiting("b", 100)], "b", id="finished before the run began"),
        pytest.param([finished("a", 100), waiting("b", 100)], "b", id="succeeded in the very second"),
        pytest.param([finished("a", 100, FAILED), waiting("b", 100)], "ab", id="failed in the very second"),
        pytest.param([finished("a", 99, FAILED), waiting("b", 100)], "b", id="failed before the run began"),
        pytest.param([finished("a", 101), waiting("b", 100)], "ab", id="finished after the run began"),
        pytest.param(
            [finished("a", 101), waiting("b", 105), bound("c", 100)], "abc", id="the oldest unfinished counts"
        ),
        pytest.param([finished("a", 50, job="j"), waiting("b", 100, job="j")], "ab", id="same Job"),
        pytest.param([finished("a", 50, job="i"), waiting("b", 100, job="j")], "b", id="another Job"),
        pytest.param([finished("a", 50), waiting("b", 100)], "b", id="no Job is not a Job in common"),
        pytest.param(
            [finished("a", 50, job="j"), waiting("b", 100, job="j", deleting=True), waiting("c", 100)],
            "c",
            id="a deleting member keeps no Job alive",
        ),
        pytest.param(
            [finished("a", 50), waiting("b", 10, gated=True), waiting("c", 100)], "c", id="a gated member starts no run"
        ),
        pytest.param([finished("a", 50), waiting("b", 100, ours=False)], "a", id="a foreign member starts no run"),
        pytest.param(
            [MemberFacts(uid="a", created_s=0, phase=FAILED), waiting("b", 100)], "b", id="finished at an unknown time"
        ),
    ],
)
def test_current_run(members: list[MemberFacts], counted: str) -> None:
    assert "".join(member.uid for member in current_run(members)) == counted


@pytest.mark.parametrize(
    ("members", "counts"),
    [
        pytest.param([], Counts(), id="nobody"),
        pytest.param([waiting(), waiting()], Counts(unfinished=2), id="waiting"),
        pytest.param([bound()], Counts(unfinished=1, bound=1), id="bound, not running yet"),
        pytest.param([bound(phase=RUNNING)], Counts(unfinished=1, bound=1, running=1), id="running"),
        pytest.param([bound(phase=UNKNOWN)], Counts(unfinished=1, bound=1), id="unknown phase"),
        pytest.param([finished(), finished(phase=FAILED)], Counts(succeeded=1, failed=1), id="finished"),
        pytest.param(
            [waiting(), bound(), bound(phase=RUNNING), finished(), finished(), finished(phase=FAILED)],
            Counts(unfinished=3, bound=2, running=1, succeeded=2, failed=1),
            id="all kinds",
        ),
    ],
)
def test_count(members: list[MemberFacts], counts: Counts) -> None:
    assert count(members) == counts
    assert counts.scheduled == counts.bound


@pytest.mark.parametrize(
    ("min_member", "counts", "needed"),
    [
        pytest.param(3, Counts(), 3, id="nothing yet"),
        pytest.param(None, Counts(), 1, id="absent is 1"),
        pytest.param(0, Counts(), 1, id="0 is 1"),
        pytest.param(-5, Counts(), 1, id="negative is 1"),
        pytest.param(3, Counts(bound=2), 1, id="bound"),
        pytest.param(3, Counts(bound=1, succeeded=1), 1, id="succeeded count"),
        pytest.param(3, Counts(bound=1, failed=2), 2, id="failed do not"),
        pytest.param(3, Counts(bound=3), 0, id="quorum"),
        pytest.param(3, Counts(unfinished=1, succeeded=6), 0, id="the seventh of a Job in threes"),
        pytest.param(3, Counts(unfinished=5), 3, id="waiting are what is needed"),
    ],
)
def test_need(min_member: int | None, counts: Counts, needed: int) -> None:
    assert need(min_member, counts) == needed


@pytest.mark.parametrize(
    ("members", "number"),
    [
        pytest.param([], 0, id="nobody"),
        pytest.param([waiting(), bound(ours=False)], 0, id="ours, and foreign but bound"),
        pytest.param([waiting(ours=False), waiting(ours=False)], 2, id="foreign and waiting"),
        pytest.param([waiting(ours=False, deleting=True), waiting(ours=False, gated=True)], 0, id="no members"),
        pytest.param([waiting(ours=False, phase=FAILED)], 0, id="finished without a node"),
    ],
)
def test_mismatched(members: list[MemberFacts], number: int) -> None:
    assert sum(map(is_mismatched, members)) == number


facts = st.builds(
    MemberFacts,
    uid=st.uuids().map(str),
    created_s=st.integers(0, 9).map(float),
    finished_s=st.integers(0, 9).map(float),
    phase=st.sampled_from(PodPhase),
    node=st.sampled_from(["", "n1"]),
    deleting=st.booleans(),
    gated=st.booleans(),
    job=st.sampled_from(["", "i", "j"]),
    ours=st.booleans(),
)


@given(members=st.lists(facts), seed=st.randoms())
def test_counting_does_not_depend_on_order_and_adds_up(members: list[MemberFacts], seed: Any) -> None:
    run = current_run(members)
    shuffled = list(members)
    seed.shuffle(shuffled)
    counts = count(run)

    assert count(current_run(shuffled)) == counts
    assert current_run(run) == run
    assert counts.waiting + counts.bound == counts.unfinished
    assert counts.unfinished + counts.succeeded + counts.failed == len(run)
    assert not any(member.deleting or member.gated for member in run)


def pod(**parts: Any) -> Pod:
    return msgspec.convert(parts, Pod)


@pytest.mark.parametrize(
    ("given_pod", "expected"),
    [
        pytest.param(pod(metadata={"uid": "u"}), MemberFacts(uid="u", created_s=0, ours=False), id="bare"),
        pytest.param(
            pod(
                metadata={
                    "uid": "u",
                    "creationTimestamp": "1970-01-01T00:01:40Z",
                    "deletionTimestamp": "1970-01-01T00:02:00Z",
                    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "uid": "j", "controller": True}],
                },
                spec={
                    "schedulerName": "gangline",
                    "nodeName": "n1",
                    "priority": -7,
                    "schedulingGates": [{"name": "wait"}],
                },
                status={
                    "phase": "Failed",
                    "containerStatuses": [{"state": {"terminated": {"finishedAt": "1970-01-01T00:01:50Z"}}}],
                },
            ),
            MemberFacts(
                uid="u",
                created_s=100,
                finished_s=110,
                phase=FAILED,
                node="n1",
                deleting=True,
                gated=True,
                job="j",
                ours=True,
                priority=-7,
            ),
            id="everything",
        ),
        pytest.param(
            pod(
                metadata={
                    "ownerReferences": [{"apiVersion": "x.io/v1", "kind": "Job", "uid": "j", "controller": True}]
                },
                spec={"schedulingGates": []},
                status={"phase": "Dreaming"},
            ),
            MemberFacts(uid="", created_s=0, phase=UNKNOWN, ours=False),
            id="somebody else's Job, no gates, a new phase",
        ),
    ],
)
def test_facts(given_pod: Pod, expected: MemberFacts) -> None:
    assert facts_of(given_pod, {"gangline"}) == expected


def at(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat().replace("+00:00", "Z")


def ended(*seconds: int | None) -> list[dict[str, Any]]:
    return [
        {"name": str(place), "state": {"terminated": {"finishedAt": None if second is None else at(second)}}}
        for place, second in enumerate(seconds)
    ]


@pytest.mark.parametrize(
    ("status", "finished"),
    [
        pytest.param({}, None, id="no phase"),
        pytest.param({"phase": "Running", "containerStatuses": ended(50)}, None, id="a container ended, the pod runs"),
        pytest.param({"phase": "Succeeded", "containerStatuses": ended(50, 70, 60)}, 70, id="the last container"),
        pytest.param({"phase": "Failed", "initContainerStatuses": ended(40)}, 40, id="an init container failed"),
        pytest.param(
            {
                "phase": "Failed",
                "containerStatuses": [{"name": "a", "state": {"terminated": {"finishedAt": "0001-01-01T00:00:00Z"}}}],
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": at(30)}],
            },
            30,
            id="a time that the kubelet does not know",
        ),
        pytest.param(
            {
                "phase": "Failed",
                "reason": "Evicted",
                "conditions": [
                    {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(20)},
                    {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": at(25)},
                    {"type": "Ready", "status": "False", "lastTransitionTime": None},
                ],
            },
            25,
            id="evicted: the last change of a condition",
        ),
        pytest.param({"phase": "Failed"}, 10, id="rejected by its node: its creation"),
        pytest.param({"phase": "Succeeded", "containerStatuses": [*ended(None), {"name": "b"}]}, 10, id="no ends"),
    ],
)
def test_finished_time(status: dict[str, Any], finished: float | None) -> None:
    finished_pod = msgspec.convert({"metadata": {"creationTimestamp": at(10)}, "status": status}, Pod)

    assert finished_time(finished_pod) == finished


def test_a_finished_pod_always_has_a_time() -> None:
    assert finished_time(msgspec.convert({"status": {"phase": "Failed"}}, Pod)) == 0.0

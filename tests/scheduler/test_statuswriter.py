"""Conditions go out with their preconditions, once, behind binds; a bind drops those that wait."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from gangline.kube.client import connect
from gangline.kube.clock import MonotonicClock
from gangline.kube.recorder import EventRecorder
from scheduler.core.events import ConditionAnswered, ConditionOutcome
from scheduler.core.instructions import Announce, WriteCondition
from scheduler.metrics import Metrics
from scheduler.statuswriter import StatusWriter
from tests.support.scripted_api import Answer, Script, ScriptedApi, status

STEP = 12
PATH = "/api/v1/namespaces/ns/pods/a/status"


def condition(name: str = "a", *, attempt: int = 1, transition: bool = True) -> WriteCondition:
    return WriteCondition(
        uid=f"uid-{name}",
        namespace="ns",
        name=name,
        resource_version="42",
        attempt=attempt,
        reason="Unschedulable",
        message="0/1 nodes are available: 1 Insufficient cpu.",
        observed_generation=3,
        transition=transition,
    )


class Harness:
    def __init__(
        self, writer: StatusWriter, recorder: EventRecorder, api: ScriptedApi, answers: list[ConditionAnswered]
    ) -> None:
        self.writer = writer
        self.recorder = recorder
        self.api = api
        self._answers = answers

    async def flush(self) -> list[tuple[int, ConditionOutcome]]:
        running = asyncio.create_task(self.writer.run())
        assert await self.writer.flush(10)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return [(answer.attempt, answer.outcome) for answer in self._answers]


@asynccontextmanager
async def writing(
    script: Script, directory: Path, binds_wait: Callable[[], bool] = lambda: False, rate: float = 1000.0
) -> AsyncIterator[Harness]:
    answers: list[ConditionAnswered] = []
    async with ScriptedApi(script) as api, connect(api.kubeconfig(directory), user_agent="test") as client:
        recorder = EventRecorder(client, component="gangline", instance="test")
        writer = StatusWriter(
            client,
            recorder,
            answers.append,
            Metrics(CollectorRegistry()),
            clock=MonotonicClock(),
            rate=rate,
            binds_wait=binds_wait,
        )
        yield Harness(writer, recorder, api, answers)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        pytest.param(Answer(200), ConditionOutcome.WRITTEN, id="written"),
        pytest.param(status(409, "Conflict"), ConditionOutcome.CONFLICT, id="changed-since"),
        pytest.param(status(404), ConditionOutcome.LOST, id="gone"),
        pytest.param(
            status(422, "Invalid", fields=["metadata.uid"]), ConditionOutcome.LOST, id="another-pod-has-the-name"
        ),
        pytest.param(status(422, "Invalid", fields=["status"]), ConditionOutcome.FAILED, id="invalid"),
        pytest.param(status(403), ConditionOutcome.FAILED, id="forbidden"),
        pytest.param(status(500), ConditionOutcome.FAILED, id="server-error"),
        pytest.param(Answer(0, hang_up=True), ConditionOutcome.FAILED, id="lost-reply"),
    ],
)
async def test_every_answer_to_a_condition(tmp_path: Path, answer: Answer, outcome: ConditionOutcome) -> None:
    async with writing(lambda _: answer, tmp_path) as harness:
        harness.writer.write(condition(), STEP)

        assert await harness.flush() == [(1, outcome)]


async def test_a_condition_that_is_refused_is_told_with_pod_and_step(tmp_path: Path) -> None:
    with capture_logs() as lines:
        async with writing(lambda _: status(403), tmp_path) as harness:
            harness.writer.write(condition(), STEP)
            await harness.flush()

    [line] = lines
    assert (line["event"], line["pod"], line["uid"], line["step"]) == ("condition_not_written", "ns/a", "uid-a", STEP)


async def test_a_condition_carries_the_version_of_the_pod_it_speaks_of(tmp_path: Path) -> None:
    async with writing(lambda _: Answer(200), tmp_path) as harness:
        harness.writer.write(condition(), STEP)
        await harness.flush()

    [asked] = harness.api.asked
    assert (asked.method, asked.path) == ("PATCH", PATH)
    assert asked.body["metadata"] == {"uid": "uid-a", "resourceVersion": "42"}
    [written] = asked.body["status"]["conditions"]
    assert written["type"] == "PodScheduled"
    assert written["status"] == "False"
    assert written["observedGeneration"] == 3
    assert written["lastTransitionTime"].endswith("Z")


async def test_a_pod_that_waits_is_nominated_to_no_node(tmp_path: Path) -> None:
    """Node autoscalers buy nothing for a pod that has a node in prospect."""
    async with writing(lambda _: Answer(200), tmp_path) as harness:
        harness.writer.write(condition(), STEP)
        await harness.flush()

    [asked] = harness.api.asked
    assert asked.body["status"].get("nominatedNodeName", "a node") is None


async def test_a_condition_that_changes_no_status_keeps_its_transition_time(tmp_path: Path) -> None:
    async with writing(lambda _: Answer(200), tmp_path) as harness:
        harness.writer.write(condition(transition=False), STEP)
        await harness.flush()

    [asked] = harness.api.asked
    assert "lastTransitionTime" not in asked.body["status"]["conditions"][0]


async def test_a_bind_drops_the_condition_that_waits(tmp_path: Path) -> None:
    async with writing(lambda _: Answer(200), tmp_path) as harness:
        harness.writer.write(condition(), STEP)
        harness.writer.drop(["uid-a", "uid-of-nobody"])

        assert await harness.flush() == [(1, ConditionOutcome.DROPPED)]
    assert not harness.api.asked


async def test_a_newer_condition_of_a_pod_replaces_the_one_that_waits(tmp_path: Path) -> None:
    async with writing(lambda _: Answer(200), tmp_path) as harness:
        harness.writer.write(condition(attempt=1), STEP)
        harness.writer.write(condition(attempt=2), STEP)

        assert await harness.flush() == [(1, ConditionOutcome.DROPPED), (2, ConditionOutcome.WRITTEN)]
    assert len(harness.api.asked) == 1


async def test_a_dropped_condition_costs_nothing_of_the_budget(tmp_path: Path) -> None:
    one_an_hour = 1 / 3600
    async with writing(lambda _: Answer(200), tmp_path, rate=one_an_hour) as harness:
        for name in "abc":
            harness.writer.write(condition(name), STEP)
        harness.writer.drop(["uid-a", "uid-b"])

        assert (await harness.flush())[-1] == (1, ConditionOutcome.WRITTEN)


async def test_a_condition_waits_while_binds_do(tmp_path: Path) -> None:
    written_before: list[int] = []

    def binds_wait() -> bool:
        written_before.append(len(harness.api.asked))
        return len(written_before) < 3

    async with writing(lambda _: Answer(200), tmp_path, binds_wait) as harness:
        harness.writer.write(condition(), STEP)

        assert await harness.flush() == [(1, ConditionOutcome.WRITTEN)]
    assert written_before == [0, 0, 0]


async def test_an_announcement_becomes_an_event(tmp_path: Path) -> None:
    async with writing(lambda _: Answer(201), tmp_path) as harness:
        harness.writer.announce(
            Announce(
                kind="Pod",
                namespace="ns",
                name="a",
                uid="uid-a",
                warning=True,
                reason="FailedScheduling",
                action="Scheduling",
                note="0/1 nodes are available",
            )
        )
        assert await harness.recorder.flush(5)

    [asked] = harness.api.asked
    assert asked.path == "/apis/events.k8s.io/v1/namespaces/ns/events"
    assert (asked.body["type"], asked.body["reason"]) == ("Warning", "FailedScheduling")
    assert asked.body["regarding"]["uid"] == "uid-a"

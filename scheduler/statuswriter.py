"""Carries out `WriteCondition` and `Announce`: behind the binds, with a budget of their own.

A condition carries the resourceVersion of the unbound pod, so the API server drops it (409) once the pod
has changed, and its UID, so that it drops it (422) when a restored server has given the version to
another pod; a bind of the same pod drops one that still waits here. A stale "Unschedulable" therefore
never lands on a bound pod.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from gangline.base.clock import Clock
from gangline.base.token_bucket import TokenBucket
from gangline.contract.meta import Key
from gangline.contract.timestamps import timestamp
from gangline.kube.client import STRATEGIC_PATCH, Client
from gangline.kube.clock import utc_now
from gangline.kube.recorder import EventRecorder, ObjectReference
from gangline.kube.wire import errors
from gangline.kube.wire.resources import PODS
from scheduler.core.events import ConditionAnswered, ConditionOutcome
from scheduler.core.instructions import Announce, WriteCondition
from scheduler.metrics import Metrics

log = structlog.get_logger()

_WORKERS = 4


class StatusWriter:
    """Writes conditions and Kubernetes Events; answers conditions through `answer`."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        answer: Callable[[ConditionAnswered], None],
        metrics: Metrics,
        *,
        clock: Clock,
        rate: float,
        binds_wait: Callable[[], bool],
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._answer = answer
        self._metrics = metrics
        self._clock = clock
        self._bucket = TokenBucket(rate, max(1, int(rate)))
        self._binds_wait = binds_wait
        self._waiting: dict[str, tuple[WriteCondition, int]] = {}
        self._ready: asyncio.Queue[str] = asyncio.Queue()

    def write(self, instruction: WriteCondition, step: int) -> None:
        """Queue a condition that this step ordered; a newer one for the same pod replaces it."""
        self.drop([instruction.uid])
        self._waiting[instruction.uid] = (instruction, step)
        self._ready.put_nowait(instruction.uid)

    def drop(self, uids: Iterable[str]) -> None:
        """Forget what waits for these pods: a bind or a newer condition goes out instead."""
        for uid in uids:
            older = self._waiting.pop(uid, None)
            if older is not None:
                self._end(older[0], ConditionOutcome.DROPPED)

    def announce(self, instruction: Announce) -> None:
        """Record a Kubernetes Event, best effort."""
        self._recorder.record(
            ObjectReference.of(instruction.kind, instruction.namespace, instruction.name, instruction.uid),
            "Warning" if instruction.warning else "Normal",
            instruction.reason,
            instruction.note,
            instruction.action,
        )

    async def run(self) -> None:
        """Serve for ever."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(_WORKERS):
                tasks.create_task(self._work(), name=f"statuswriter-{number}")

    async def flush(self, deadline_s: float) -> bool:
        """Wait until everything queued has been written; True when it was in time."""
        try:
            async with asyncio.timeout(deadline_s):
                await self._ready.join()
        except TimeoutError:
            return False
        return True

    async def _work(self) -> None:
        while True:
            uid = await self._ready.get()
            try:
                if uid in self._waiting:
                    await self._give_way()
                waiting = self._waiting.pop(uid, None)
                if waiting is not None:
                    self._end(waiting[0], await self._write(*waiting))
            finally:
                self._ready.task_done()

    async def _give_way(self) -> None:
        """Let binds go first, for a second at most, then keep to the budget."""
        for _ in range(20):
            if not self._binds_wait():
                break
            await asyncio.sleep(0.05)
        while wait_s := self._bucket.take(self._clock.now()):  # noqa: ASYNC110 - waits for time, not for a task
            await asyncio.sleep(wait_s)

    async def _write(self, instruction: WriteCondition, step: int) -> ConditionOutcome:
        key = Key(instruction.namespace, instruction.name)
        try:
            await self._client.patch(PODS, key, _patch(instruction), subresource="status", content_type=STRATEGIC_PATCH)
        except errors.Conflict:
            return ConditionOutcome.CONFLICT
        except errors.NotFound:
            return ConditionOutcome.LOST
        except errors.ApiError as error:
            if errors.is_another(error):
                return ConditionOutcome.LOST
            log.warning("condition_not_written", pod=str(key), uid=instruction.uid, step=step, error=str(error))
            return ConditionOutcome.FAILED
        return ConditionOutcome.WRITTEN

    def _end(self, instruction: WriteCondition, outcome: ConditionOutcome) -> None:
        self._metrics.conditions.labels(outcome.value.lower()).inc()
        self._answer(ConditionAnswered(uid=instruction.uid, attempt=instruction.attempt, outcome=outcome))


def _patch(instruction: WriteCondition) -> dict[str, object]:
    condition: dict[str, object] = {
        "type": "PodScheduled",
        "status": "False",
        "reason": instruction.reason,
        "message": instruction.message,
    }
    if instruction.transition:
        condition["lastTransitionTime"] = timestamp(utc_now())
    if instruction.observed_generation is not None:
        condition["observedGeneration"] = instruction.observed_generation
    return {
        "metadata": {"uid": instruction.uid, "resourceVersion": instruction.resource_version},
        "status": {"conditions": [condition], "nominatedNodeName": None},
    }

import asyncio
import time

import pytest
from structlog.testing import capture_logs

from gangline.service.loop_lag import watch_loop_lag


class Recorder:
    """Keeps what it is told and wakes who waits for the next figure."""

    def __init__(self) -> None:
        self.figures: list[float] = []
        self._told = asyncio.Event()

    def observe(self, amount: float) -> None:
        self.figures.append(amount)
        self._told.set()

    async def next(self) -> float:
        self._told.clear()
        await self._told.wait()
        return self.figures[-1]


@pytest.mark.looptime
async def test_a_free_loop_is_measured_again_and_again_without_a_warning() -> None:
    recorder = Recorder()

    with capture_logs() as logs:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(watch_loop_lag(recorder, 0.1))
            assert [await recorder.next() for _ in range(3)] == [pytest.approx(0.0, abs=0.01)] * 3
            task.cancel()

    assert logs == []


async def test_a_blocked_loop_is_measured_and_warned_of() -> None:
    recorder = Recorder()

    with capture_logs() as logs:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(watch_loop_lag(recorder, 0.001, slow_s=0.02))
            await recorder.next()
            time.sleep(0.05)  # noqa: ASYNC251 - blocking is what is under test
            assert await recorder.next() >= 0.04
            task.cancel()

    assert {(line["event"], line["slow_s"]) for line in logs} == {("loop_blocked", 0.02)}
    assert max(line["lag_s"] for line in logs) >= 0.04

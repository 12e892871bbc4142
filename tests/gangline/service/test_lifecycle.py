import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from structlog.testing import capture_logs

from gangline.base.fatal import FatalError, StartError
from gangline.service.lifecycle import LoopDiedError, Loops, repeat, supervise

Stop = asyncio.Event

GRACE_S = 30.0


async def until_cancelled() -> None:
    await asyncio.Event().wait()


async def returns() -> None:
    pass


async def loses() -> None:
    raise FatalError("lost")


async def raises() -> None:
    raise ValueError("broken")


async def judged(
    main: Callable[[Stop], Coroutine[Any, Any, None]], *, deadline_s: float = 60.0
) -> tuple[int, list[Any]]:
    with capture_logs() as logs:
        code = await asyncio.wait_for(supervise(main, Stop(), grace_s=GRACE_S), deadline_s)
    return code, [{key: value for key, value in line.items() if key != "log_level"} for line in logs]


async def test_a_main_that_returns_after_stop_ends_clean() -> None:
    drained = []

    async def main(stop: Stop) -> None:
        async with Loops(stop) as loops:
            loops.start("endless", until_cancelled())
            stop.set()
            await stop.wait()
            drained.append(True)

    assert await judged(main) == (0, [])
    assert drained == [True]


async def test_a_loop_that_dies_ends_everything_with_its_name_and_error() -> None:
    async def main(stop: Stop) -> None:
        async with Loops(stop) as loops:
            loops.start("endless", until_cancelled())
            loops.start("binder", raises())
            await stop.wait()

    code, (line,) = await judged(main)

    assert code == 1
    assert (line["event"], line["loop"], repr(line["exc_info"])) == ("loop_died", "binder", "ValueError('broken')")


async def test_of_a_loop_that_cannot_go_on_the_reason_alone_is_logged() -> None:
    async def main(stop: Stop) -> None:
        async with Loops(stop) as loops:
            loops.start("lease", loses())
            await stop.wait()

    assert await judged(main) == (1, [{"event": "cannot_go_on", "loop": "lease", "problem": "lost"}])


async def test_a_loop_that_returns_before_stop_ends_everything() -> None:
    async def main(stop: Stop) -> None:
        async with Loops(stop) as loops:
            loops.start("watch", returns())
            await stop.wait()

    assert await judged(main) == (1, [{"event": "loop_ended_early", "loop": "watch"}])


async def test_a_loop_may_return_after_stop() -> None:
    async def main(stop: Stop) -> None:
        async with Loops(stop) as loops:
            stop.set()
            await loops.start("watch", returns())

    assert await judged(main) == (0, [])


async def test_a_loop_that_dies_while_draining_is_not_a_clean_end() -> None:
    async def main(stop: Stop) -> None:
        async with Loops(stop) as loops:
            stop.set()
            loops.start("binder", raises())
            await until_cancelled()

    code, (line,) = await judged(main)

    assert (code, line["event"]) == (1, "loop_died")


async def test_every_loop_that_dies_is_named() -> None:
    async def main(stop: Stop) -> None:
        async with Loops(stop) as loops:
            loops.start("one", raises())
            loops.start("two", raises())
            await stop.wait()

    code, lines = await judged(main)

    assert (code, [line["loop"] for line in lines]) == (1, ["one", "two"])


async def test_loops_are_named_tasks_and_cancelled_at_the_end() -> None:
    async with Loops(Stop()) as loops:
        task = loops.start("endless", until_cancelled())

    assert task.get_name() == "endless"
    assert task.cancelled()


async def test_the_error_of_the_body_is_not_hidden_by_the_loops() -> None:
    async def body() -> None:
        async with Loops(Stop()) as loops:
            loops.start("endless", until_cancelled())
            await raises()

    with pytest.raises(ExceptionGroup) as caught:
        await body()

    assert caught.group_contains(ValueError, match="broken")
    assert not caught.group_contains(LoopDiedError)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (StartError("port taken"), {"event": "cannot_start", "problem": "port taken"}),
        (TimeoutError("its own"), {"event": "main_died"}),
    ],
    ids=repr,
)
async def test_a_main_that_raises_is_logged(error: Exception, expected: dict[str, str]) -> None:
    async def main(_stop: Stop) -> None:
        raise error

    code, (line,) = await judged(main)

    assert code == 1
    assert expected.items() <= line.items()


async def test_a_main_that_returns_by_itself_is_an_error() -> None:
    async def main(_stop: Stop) -> None:
        await returns()

    assert await judged(main) == (1, [{"event": "main_ended_early"}])


@pytest.mark.looptime
async def test_work_is_repeated_with_a_pause_before_each_time() -> None:
    begun: list[float] = []

    async def work() -> None:
        begun.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1.0)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(35.0):
            await repeat(10.0, work)
    assert begun == [10.0, 21.0, 32.0]


@pytest.mark.looptime
async def test_the_grace_period_is_counted_from_the_stop_and_then_main_is_cancelled() -> None:
    loop = asyncio.get_running_loop()
    cancelled_at = []

    async def main(stop: Stop) -> None:
        loop.call_later(100.0, stop.set)
        try:
            await until_cancelled()
        finally:
            cancelled_at.append(loop.time())

    started = loop.time()
    code, lines = await judged(main, deadline_s=1000.0)

    assert (code, lines) == (1, [{"event": "grace_period_over", "grace_s": GRACE_S}])
    assert cancelled_at == [pytest.approx(started + 100.0 + GRACE_S)]


PROGRAM = """
import asyncio, sys, time
from gangline.service import lifecycle, logging

logging.configure("json", "info")

async def main(stop):
    print("up", flush=True)
    await stop.wait()
    print("stopping", flush=True)
    {drain}

sys.exit(lifecycle.run(main, grace_s={grace_s}))
"""


async def ended(drain: str, *signals: signal.Signals, grace_s: float = GRACE_S) -> tuple[int, str]:
    """Run a process, send it each signal when it says its next line; return its exit code and stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM.format(drain=drain, grace_s=grace_s), stdout=-1, stderr=-1
    )
    assert process.stdout is not None
    for number in signals:
        await process.stdout.readline()
        process.send_signal(number)
    _, stderr = await process.communicate()
    assert process.returncode is not None
    return process.returncode, stderr.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_a_process_cleanly(number: signal.Signals) -> None:
    code, log = await ended("pass", number)

    assert code == 0
    assert f'"signal":"{number.name}"' in log


@pytest.mark.parametrize(
    "drain",
    [
        pytest.param("await asyncio.Event().wait()", id="waiting"),
        # Not one long sleep: a signal that comes just before the system call would be seen after it.
        pytest.param("while True: time.sleep(0.05)", id="blocked"),
    ],
)
async def test_a_second_signal_ends_a_draining_process_at_once(drain: str) -> None:
    code, _ = await ended(drain, signal.SIGTERM, signal.SIGTERM)

    assert code == 128 + signal.SIGTERM


async def test_a_process_that_overstays_its_grace_period_is_ended() -> None:
    code, log = await ended("await asyncio.Event().wait()", signal.SIGTERM, grace_s=0.01)

    assert code == 1
    assert '"event":"grace_period_over"' in log


async def test_a_process_whose_loop_is_blocked_while_it_stops_is_ended_and_says_where() -> None:
    code, log = await ended("time.sleep(60)", signal.SIGTERM, grace_s=0.01)

    assert code == 1
    assert "in main" in log

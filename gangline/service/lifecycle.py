"""The life of a service process: start, run until a signal, drain, end; or end at once when a part of it dies.

`run` gives `main` an event that SIGTERM and SIGINT set. `main` starts its loops in `Loops`, waits for the event, drains
and returns. A loop that ends before that brings everything down with a clear log and exit code 1: a process of which
only half lives looks healthy and does nothing. After a signal `main` has a grace period; a second signal ends the
process at once.
"""

import asyncio
import faulthandler
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType, TracebackType
from typing import Any, Final, Self

import structlog

from gangline.base.fatal import FatalError, StartError

log = structlog.get_logger()

Main = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
CANCEL_S: Final = 2.0
"""How long a main that outlived its grace period has to react to being cancelled, before the process just ends."""


class LoopDiedError(Exception):
    """A loop raised, or returned before it was asked to stop; the cause is attached."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


class Loops:
    """A TaskGroup of named loops that must all live until `stop`; leaving it cancels them.

    One that dies cancels the body and its siblings, and leaves as LoopDiedError in an ExceptionGroup.
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, name: str, loop: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a loop as a task of this name."""
        task = self._group.create_task(self._guarded(name, loop), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: loop.close())  # a task cancelled before its first step never ran it
        return task

    async def _guarded(self, name: str, loop: Coroutine[Any, Any, None]) -> None:
        try:
            await loop
        except Exception as error:
            raise LoopDiedError(name) from error
        if not self._stop.is_set():
            raise LoopDiedError(name)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(kind, error, traceback)


def run(main: Main, *, grace_s: float) -> int:
    """Run `main` in a new event loop until it ends; return the exit code of the process (0 clean, 1 not).

    `grace_s`: how long `main` may take to return after a signal.
    """
    try:
        return asyncio.run(_run(main, grace_s))
    finally:
        faulthandler.cancel_dump_traceback_later()


async def _run(main: Main, grace_s: float) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _begin_stop, loop, stop, number, grace_s)
    return await supervise(main, stop, grace_s=grace_s)


def _begin_stop(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, number: signal.Signals, grace_s: float) -> None:
    log.info("stopping", signal=number.name, grace_s=grace_s)
    stop.set()
    for again in SIGNALS:
        loop.remove_signal_handler(again)
        # Not the default disposition: the first process of a container does not get signals that have it.
        signal.signal(again, _end_now)
    # From outside the loop, so that it also holds when the loop is blocked; it prints where.
    faulthandler.dump_traceback_later(grace_s + CANCEL_S, exit=True)


def _end_now(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


async def supervise(main: Main, stop: asyncio.Event, *, grace_s: float) -> int:
    """Run `main` to its end, and for at most `grace_s` seconds after `stop` is set; log why it ended badly.

    Returns 0 when `main` returned after `stop`, and 1 otherwise.
    """
    try:
        async with asyncio.timeout(None) as deadline, asyncio.TaskGroup() as group:
            limit = group.create_task(_limit(deadline, stop, grace_s), name="grace period")
            await main(stop)
            limit.cancel()
    except TimeoutError:  # the deadline's own: those of main leave the TaskGroup in an ExceptionGroup
        log.error("grace_period_over", grace_s=grace_s)  # noqa: TRY400 - no traceback of ours tells more
        return 1
    except ExceptionGroup as group_error:
        for error in _leaves(group_error):
            _log_death(error)
        return 1
    if not stop.is_set():
        log.error("main_ended_early")
        return 1
    return 0


async def _limit(deadline: asyncio.Timeout, stop: asyncio.Event, grace_s: float) -> None:
    await stop.wait()
    deadline.reschedule(asyncio.get_running_loop().time() + grace_s)


def _leaves(error: Exception) -> Iterator[Exception]:
    """Walk an ExceptionGroup down to the exceptions in it."""
    if not isinstance(error, ExceptionGroup):
        yield error
        return
    for inner in error.exceptions:
        yield from _leaves(inner)


def _log_death(error: Exception) -> None:
    match error:
        case StartError():
            log.error("cannot_start", problem=str(error))
        case LoopDiedError(name=name, __cause__=None):
            log.error("loop_ended_early", loop=name)
        case LoopDiedError(name=name, __cause__=FatalError() as problem):
            log.error("cannot_go_on", loop=name, problem=str(problem))
        case LoopDiedError(name=name, __cause__=cause):
            log.error("loop_died", loop=name, exc_info=cause)
        case _:
            log.error("main_died", exc_info=error)


async def repeat(pause_s: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do `work` again and again, after a pause each time."""
    while True:
        await asyncio.sleep(pause_s)
        await work()


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Wait for `work`, at most until `stop`; say whether it came to its end."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work, name="get ready")
        stopped = group.create_task(stop.wait(), name="await stop")
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        done = working.done()
        working.cancel()
        stopped.cancel()
    return done

"""Watch how late the event loop is: the one figure that says that something blocks it."""

import asyncio
from typing import Protocol

import structlog

log = structlog.get_logger()


class Observes(Protocol):
    """What we need of a histogram."""

    def observe(self, amount: float) -> None:
        """Take one figure."""


async def watch_loop_lag(histogram: Observes, interval_s: float = 0.1, *, slow_s: float = 0.5) -> None:
    """Measure for ever, every `interval_s`, how much later than asked we wake; warn above `slow_s`."""
    loop = asyncio.get_running_loop()
    while True:
        asked = loop.time() + interval_s
        await asyncio.sleep(interval_s)
        lag_s = max(0.0, loop.time() - asked)
        histogram.observe(lag_s)
        if lag_s >= slow_s:
            log.warning("loop_blocked", lag_s=round(lag_s, 3), slow_s=slow_s)

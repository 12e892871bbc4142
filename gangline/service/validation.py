"""What a service remembers against what is so: for /debug/validate, and now and then for a metric."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from aiohttp.web import Request
from prometheus_client import Gauge

log = structlog.get_logger()

RECHECK_S: Final = 1.0

Compare = Callable[[], Awaitable[list[str]]]


async def lasting(compare: Compare) -> list[str]:
    """Return what differs now and a moment later: a watch is always a little behind."""
    found = await compare()
    if not found:
        return []
    await asyncio.sleep(RECHECK_S)
    again = set(await compare())
    return [difference for difference in found if difference in again]


class Validation:
    """Compares on demand, and counts what it finds; `cannot` is what `compare` raises when it cannot tell."""

    def __init__(self, compare: Compare, problems: Gauge, *, cannot: type[Exception]) -> None:
        self._compare = compare
        self._problems = problems
        self._cannot = cannot

    async def answer(self, _request: Request) -> object:
        """Answer /debug/validate."""
        try:
            return {"problems": await self._count()}
        except self._cannot as error:
            return {"problems": [f"cannot list: {error}"]}

    async def watch(self) -> None:
        """Compare once, for the metric; not being able to says nothing about what is remembered."""
        try:
            await self._count()
        except self._cannot as error:
            log.warning("cannot_validate", problem=str(error))

    async def _count(self) -> list[str]:
        found = await self._compare()
        self._problems.set(len(found))
        if found:
            log.error("cache_problems", count=len(found), first=found[0])
        return found

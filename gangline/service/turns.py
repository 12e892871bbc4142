"""Long work in turns, so that the event loop is never kept from everything else."""

import asyncio
from collections.abc import Iterable
from time import perf_counter
from typing import Final, TypeVar

T = TypeVar("T")

TURN_S: Final = 0.005
"""How long the event loop is kept before everything else has its turn."""


async def collected(pieces: Iterable[list[T]]) -> list[T]:
    """Put together what the pieces hold; making each must take no longer than the loop may be kept."""
    found: list[T] = []
    turn_ends = perf_counter() + TURN_S
    for piece in pieces:
        found += piece
        if perf_counter() >= turn_ends:
            await asyncio.sleep(0)
            turn_ends = perf_counter() + TURN_S
    return found

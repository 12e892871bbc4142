"""Long work lets others have their turn, and loses nothing."""

import asyncio
from collections.abc import Iterator
from time import perf_counter

from gangline.service.turns import TURN_S, collected


def slow(pieces: int) -> Iterator[list[int]]:
    for number in range(pieces):
        ends = perf_counter() + TURN_S
        while perf_counter() < ends:
            pass
        yield [number]


async def test_others_have_their_turn_between_the_pieces() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    assert await collected(slow(5)) == [0, 1, 2, 3, 4]
    counting.cancel()
    assert turns >= 5


async def test_nothing_is_put_together_from_nothing() -> None:
    assert await collected(iter([[], []])) == []

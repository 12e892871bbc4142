"""Whoever reads what a command prints, such as `head` behind a pipe."""

import asyncio
import io
import os
import stat
import sys


class ReaderGoneError(Exception):
    """Nobody reads stdout any more."""


async def leave_with_the_reader() -> None:
    """Raise ReaderGoneError when nobody reads stdout any more; what is printed later goes nowhere.

    Returns at once where stdout is no pipe.
    """
    pipe = _pipe()
    if pipe is None:
        return
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe, gone.set)  # the writing end is never readable: this reports that the other end is closed
    try:
        await gone.wait()
    finally:
        loop.remove_reader(pipe)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, pipe)
    os.close(nowhere)
    raise ReaderGoneError


def _pipe() -> int | None:
    try:
        descriptor = sys.stdout.fileno()
    except io.UnsupportedOperation:
        return None
    return descriptor if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else None

"""Whoever reads what a command prints, such as `head` behind a pipe."""

import asyncio
import io
import os
import stat
import sys


async def until_reader_has_gone() -> None:
    """Wait until nobody reads stdout any more, for ever where it is no pipe; what is printed later goes nowhere."""
    gone = asyncio.Event()
    pipe = _pipe()
    if pipe is None:
        await gone.wait()
        return
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe, gone.set)  # the writing end is never readable: this reports that the other end is closed
    try:
        await gone.wait()
    finally:
        loop.remove_reader(pipe)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, pipe)
    os.close(nowhere)


def _pipe() -> int | None:
    try:
        descriptor = sys.stdout.fileno()
    except io.UnsupportedOperation:
        return None
    return descriptor if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else None

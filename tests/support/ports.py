"""Ports for servers that tests start, and that must be known before somebody listens on them.

Between the choice of a port and its use another process could choose it too. So each process has a range for itself, for
as long as it lives, below the ports from which the kernel takes those of outgoing connections.
"""

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import chain, cycle
from pathlib import Path
from typing import Final

LOOPBACK: Final = "127.0.0.1"
RANGES: Final = tuple(range(first, first + 100) for first in range(30_000, 32_700, 100))
DIRECTORY: Final = Path(tempfile.gettempdir()) / "gangline-test-ports"


class NoPortError(Exception):
    """All ranges are taken by test processes that run, or all ports of the range by others."""


def free_port() -> int:
    """Return a port on which nobody listens and which no other test process is given; one that it had may come again."""
    ports = _own()
    for _ in range(len(RANGES[0])):
        port = next(ports)
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(
                socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
            )  # as servers do: what has been closed is no matter
            probe.bind((LOOPBACK, port))
            return port
    raise NoPortError("every port of the range is in use")


@cache
def _own() -> Iterator[int]:
    """Take the first range that no process has; the kernel gives it back when this one ends, however that happens."""
    DIRECTORY.mkdir(exist_ok=True)
    with suppress(PermissionError):  # another user's, who has done this
        DIRECTORY.chmod(0o1777)
    for ports in _from_here():
        with suppress(OSError):  # taken, or another user's
            lock = os.open(DIRECTORY / str(ports[0]), os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                raise
            return cycle(ports)
    raise NoPortError(f"all {len(RANGES)} ranges of {DIRECTORY} are taken")


def _from_here() -> Iterator[range]:
    """All ranges, the first by process: ports that another process has just given back rest a while."""
    here = os.getpid() % len(RANGES)
    return chain(RANGES[here:], RANGES[:here])

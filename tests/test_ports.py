"""Ports of test processes: each has its own, and no two are given the same before somebody listens."""

import asyncio
import socket
import sys

from tests.support.ports import LOOPBACK, free_port
from tests.support.services import ROOT

OTHER = "from tests.support.ports import free_port; print(*(free_port() for _ in range(100)), flush=True); input()"


async def test_processes_that_run_are_given_different_ports() -> None:
    others = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", OTHER, cwd=ROOT, stdin=-1, stdout=-1)
        for _ in range(3)
    ]
    given = [{free_port() for _ in range(100)}]
    for other in others:
        assert other.stdout is not None
        given.append(set(map(int, (await other.stdout.readline()).split())))
    for other in others:
        await other.communicate(b"\n")

    assert len(set.union(*given)) == sum(map(len, given))


def test_ports_come_one_after_the_other_and_those_in_use_are_passed_over() -> None:
    some = [free_port() for _ in range(50)]
    assert len(set(some)) == 50
    with socket.socket() as listener:
        listener.bind((LOOPBACK, some[0]))
        assert some[0] not in {free_port() for _ in range(150)}

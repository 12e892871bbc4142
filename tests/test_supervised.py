"""Servers of tests: what they say when they fail, and that they never outlive the run."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.support.services import ROOT, eventually
from tests.support.supervised import ServerError, Supervised

PARENT = """
import sys, time
from pathlib import Path
from tests.support.supervised import Supervised
print(Supervised("sleeper", ["sleep", "1000"], Path(sys.argv[1])).pid, flush=True)
time.sleep(1000)
"""


def is_there(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no kernel ends a child with its parent")
async def test_a_server_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    server = int(await parent.stdout.readline())
    assert is_there(server)
    parent.kill()
    await parent.wait()

    async def is_gone() -> bool:
        return not is_there(server)

    await eventually(is_gone, "the server has ended")


async def test_a_server_that_died_tells_its_last_words(tmp_path: Path) -> None:
    server = Supervised("liar", ["sh", "-c", "echo cannot bind >&2; exit 3"], tmp_path)

    async def has_ended() -> bool:
        try:
            server.check()
        except ServerError as error:
            assert "liar ended with 3\ncannot bind" in str(error)  # noqa: PT017 - asked until it is so
            return True
        return False

    await eventually(has_ended, "it has ended")


async def test_stopping_waits_for_the_end(tmp_path: Path) -> None:
    server = Supervised("sleeper", ["sleep", "1000"], tmp_path)
    await server.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)

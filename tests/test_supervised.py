"""Servers of tests: what they say when they fail, and that they never outlive the run."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.support.services import ROOT, eventually
from tests.support.supervised import ServerError, Supervised

SERVER = """
import sys, time
from pathlib import Path
from tests.support.supervised import Supervised
print(Supervised("sleeper", ["sleep", "1000"], Path(sys.argv[1])).pid, flush=True)
time.sleep(1000)
"""
SERVICE = """
import asyncio, sys
from pathlib import Path
from tests.support.services import running_process

async def main(directory):
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text('{"clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:9"}}], "users": [],'
        '"contexts": [{"name": "x", "context": {"cluster": "x"}}], "current-context": "x"}')
    async with running_process("controller", kubeconfig, directory) as process:
        print(process.pid, flush=True)
        await asyncio.sleep(1000)

asyncio.run(main(Path(sys.argv[1])))
"""


def is_there(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no kernel ends a child with its parent")
@pytest.mark.parametrize("program", [SERVER, SERVICE], ids=["server", "service"])
async def test_what_a_run_has_started_ends_with_it_when_it_is_killed(tmp_path: Path, program: str) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(tmp_path), cwd=ROOT, stdout=asyncio.subprocess.PIPE
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

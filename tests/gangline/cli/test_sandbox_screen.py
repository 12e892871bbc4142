"""`gangline sandbox` on a terminal, and quiet."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

COMMAND = (sys.executable, "-c", "from gangline.cli.main import main; main()", "sandbox", "--nodes", "2")
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
DEADLINE_S = 60.0


async def test_a_terminal_shows_the_cluster_and_is_given_back(tmp_path: Path) -> None:
    master, terminal = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("--kubeconfig", str(tmp_path / "kubeconfig")),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environ,
    )
    os.close(terminal)
    shown = bytearray()

    def read_until(text: bytes) -> None:
        while text not in shown:
            shown.extend(os.read(master, 65536))

    try:
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.to_thread(read_until, b"node-1")
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(read_until, LEAVE)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(master)

    assert ENTER in shown
    assert b"2 nodes, 0 pods" in shown
    assert b"Traceback" not in shown


async def test_a_quiet_one_says_nothing(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "--quiet", "--kubeconfig", str(kubeconfig), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    async with asyncio.timeout(DEADLINE_S):
        while not kubeconfig.exists():  # noqa: ASYNC110 - another process has no event for us
            await asyncio.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        said, _ = await process.communicate()

    assert (process.returncode, said) == (0, b"")

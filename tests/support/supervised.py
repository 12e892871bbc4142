"""Server processes that write to a log and never outlive the process that started them, however that ends."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1
STOP_S: Final = 20.0
TAIL_LINES: Final = 25


class ServerError(Exception):
    """A server ended by itself, or did not become what it was waited for; the message ends with its last words."""


class Supervised:
    """One server process.

    Start it from the main thread: the kernel ends it with the thread that started it, so that a test run that is
    killed leaves nothing behind.
    """

    def __init__(self, name: str, command: Sequence[str | Path], directory: Path) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=end_with_parent(),  # noqa: PLW1509 - the one call it makes is ready before the fork
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def check(self) -> None:
        """Raise ServerError if it does not run any more."""
        code = self._process.poll()
        if code is not None:
            raise ServerError(f"{self.name} ended with {code}\n{self.last_words()}")

    def last_words(self) -> str:
        """The end of its log, and where the rest is."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([*lines[-TAIL_LINES:], f"({self.log})"])

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    async def stop(self) -> None:
        """Ask it to end, wait, and end it if it does not."""
        self._process.terminate()
        try:
            await asyncio.to_thread(self._process.wait, STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()


def end_with_parent() -> Callable[[], None] | None:
    """Return what the child does before it becomes the server; elsewhere than on Linux a killed parent leaves it."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask_the_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask_the_kernel

"""The kubectl that was built with a control plane, used as its admin would."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.support.kustomize import ROOT
from tests.support.real_cluster import RealCluster

DEADLINE_S: Final = 120.0


class KubectlError(Exception):
    """It ended with another code than 0; the message is what it said."""


class Kubectl:
    """Runs commands, each at most for `DEADLINE_S`."""

    def __init__(self, cluster: RealCluster, directory: Path) -> None:
        self._program = str(cluster.kubectl)
        self._environment = {
            "KUBECONFIG": str(cluster.kubeconfig(directory / "kubectl.kubeconfig")),
            "HOME": str(directory),
            "PATH": os.environ["PATH"],
        }

    async def __call__(self, words: str, *bodies: dict[str, Any]) -> str:
        """Run it with these words, the bodies on its standard input, and return what it prints; or raise KubectlError."""
        return await self.run(words.split(), *bodies)

    async def run(self, words: Sequence[str], *bodies: dict[str, Any]) -> str:
        """Do the same with words that may contain spaces."""
        process = await self._start(words, stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        text = b"\n---\n".join(map(msgspec.json.encode, bodies))
        async with asyncio.timeout(DEADLINE_S):
            output, errors = await process.communicate(text)
        if process.returncode:
            raise KubectlError(errors.decode() + output.decode())
        return output.decode()

    async def apply(self, *bodies: dict[str, Any]) -> str:
        """Apply objects."""
        return await self("apply -f -", *bodies)

    async def json(self, words: str) -> Any:
        """Get something as JSON."""
        return msgspec.json.decode(await self(f"{words} -o json"))

    @asynccontextmanager
    async def following(self, words: str) -> AsyncIterator[list[str]]:
        """Run a command that goes on, like `get pg -w`; its lines so far are in the list, whole after the end."""
        process = await self._start(words.split(), stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.STDOUT)
        lines: list[str] = []
        reading = asyncio.create_task(_read(process, lines), name="kubectl")
        try:
            yield lines
        finally:
            if process.returncode is None:
                process.terminate()
            await reading
            await process.wait()

    async def _start(self, words: Sequence[str], *, stdin: int, stderr: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            self._program,
            *words,
            env=self._environment,
            cwd=ROOT,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
        )


async def _read(process: asyncio.subprocess.Process, lines: list[str]) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        lines.append(line.decode().rstrip())  # noqa: PERF401 - others look on while it grows

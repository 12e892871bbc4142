"""The two services as processes of their own: started, watched for an early end, ended with the walk."""

import asyncio
import os
import random
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

STOP_S: Final = 10.0
LAST_LINES: Final = 15
LOOPBACK: Final = "127.0.0.1"
PORTS: Final = (15_000, 30_000)
"""Below the ports that systems give to outgoing connections."""


class ServiceDiedError(Exception):
    """A service ended although nobody asked it to; the message has its last log lines."""


class Service(Struct, frozen=True, kw_only=True):
    """A service that runs."""

    name: str
    url: str
    log: Path
    process: asyncio.subprocess.Process


class Services:
    """Starts `python -m <name>` for each name; leaving ends them all."""

    def __init__(self, names: tuple[str, ...], *, kubeconfig: Path, directory: Path) -> None:
        self._names = names
        self._kubeconfig = kubeconfig
        self._directory = directory
        self._stack = AsyncExitStack()
        self.running: tuple[Service, ...] = ()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for name, port in zip(self._names, free_ports(len(self._names)), strict=True):
                service = await self._start(name, port)
                stack.push_async_callback(_stop, service)
                self.running = (*self.running, service)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    async def watch(self, service: Service) -> None:
        """Wait for ever; raise ServiceDiedError when the service ends."""
        code = await service.process.wait()
        raise ServiceDiedError(
            f"{service.name} ended with exit code {code}; its last log lines:\n{last_lines(service.log)}"
        )

    async def _start(self, name: str, port: int) -> Service:
        address = f"{LOOPBACK}:{port}"
        log = self._directory / f"{name}.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                name,
                *("--kubeconfig", str(self._kubeconfig)),
                *("--http-address", address),
                *("--lease", "off"),
                *("--log-format", "json"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=without_settings(os.environ),
                start_new_session=True,
            )
        return Service(name=name, url=f"http://{address}", log=log, process=process)


def without_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Drop what would set up the services otherwise than the walk wants them."""
    return {name: value for name, value in environ.items() if not name.startswith("GANGLINE_")}


def last_lines(log: Path) -> str:
    """Read the end of a log."""
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-LAST_LINES:]) or "    (nothing)"


def free_ports(count: int) -> list[int]:
    """Find ports that nobody listens on, all different, outside the range of outgoing connections."""
    found: list[int] = []
    while len(found) < count:
        port = random.randint(*PORTS)  # noqa: S311 - not a secret
        with socket.socket() as probe, suppress(OSError):
            probe.bind((LOOPBACK, port))
            found += [port] if port not in found else []
    return found


async def _stop(service: Service) -> None:
    process = service.process
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        return
    finally:
        if process.returncode is None:
            process.kill()

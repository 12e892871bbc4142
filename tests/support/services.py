"""The two services under test: as tasks of this process, or as processes of their own that can be killed."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
from msgspec import Struct

import controller.app
import scheduler.app
from controller.settings import Settings as ControllerSettings
from gangline.service import logging
from scheduler.settings import Settings as SchedulerSettings
from tests.support import logs
from tests.support.ports import LOOPBACK, free_port
from tests.support.supervised import end_with_parent

ROOT: Final = Path(__file__).parents[2]
DEADLINE_S: Final = 90.0
"""Long: it ends tests that hang, and a machine may be busy with ten other things."""
POLL_S: Final = 0.05

Samples = dict[str, float]
"""Metric samples by name and labels, as the page writes them."""

logging.configure("json", "warning")


class Service(Struct, frozen=True):
    """A service that runs, seen through its HTTP endpoints."""

    name: str
    url: str

    async def get(self, path: str) -> tuple[int, Any]:
        """Status and decoded body of a JSON endpoint; status 0 when nobody listens."""
        try:
            async with aiohttp.ClientSession() as session, session.get(self.url + path) as response:
                return response.status, msgspec.json.decode(await response.read())
        except aiohttp.ClientConnectionError:
            return 0, None

    async def problems(self, path: str = "/readyz") -> list[str]:
        """What /readyz or /debug/validate complains of."""
        status, body = await self.get(path)
        if not status:
            return [f"{self.name} does not answer"]
        found: list[str] = body["problems"]
        return found

    async def until_ready(self) -> None:
        """Wait until /readyz is satisfied; no watch tells."""
        found: list[str] = []

        async def is_ready() -> bool:
            found[:] = await self.problems()
            return not found

        try:
            await eventually(is_ready, f"{self.name} is ready")
        except AssertionError as error:
            raise AssertionError(f"{error}: {found}") from None

    async def samples(self) -> Samples:
        """All samples of /metrics."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/metrics") as response:
            text = await response.text()
        return {key: float(value) for key, value in re.findall(r"^([a-z]\S*(?:\{.*\})?) (\S+)$", text, re.MULTILINE)}

    async def gangs(self) -> list[dict[str, Any]]:
        """The scheduler's /debug/gangs."""
        _, body = await self.get("/debug/gangs")
        found: list[dict[str, Any]] = body["gangs"]
        return found


async def eventually(is_true: Callable[[], Coroutine[Any, Any, bool]], what: str, within_s: float = DEADLINE_S) -> None:
    """Ask again and again, for what no watch tells."""
    try:
        async with asyncio.timeout(within_s):
            while not await is_true():  # noqa: ASYNC110 - another process has no event for us
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise AssertionError(f"not within {within_s} s: {what}") from None


class Task(Struct):
    """A service as a task of this process."""

    service: Service
    task: asyncio.Task[None]
    stop: asyncio.Event

    async def end(self) -> None:
        """Stop it as SIGTERM does, and wait for its end."""
        self.stop.set()
        async with asyncio.timeout(DEADLINE_S):
            await self.task


def start_task(group: asyncio.TaskGroup, name: str, kubeconfig: Path, **settings: Any) -> Task:
    """Start `scheduler` or `controller` in this process."""
    address = f"{LOOPBACK}:{free_port()}"
    given = {"kubeconfig": str(kubeconfig), "http_address": address, "lease": "off"} | settings
    stop = asyncio.Event()
    service = (
        scheduler.app.serve(SchedulerSettings(**given), stop)
        if name == "scheduler"
        else controller.app.serve(ControllerSettings(**given), stop)
    )
    return Task(Service(name, f"http://{address}"), group.create_task(service, name=name), stop)


class Process(Struct):
    """A service as a process of its own."""

    service: Service
    process: asyncio.subprocess.Process
    log: Path

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def said(self) -> str:
        """Its log so far."""
        return self.log.read_text(errors="replace")

    def records(self) -> list[dict[str, Any]]:
        """Its log so far, as what each line says."""
        return logs.records(self.log)

    async def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        await self.process.wait()

    async def terminate(self) -> int:
        """Ask it to end, and return its exit code."""
        self.process.terminate()
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()

    async def exit_code(self) -> int:
        """Wait until it ends by itself."""
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()


@asynccontextmanager
async def running_process(name: str, kubeconfig: Path, directory: Path, **settings: Any) -> AsyncIterator[Process]:
    """Run `python -m scheduler` or `python -m controller`; what still runs at the end is killed."""
    address = f"{LOOPBACK}:{free_port()}"
    given = {"kubeconfig": kubeconfig, "http_address": address, "lease": "off", "log_level": "info"} | settings
    options = [f"--{key.replace('_', '-')}={value}" for key, value in given.items()]
    log = directory / f"{name}-{address.rpartition(':')[2]}.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            name,
            *options,
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={key: value for key, value in os.environ.items() if not key.startswith("GANGLINE_")},
            preexec_fn=end_with_parent(),
        )
    try:
        yield Process(Service(name, f"http://{address}"), process, log)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

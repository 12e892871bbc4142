"""The two servers that are compared, each started empty, asked everything and stopped."""

from pathlib import Path
from typing import Any

from gangline.sandbox.apiserver.server import ApiServer
from tests.comparison.sending import Server, answers
from tests.comparison.stories import STORIES
from tests.support.controlplane import ControlPlane
from tests.support.real_cluster import ADMIN

Answers = dict[str, dict[str, Any]]


async def of_sandbox() -> Answers:
    """What the sandbox's API server answers."""
    async with ApiServer() as server:
        return await answers(Server(url=server.url), STORIES)


async def of_real_server(built: Path) -> Answers:
    """What a real API server of these binaries answers; no controllers, all its admission plugins at work."""
    async with ControlPlane(built, controllers=False, without_plugins=()) as plane:
        authority = str(plane.directory / "ca.crt")
        return await answers(Server(url=plane.url, token=f"token-of-{ADMIN}", authority=authority), STORIES)

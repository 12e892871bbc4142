"""The two servers that are compared, each started empty, asked everything and stopped."""

from pathlib import Path
from typing import Any

from gangline.sandbox.apiserver.server import ApiServer
from tests.comparison.sending import Server, answers
from tests.comparison.stories import STORIES
from tests.support.controlplane import ControlPlane
from tests.support.real_cluster import ADMIN

Answers = dict[str, dict[str, Any]]
CONTROLLERS_WORK = ("TaintNodesByCondition",)
"""New nodes are tainted by a plugin there, and by the controller of nodes here, which is not compared."""


async def of_sandbox() -> Answers:
    """What the sandbox's API server answers."""
    async with ApiServer() as server:
        return await answers(Server(url=server.url), STORIES)


async def of_real_server(built: Path) -> Answers:
    """What a real API server of these binaries answers; no controllers, all its admission plugins at work but one."""
    async with ControlPlane(built, controllers=False, without_plugins=CONTROLLERS_WORK) as plane:
        authority = str(plane.directory / "ca.crt")
        return await answers(Server(url=plane.url, token=f"token-of-{ADMIN}", authority=authority), STORIES)

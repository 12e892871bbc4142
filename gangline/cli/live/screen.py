"""Keeps the picture of a cluster on a terminal, redrawn when something changes, at most a few times a second."""

import asyncio
import io
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from rich.console import Console, Group
from rich.live import Live

from gangline.cli.cluster.mirror import Mirror
from gangline.cli.live.picture import Frame, lines
from gangline.contract.meta import ApiObject, Key
from gangline.contract.names import GROUP, PLURAL
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import Client
from gangline.kube.reflector import Change, Observed, Reflector
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, POD_GROUPS, PODS

LEAST_S: Final = 0.2
"""Between two pictures; in a large cluster ten times what one takes."""
SHARE: Final = 10
CLOCK_S: Final = 1.0
"""How long gangs wait is shown in seconds."""

DEFINITION: Final = Key("", f"{PLURAL}.{GROUP}")


class Definition(ApiObject, frozen=True, kw_only=True):
    """A kind that the cluster has been taught."""


class LastLine(io.StringIO):
    """A log stream of which the last line is kept, to be shown below the picture."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def write(self, text: str) -> int:
        """Keep the last line of a text."""
        written = [line for line in text.splitlines() if line.strip()]
        self.text = written[-1] if written else self.text
        return len(text)


class Screen:
    """Follows nodes, pods and PodGroups, and draws them."""

    def __init__(self, console: Console, *, head: Sequence[str], log: LastLine) -> None:
        self._console = console
        self._head = head
        self._log = log
        self._defined = asyncio.Event()

    async def run(self, client: Client) -> None:
        """Draw until cancelled."""
        mirror = Mirror(client, (NODES, PODS, POD_GROUPS))
        definitions = Reflector(client, CUSTOM_RESOURCE_DEFINITIONS, Definition, self._take_definition)
        async with asyncio.TaskGroup() as group:
            for watch in (mirror.watches[NODES], mirror.watches[PODS], definitions):
                group.create_task(watch.run(), name="screen-watch")
            group.create_task(self._follow_groups(mirror.watches[POD_GROUPS]), name="screen-watch")
            with Live(self._picture(mirror), console=self._console, auto_refresh=False, screen=True) as live:
                while True:
                    await _wait(mirror.changed)
                    began = time.monotonic()
                    live.update(self._picture(mirror), refresh=True)
                    await asyncio.sleep(max(LEAST_S, SHARE * (time.monotonic() - began)))

    async def _follow_groups(self, groups: Reflector[PodGroup]) -> None:
        """Follow PodGroups from when they are served: at first nobody has said what they are."""
        await self._defined.wait()
        await groups.run()

    def _take_definition(self, change: Change[Definition]) -> None:
        if isinstance(change, Observed) and change.object.metadata.key == DEFINITION:
            self._defined.set()

    def _picture(self, mirror: Mirror) -> Group:
        """Draw what is known, for the terminal as large as it is now."""
        options = self._console.options
        frame = Frame(width=options.max_width, height=options.size.height, is_plain=options.ascii_only)
        return Group(*lines(mirror.survey(), frame, head=self._head, foot=self._log.text))


async def _wait(changed: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOCK_S):
            await changed.wait()
    changed.clear()

"""Keeps the picture of a cluster on a terminal, redrawn when something changes, at most a few times a second."""

import asyncio
import io
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from rich.console import Console, Group
from rich.live import Live

from gangline.cli.cluster.survey import Survey
from gangline.cli.live.picture import Frame, lines
from gangline.contract.meta import ApiObject, Key
from gangline.contract.names import GROUP, PLURAL
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import Client
from gangline.kube.reflector import Change, Observed, Reflector, Removed
from gangline.kube.wire.changes import HasMetadata
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, POD_GROUPS, PODS

T = TypeVar("T", bound=HasMetadata)

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
        self._nodes: dict[Key, Node] = {}
        self._pods: dict[Key, Pod] = {}
        self._groups: dict[Key, PodGroup] = {}
        self._defined = asyncio.Event()
        self._changed = asyncio.Event()

    async def run(self, client: Client) -> None:
        """Draw until cancelled."""
        watches: tuple[Reflector[Any], ...] = (
            Reflector(client, NODES, Node, self._taker(self._nodes)),
            Reflector(client, PODS, Pod, self._taker(self._pods)),
            Reflector(client, CUSTOM_RESOURCE_DEFINITIONS, Definition, self._take_definition),
        )
        groups = Reflector(client, POD_GROUPS, PodGroup, self._taker(self._groups))
        async with asyncio.TaskGroup() as group:
            for watch in watches:
                group.create_task(watch.run(), name="screen-watch")
            group.create_task(self._follow_groups(groups), name="screen-watch")
            with Live(self._picture(), console=self._console, auto_refresh=False, screen=True) as live:
                while True:
                    await self._wait()
                    began = time.monotonic()
                    live.update(self._picture(), refresh=True)
                    await asyncio.sleep(max(LEAST_S, SHARE * (time.monotonic() - began)))

    async def _follow_groups(self, groups: Reflector[PodGroup]) -> None:
        """Follow PodGroups from when they are served: at first nobody has said what they are."""
        await self._defined.wait()
        await groups.run()

    def _take_definition(self, change: Change[Definition]) -> None:
        if isinstance(change, Observed) and change.object.metadata.key == DEFINITION:
            self._defined.set()

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOCK_S):
                await self._changed.wait()
        self._changed.clear()

    def _picture(self) -> Group:
        """Draw what is known, for the terminal as large as it is now."""
        options = self._console.options
        frame = Frame(width=options.max_width, height=options.size.height, is_plain=options.ascii_only)
        survey = Survey(
            at=datetime.now(UTC),
            nodes=tuple(self._nodes.values()),
            pods=tuple(self._pods.values()),
            groups=tuple(self._groups.values()),
        )
        return Group(*lines(survey, frame, head=self._head, foot=self._log.text))

    def _taker(self, seen: dict[Key, T]) -> Callable[[Change[T]], None]:
        def take(change: Change[T]) -> None:
            match change:
                case Observed(object=object_):
                    seen[object_.metadata.key] = object_
                case Removed(key=key):
                    seen.pop(key, None)
                case _:
                    return
            self._changed.set()

        return take

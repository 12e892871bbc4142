"""Gives the commands of stories to a kubectl, and brings home what it says."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from gangline.contract.names import PLURAL
from gangline.kube.client import connect
from gangline.sandbox.kubelets.nodes import NodeGroup
from gangline.sandbox.reconciling.world import Pace
from tests.kubectl.shape import shape
from tests.kubectl.story import Step, Story, step
from tests.support import tools
from tests.support.backends import bring_up, chosen

DEADLINE_S: Final = 100.0
ASK_AGAIN_S: Final = 0.1
AT_ONCE: Final = 4
ROOT: Final = Path(__file__).parents[2]
NODES: Final = tuple(
    NodeGroup(name=name, allocatable={"cpu": "8", "memory": "32Gi"}) for name in ("node-0", "node-1", "bench", "shelf")
)
NO_TOKENS: Final = '{"automountServiceAccountToken":false}'

Said = dict[str, list[str]]
"""What kubectl said, in its normal form, by story, number and command line."""


class KubectlError(AssertionError):
    """A command that prepares a story has failed."""


async def tell(stories: Sequence[Story], directory: Path, version: str) -> Said:
    """Tell stories to an empty cluster of the chosen backend, with one version of kubectl."""
    async with (
        chosen().serve(directory / "kubeconfig", Pace(lost_node_s=0.2, job_backoff_s=0.2)) as serving,
        connect(str(serving.kubeconfig), user_agent="test") as client,
    ):
        await bring_up(client, NODES)
        teller = Teller(serving.kubeconfig, tools.kubectl(version))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(teller.tell(each), name=each.name) for each in stories]
    return {title: lines for task in tasks for title, lines in task.result().items()}


class Teller:
    """One kubectl with one cluster."""

    def __init__(self, kubeconfig: Path, kubectl: Path) -> None:
        self._kubeconfig = kubeconfig
        self._kubectl = kubectl
        self._places = asyncio.Semaphore(AT_ONCE)

    async def tell(self, story: Story) -> Said:
        """Give the commands of a story; return what was said to those that have a row."""
        said: Said = {}
        for number, each in enumerate((*_setting(story.name), *story.steps)):
            text = await self._until(each, story.name)
            if each.row:
                title = f"{story.name} {number}: kubectl {' '.join(each.words)}"
                said[title] = [] if each.apart else shape(text, each.but, is_sorted=each.is_sorted)
        return said

    async def _until(self, each: Step, namespace: str) -> str:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                text = await self._give(each, namespace)
                if not each.until or re.search(each.until, text):
                    return text
                await asyncio.sleep(ASK_AGAIN_S)

    async def _give(self, each: Step, namespace: str) -> str:
        stdin = "\n".join(json.dumps(body) for body in each.stdin)
        if each.meanwhile:
            return await self._follow(each, namespace)
        async with self._places, self._started(each.words, namespace) as process:
            output, _ = await process.communicate(stdin.encode())
        text = output.decode()
        if process.returncode == each.code or each.until or each.apart:
            return text
        if not each.row:
            raise KubectlError(f"kubectl {' '.join(each.words)}: exit code {process.returncode}\n{text}")
        return f"{text}\nexit code {process.returncode}, not {each.code}"

    async def _follow(self, each: Step, namespace: str) -> str:
        """Let it say `lines` lines, the last of them one for each command that is given meanwhile."""
        async with self._started(each.words, namespace) as process:
            assert process.stdout is not None
            lines = [await process.stdout.readline() for _ in range(each.lines - len(each.meanwhile))]
            for command in each.meanwhile:
                await self._give(step(command), namespace)
                lines.append(await process.stdout.readline())
        return b"".join(lines).decode()

    @asynccontextmanager
    async def _started(self, words: Sequence[str], namespace: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run a command; what still runs at the end is killed."""
        process = await asyncio.create_subprocess_exec(
            self._kubectl,
            "--namespace",
            namespace,
            *words,
            cwd=ROOT,
            env={
                "KUBECONFIG": str(self._kubeconfig),
                "HOME": str(self._kubeconfig.parent),
                "PATH": os.environ["PATH"],
                "TZ": "UTC",
                "KUBE_EDITOR": "false",
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()


def _setting(name: str) -> tuple[Step, ...]:
    """A namespace whose pods get no token, which would be a volume in each of them."""
    return (
        step("create -f -", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        step("get serviceaccount default -o name", until="^serviceaccount/default$"),
        step(f"patch serviceaccount default -p {NO_TOKENS}"),
        step(f"get {PLURAL}.scheduling.x-k8s.io", until="No resources found"),
    )

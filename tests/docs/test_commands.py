"""The commands of the manuals that can run here: every fenced block that is marked `sh run`, in a cluster of its own.

The cluster is that of `gangline sandbox`, with the manifests applied, both services, and what the pages speak of: a gang
`training` that does not fit, a gang `lonely` that lacks members, a pod `orphan` whose group does not exist.
"""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Final

import pytest

from scheduler.core.model import member_class
from tests.support import tools
from tests.support.cluster import Cluster, running_cluster
from tests.support.kustomize import MANIFESTS, ROOT, kubectl
from tests.support.manifests import Manifest, gang, nodes, pod

BLOCK: Final = re.compile(r"^```sh run\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCE: Final = re.compile(r"^```(\S.*)$", re.MULTILINE)
DOCS: Final = ROOT / "docs"


def blocks_of(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


PAGES: Final = [
    page
    for page in [*sorted((DOCS / "runbooks").glob("*.md")), DOCS / "migration.md", DOCS / "troubleshooting.md"]
    if blocks_of(page)
]
NOTHING: Final = {"migration.md"}
"""Pages that are read before there is a gang."""
DEADLINE_S: Final = 100.0


def stuck() -> list[Manifest]:
    large = {"cpu": "6", "memory": "1Gi"}
    return [
        pod("busy", requests={"cpu": "4"}),
        *gang("training", 3, requests=large),
        *gang("lonely", 1, min_member=3, requests=large),
        pod("orphan", "nowhere"),
    ]


def programs(directory: Path) -> Path:
    """Put `kubectl` and `gangline` where a shell finds them."""
    (directory / "kubectl").symlink_to(tools.kubectl())
    (directory / "gangline").symlink_to(Path(sys.executable).with_name("gangline"))
    return directory


async def run(script: str, cluster: Cluster, path: Path) -> str:
    """Run a block as a shell would; fail with what it prints."""
    for port, name in ((8080, "scheduler"), (8081, "controller")):
        script = script.replace(f"http://127.0.0.1:{port}", cluster.services[name].url)
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-euo",
        "pipefail",
        "-c",
        script,
        cwd=ROOT,
        env={"KUBECONFIG": str(cluster.kubeconfig), "HOME": str(path), "PATH": f"{path}:{os.environ['PATH']}"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(DEADLINE_S):
        output, _ = await process.communicate()
    assert process.returncode == 0, f"{script}\nended with {process.returncode}:\n{output.decode()}"
    return output.decode()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
async def test_the_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    path, blocks = programs(tmp_path), blocks_of(page)
    async with running_cluster(nodes(3, cpu="8", memory="32Gi")) as cluster:
        await kubectl(cluster.kubeconfig, "apply", "-k", MANIFESTS / "overlays/default")
        if page.name not in NOTHING:
            await cluster.create(*stuck()[:1])
            await cluster.until(lambda: cluster.running("busy") == 1, "a pod takes room")
            await cluster.create(*stuck()[1:])
            await cluster.until(lambda: cluster.reasons("training") == ["Unschedulable"] * 3, "the large gang waits")
        for block in blocks:
            await run(block, cluster, path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_block_that_is_not_run_is_one_that_cannot(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    others = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    cannot = ("port-forward", " logs ", "helm ", "incubator")

    assert set(FENCE.findall(text)) <= {"sh", "sh run"}
    for line in "".join(others).replace("\\\n", "").splitlines():
        if line.startswith(("kubectl", "gangline", "curl")):
            assert any(word in line for word in cannot), line


def test_what_is_not_supported_is_said_before_a_migration() -> None:
    text = " ".join((DOCS / "migration.md").read_text(encoding="utf-8").split())

    assert [phrase for phrase, _ in member_class._UNSUPPORTED if phrase not in text] == []

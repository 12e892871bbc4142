"""Where Kubernetes serves PodGroups of its own: every command of our manuals still shows ours."""

import asyncio
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.controlplane.build import chosen
from tests.support import backends
from tests.support.backends import RealBackend
from tests.support.cluster import Cluster, running_cluster
from tests.support.kubectl import Kubectl
from tests.support.kustomize import ROOT
from tests.support.manifests import gang, nodes

SERVED_IN: Final = {35: "v1alpha1", 36: "v1alpha2"}
SINCE: Final = 36
"""Before it there are Workloads, and no PodGroups."""
NATIVE: Final = "podgroups.scheduling.k8s.io"
READING: Final = re.compile(r"kubectl (?:-n \S+ )?(?:get|describe|explain)\b(?:'[^'\n]*'|[^\n`#|\"'])*")
OURS: Final = re.compile(r"\b(?:pgs?|podgroups?\.scheduling\.x-k8s\.io)\b")
AMBIGUOUS: Final = re.compile(r"\bpodgroups?(?![\w.-])")
SPEAKS_OF_THE_OTHER: Final = "kubectl get podgroups"
"""Where the manuals warn of it."""


def manuals() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))
    for room in ("gangline/cli", "scheduler", "controller", "manifests"):
        yield from sorted(path for path in (ROOT / room).rglob("*") if path.suffix in {".py", ".yaml"})


def commands() -> list[str]:
    """Every kubectl command in manuals and messages that reads PodGroups, whatever they are called."""
    found = {
        command.group().strip()
        for path in manuals()
        for command in READING.finditer(path.read_text(encoding="utf-8"))
        if OURS.search(command.group()) or AMBIGUOUS.search(command.group())
    }
    return sorted(found - {SPEAKS_OF_THE_OTHER})


def native_group(version: str) -> dict[str, Any]:
    """A PodGroup of Kubernetes' own with the name of one of ours."""
    policy = {"gang": {"minCount": 7}}
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "training"},
        "spec": {"schedulingPolicy": policy},
    }


def test_no_command_is_ambiguous() -> None:
    assert len(commands()) >= 8
    assert [command for command in commands() if AMBIGUOUS.search(command)] == []


async def test_every_command_shows_our_pod_groups(built: Path, tmp_path: Path) -> None:
    minor = chosen().minor
    version = SERVED_IN.get(minor, "v1beta1")
    backend = RealBackend(
        apiserver_options=[
            "--feature-gates=GenericWorkload=true",
            f"--runtime-config=scheduling.k8s.io/{version}=true",
        ]
    )
    async with backends.on(backend), running_cluster(nodes(1, cpu="4")) as cluster:
        kubectl = Kubectl(await backend.plane(), tmp_path)
        await cluster.create(*gang("training", 3), *gang("lonely", 1, min_member=2))
        await cluster.until(lambda: cluster.phase("training") == "Running", "a gang runs as ever")
        if minor >= SINCE:
            await kubectl("create -f -", native_group(version))
            assert "training" in await kubectl(f"get {NATIVE}")
            assert "scheduling.k8s.io" in await kubectl("explain podgroups")

        for command in commands():
            shown = await kubectl.run(_words(command))
            assert _is_ours(shown), f"{command}\n{shown}"
        status = await _gangline(cluster, "status")
        assert re.search(r"training\s.*Running", status), status
        assert "1 of 2 members" in await _gangline(cluster, "why", "podgroup/lonely")


def _words(command: str) -> list[str]:
    """The words of a command, without the option that makes it go on for ever."""
    return [word for word in shlex.split(command)[1:] if word != "-w"]


def _is_ours(shown: str) -> bool:
    """Tell our objects and explanations from those of another kind of the same name."""
    return any(sign in shown for sign in ("scheduling.x-k8s.io", "MINMEMBER", "Min Member")) or shown.strip() == "2"


async def _gangline(cluster: Cluster, *words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("gangline"),
        *words,
        env=os.environ | {"KUBECONFIG": str(cluster.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()

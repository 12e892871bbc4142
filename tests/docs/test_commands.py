"""What the manuals tell people to type: every command is run here, or there is a reason why not.

Blocks that are marked `sh run` run in a cluster of their own: that of `gangline sandbox`, with the manifests applied, both
services, and what the pages speak of: a gang `training` that does not fit, a gang `lonely` that lacks members, a pod
`orphan` whose group does not exist.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS
from scheduler.core.model import member_class
from tests.docs.pages import (
    ELSEWHERE,
    IN_WORDS,
    PAGES,
    blocks,
    examples,
    inline,
    is_excused,
    is_named_rightly,
    shown,
    targets,
    to_run,
)
from tests.support import tools
from tests.support.cluster import Cluster, running_cluster
from tests.support.kustomize import MANIFESTS, ROOT, kubectl
from tests.support.manifests import Manifest, gang, job, nodes, pod, pod_group

README: Final = ROOT / "README.md"
MIGRATION: Final = ROOT / "docs/migration.md"
CLI: Final = ROOT / "docs/cli.md"
NOTHING: Final = {README, MIGRATION, MANIFESTS / "README.md"}
"""Pages that are read before there is a gang."""
RUN: Final = [page for page in PAGES if to_run(page)]
DEADLINE_S: Final = 100.0
OLD_GROUP: Final = "scheduling.incubator.k8s.io"


def called(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))


def stuck() -> list[Manifest]:
    large = {"cpu": "6", "memory": "1Gi"}
    return [
        pod("busy", requests={"cpu": "4"}),
        *gang("training", 3, requests=large),
        *gang("lonely", 1, min_member=3, requests=large),
        pod("orphan", "nowhere"),
    ]


class Shell:
    """A directory in which a person types: with the manifests in it, and with our programs at hand."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._cluster = cluster
        self.directory = directory
        (directory / "bin").mkdir()
        for name, program in (
            ("kubectl", tools.kubectl()),
            *((ours, Path(sys.executable).with_name(ours)) for ours in ("gangline", "kubectl-gang")),
        ):
            (directory / "bin" / name).symlink_to(program)
        (directory / "manifests").symlink_to(MANIFESTS)

    async def run(self, script: str) -> str:
        """Run commands; return what they print, or fail with it."""
        process = await self._start(script)
        async with asyncio.timeout(DEADLINE_S):
            output, _ = await process.communicate()
        assert process.returncode == 0, f"{script}\nended with {process.returncode}:\n{output.decode()}"
        return output.decode()

    async def follow(self, command: str, until: Callable[[str], bool]) -> list[str]:
        """Run a command that goes on; end it as Ctrl-C does when it has printed what was waited for."""
        process = await self._start(command)
        assert process.stdout is not None
        lines: list[str] = []
        try:
            async with asyncio.timeout(DEADLINE_S):
                async for line in process.stdout:
                    lines.append(line.decode().rstrip())
                    if until(lines[-1]):
                        return lines
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGINT)
            await process.communicate()
        raise AssertionError(f"{command} ended by itself:\n" + "\n".join(lines))

    async def _start(self, script: str) -> asyncio.subprocess.Process:
        for port, name in ((8080, "scheduler"), (8081, "controller")):
            script = script.replace(f"127.0.0.1:{port}", self._cluster.services[name].url.removeprefix("http://"))
        return await asyncio.create_subprocess_exec(
            *("bash", "-euo", "pipefail", "-c", script),
            cwd=self.directory,
            env={
                "KUBECONFIG": str(self._cluster.kubeconfig),
                "HOME": str(self.directory),
                "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}",
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )


@pytest.mark.parametrize("page", [page for page in RUN if page != README], ids=called)
async def test_the_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    async with running_cluster(nodes(3, cpu="8", memory="32Gi")) as cluster:
        shell = Shell(cluster, tmp_path)
        await kubectl(cluster.kubeconfig, "apply", "-k", MANIFESTS / "overlays/default")
        if page == MIGRATION:
            await bring_a_group_of_kube_batch(cluster)
        if page not in NOTHING:
            await cluster.create(*stuck()[:1])
            await cluster.until(lambda: cluster.running("busy") == 1, "a pod takes room")
            await cluster.create(*stuck()[1:])
            await cluster.until(lambda: cluster.reasons("training") == ["Unschedulable"] * 3, "the large gang waits")
        for block in to_run(page):
            await shell.run(block)
        if page == MIGRATION:
            await cluster.until(lambda: cluster.group("old").spec.min_member == 2, "the old group is one of ours")


async def bring_a_group_of_kube_batch(cluster: Cluster) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"podgroups.{OLD_GROUP}"},
        "spec": {
            "group": OLD_GROUP,
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup", "listKind": "PodGroupList"},
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    await cluster.client.create(CUSTOM_RESOURCE_DEFINITIONS, "", definition)
    await kubectl(cluster.kubeconfig, "wait", f"crd/podgroups.{OLD_GROUP}", "--for=condition=Established")
    group = {"apiVersion": f"{OLD_GROUP}/v1alpha1", "kind": "PodGroup", "metadata": {"name": "old"}}
    await kubectl(cluster.kubeconfig, "apply", "-f", "-", stdin=yaml.safe_dump(group | {"spec": {"minMember": 2}}))


async def test_the_first_gang_of_the_readme_starts_as_it_says(tmp_path: Path) -> None:
    of_the_readme = blocks(README)
    (gang_,) = (block.text for block in of_the_readme if block.language == "yaml")
    (*_, last) = (block.text.splitlines()[-1] for block in of_the_readme if block.language == "text")
    said: dict[str, list[str]] = {}
    async with running_cluster(nodes(3, cpu="8", memory="32Gi")) as cluster:
        shell = Shell(cluster, tmp_path)
        (tmp_path / "training.yaml").write_text(gang_)
        for line in chain.from_iterable(map(str.splitlines, to_run(README))):
            command = line.partition("#")[0].strip()
            if command.startswith("kubectl describe"):
                await cluster.until(partial(are_assigned, cluster, "training"), "events say where the pods are")
            if command.endswith(" -w"):
                said[command] = await shell.follow(command, lambda row: row.split()[:-1] == last.split()[:-1])
            else:
                said[command] = (await shell.run(command)).splitlines()

    phases = [row.split()[1] for row in said["kubectl get pg training -w"]]
    assert phases[0] == "PHASE"
    assert phases[-1] == "Running"
    assert set(phases[1:-1]) <= {"3", "Scheduling", "Running"}, "a group without a phase yet shows its minMember there"
    (described,) = (lines for command, lines in said.items() if command.startswith("kubectl describe"))
    assert sum("Successfully assigned default/training-" in line for line in described) == 3
    assert said["gangline why training"][0] == "PodGroup default/training: Running"


def are_assigned(cluster: Cluster, group: str) -> bool:
    return all("Scheduled" in cluster.said_of("Pod", pod.metadata.name) for pod in cluster.of(group))


async def test_the_examples_of_the_help_run(tmp_path: Path) -> None:
    async with running_cluster(nodes(3, cpu="8", memory="32Gi")) as cluster:
        shell = Shell(cluster, tmp_path)
        for place in (".zfunc", ".config/fish/completions", "overlays/prod"):
            (tmp_path / place).mkdir(parents=True)
        group = pod_group("train", 3)
        workload = job("train", "train", parallelism=3, completions=3, requests={"cpu": "6"})
        for directory in (tmp_path, tmp_path / "overlays/prod"):
            (directory / "podgroup.yaml").write_text(yaml.safe_dump(group))
            (directory / "job.yaml").write_text(yaml.safe_dump(workload))
        kustomization = {"resources": ["podgroup.yaml", "job.yaml"]}
        (tmp_path / "overlays/prod/kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        name_the_context("prod", cluster.kubeconfig)
        await shell.run("kubectl create namespace team")
        await cluster.create(pod("busy", requests={"cpu": "4"}))
        await cluster.until(lambda: cluster.running("busy") == 1, "a pod takes room")
        await cluster.create(group, workload)
        await cluster.create(*gang("train", 1), namespace="team")
        await cluster.until(lambda: cluster.reasons("train") == ["Unschedulable"] * 3, "the gang does not fit")
        for command in examples(CLI):
            typed = command.partition("| jq ")[0]
            if " -w" in typed:
                await shell.follow(typed, lambda row: "train" in row)
            else:
                await shell.run(typed)
        assert (await shell.run("kubectl gang status train")).splitlines()[-1].startswith("train ")
    assert (tmp_path / ".zfunc/_gangline").read_text()


def name_the_context(name: str, kubeconfig: Path) -> None:
    config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
    config["contexts"].append(config["contexts"][0] | {"name": name})
    kubeconfig.write_text(yaml.safe_dump(config))


async def test_the_commands_in_the_running_text_run(tmp_path: Path) -> None:
    commands = {command for page in PAGES for command in inline(page)}
    rest = sorted(each for each in commands if not is_excused(each) and not is_named_rightly(each))
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        shell = Shell(cluster, tmp_path)
        for command in rest:
            await shell.run(command)
    assert "kubectl apply -k manifests/overlays/default" in rest


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_a_block_is_run_or_says_why_not(page: Path) -> None:
    assert [command for command in shown(page) if not is_excused(command) and not is_named_rightly(command)] == []
    if page != CLI:
        assert examples(page) == [], "blocks of commands are marked `sh run`, or `sh` where they cannot run"


def test_every_reason_is_still_needed() -> None:
    commands = {command for page in PAGES for command in [*inline(page), *shown(page)]}

    assert [start for start in ELSEWHERE if not any(command.startswith(start) for command in commands)] == []
    assert [words for words in IN_WORDS if words not in commands] == []


def test_the_readme_tells_of_targets_that_are_there() -> None:
    typed = [command.split()[1] for command in [*inline(README), *shown(README)] if command.startswith("make ")]

    assert {"demo", "test", "test-real"} <= set(typed) <= set(targets())


def test_what_is_not_supported_is_said_before_a_migration() -> None:
    text = " ".join(MIGRATION.read_text(encoding="utf-8").split())

    assert [phrase for phrase, _ in member_class._UNSUPPORTED if phrase not in text] == []

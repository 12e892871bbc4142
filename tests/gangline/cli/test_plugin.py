"""`kubectl gang ...`: the real kubectl finds the plugin and its completion in the PATH."""

import asyncio
import os
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import gang, nodes
from tests.support.tools import KUBECTLS, kubectl

ROOT = Path(__file__).parents[3]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with the scripts that an installation makes of the project's entry points."""
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    for name in ("kubectl-gang", "kubectl_complete-gang"):
        module, _, function = entries[name].partition(":")
        script = tmp_path / name
        script.write_text(f"#!{sys.executable}\nimport {module} as module\nmodule.{function}()\n")
        script.chmod(0o755)
    return tmp_path


async def run(version: str, programs: Path, cluster: Cluster, *words: str) -> tuple[int | None, str, str]:
    """Exit code, stdout and stderr of this kubectl."""
    process = await asyncio.create_subprocess_exec(
        *(str(kubectl(version)), *words),
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "KUBECONFIG": str(cluster.kubeconfig),
            "HOME": str(programs),
            "PYTHONPATH": str(ROOT),
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("version", KUBECTLS)
async def test_kubectl_runs_and_completes_the_plugin(version: str, programs: Path) -> None:
    async with running_cluster(nodes(1, cpu="4")) as cluster:
        await cluster.create(*gang("train", 2))
        await cluster.until(lambda: cluster.running("train") == 2, "it runs")

        status = await run(version, programs, cluster, "gang", "status", "-A", "-o", "name")
        missing = await run(version, programs, cluster, "gang", "why", "pg/trian")
        _, usage, _ = await run(version, programs, cluster, "gang", "why", "--help")
        _, names, _ = await run(version, programs, cluster, "__complete", "gang", "status", "tr")
        _, options, _ = await run(version, programs, cluster, "__complete", "gang", "nodes", "--c")

    assert status == (0, "podgroup.scheduling.x-k8s.io/train\n", "")
    assert missing[0] == 1
    assert "did you mean 'train'?" in missing[2]
    assert usage.startswith("Usage: kubectl gang why [OPTIONS] [KIND/]NAME\n")
    assert names.splitlines() == ["train", ":4"]
    assert [line.split("\t")[0] for line in options.splitlines()] == ["--cpu", "--context", ":4"]

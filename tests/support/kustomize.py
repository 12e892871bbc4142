"""Manifests as kustomize renders them, and kubectl as a user runs it."""

import asyncio
import os
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.support import tools

ROOT: Final = Path(__file__).parents[2]
MANIFESTS: Final = ROOT / "manifests"
COMPONENTS: Final = ("disruption-budget", "monitoring", "network-policy", "pdb-gangs", "upstream-crd")
OF_THE_OPERATOR: Final = {"PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules"}
DEADLINE_S: Final = 60.0

Object = dict[str, Any]


def render(directory: Path, version: str = tools.NEWEST) -> list[Object]:
    """Return the objects that `kubectl apply -k` would send, in its order."""
    return list(yaml.safe_load_all(_rendered(directory, version)))


@lru_cache
def _rendered(directory: Path, version: str) -> str:
    command = [str(tools.kubectl(version)), "kustomize", str(directory)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, f"kustomize warns: {done.stderr}"
    return done.stdout


def render_with(tmp_path: Path, *components: str, overlay: str = "default") -> list[Object]:
    """Return the objects of a copy of an overlay with components, as a user would make one."""
    original = MANIFESTS / "overlays" / overlay
    kustomization = yaml.safe_load((original / "kustomization.yaml").read_text(encoding="utf-8"))
    added = [f"../../components/{component}" for component in components]
    for field, paths in (("resources", kustomization["resources"]), ("components", added)):
        kustomization[field] = [os.path.relpath(original / path, tmp_path) for path in paths]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return list(yaml.safe_load_all(_rendered.__wrapped__(tmp_path, tools.NEWEST)))


def of_kind(objects: list[Object], kind: str) -> dict[str, Object]:
    """Return the objects of a kind by name."""
    return {object_["metadata"]["name"]: object_ for object_ in objects if object_["kind"] == kind}


def operator_definitions() -> list[Object]:
    """The Prometheus operator's kinds, as far as an API server needs to know them to take their objects."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.monitoring.coreos.com"},
            "spec": {
                "group": "monitoring.coreos.com",
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        }
        for kind, plural in OF_THE_OPERATOR.items()
    ]


async def kubectl(kubeconfig: Path, *arguments: str | Path, stdin: str = "") -> str:
    """Run kubectl; return what it prints, or fail with what it says."""
    process = await asyncio.create_subprocess_exec(
        tools.kubectl(),
        *arguments,
        env={"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent), "PATH": os.environ["PATH"]},
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(DEADLINE_S):
        output, errors = await process.communicate(stdin.encode())
    assert process.returncode == 0, errors.decode() + output.decode()
    return output.decode()

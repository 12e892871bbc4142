"""Stock kubectl against the sandbox's API server: what a person types first must work."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gangline.contract.crd import crd
from gangline.sandbox.server import ApiServer
from tests.support.rest import pod

Kubectl = Callable[..., Awaitable[str]]

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    """Run kubectl with these words and this body; its output, errors included, or AssertionError with the code."""

    async def run(words: str, body: Any = None, *, code: int = 0) -> str:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *words.split(),
            env={"KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(json.dumps(body).encode()), 60)
        assert process.returncode == code, output.decode()
        return output.decode()

    async with ApiServer() as server:
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        yield run


def group(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}


async def test_apply_get_describe_and_delete(kubectl: Kubectl) -> None:
    assert "pod/a created" in await kubectl("apply -f -", pod("a"))
    assert "pod/a configured" in await kubectl("apply -f -", pod("a", labels={"x": "1"}))
    assert "pod/a unchanged" in await kubectl("apply -f -", pod("a", labels={"x": "1"}))
    wide = (await kubectl("get pods -o wide")).splitlines()
    described = await kubectl("describe pod a")

    assert wide[0].split() == [
        "NAME",
        "READY",
        "STATUS",
        "RESTARTS",
        "AGE",
        "IP",
        "NODE",
        "NOMINATED",
        "NODE",
        "READINESS",
        "GATES",
    ]
    assert wide[1].split()[:4] == ["a", "0/1", "Pending", "0"]
    assert "Labels:           x=1" in described
    assert 'unknown field "spec.color"' in await kubectl("apply -f -", pod("b", color="red"), code=1)
    assert "deleted" in await kubectl("delete pod a --wait=true")
    assert "not found" in await kubectl("get pod a", code=1)


async def test_pod_groups_are_at_home(kubectl: Kubectl) -> None:
    await kubectl("apply -f -", crd())
    await kubectl("wait crd/podgroups.scheduling.x-k8s.io --for=condition=established")
    await kubectl("apply -f -", group(minMember=3))
    await kubectl("apply -f -", group(minMember=4))
    table = (await kubectl("get pg")).splitlines()
    explained = await kubectl("explain podgroups.scheduling.x-k8s.io.spec")

    assert table[0].split() == ["NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]
    assert table[1].split()[:2] == ["g", "4"]
    assert "minMember	<integer>" in explained
    assert "spec.minMember in body should be greater than or equal to 1" in await kubectl(
        "apply -f -", group(minMember=0), code=1
    )
    assert "serverside-applied" in await kubectl("apply --server-side --force-conflicts -f -", group(minMember=5))


async def test_scale_label_and_annotate(kubectl: Kubectl) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a"}, "spec": spec}
    await kubectl("create -f -", body)
    await kubectl("scale rs a --replicas=5")
    await kubectl("label rs a x=1")
    await kubectl("annotate rs a y=2")

    assert (
        await kubectl("get rs a -o jsonpath={.spec.replicas},{.metadata.labels.x},{.metadata.annotations.y}")
    ) == "5,1,2"

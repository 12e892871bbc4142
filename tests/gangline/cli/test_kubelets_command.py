"""`gangline kubelets` and `gangline sandbox` from the command line."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gangline.contract.meta import Key
from gangline.kube.client import connect
from gangline.kube.wire.resources import LEASES, NODES, PODS
from gangline.sandbox.cluster import Sandbox
from gangline.sandbox.kubelets.nodes import KUBELET_LABEL
from gangline.sandbox.objects.core import RunNode, RunPod
from gangline.sandbox.objects.meta import Thing
from tests.support.scripted_server import write_kubeconfig
from tests.support.watching import until

KUBELETS = [sys.executable, "-c", "from gangline.cli.kubelets import kubelets; kubelets()"]
SANDBOX = [sys.executable, "-c", "from gangline.cli.main import main; main()", "sandbox"]


@pytest.fixture
async def bare() -> AsyncIterator[Sandbox]:
    async with Sandbox(bare=True) as sandbox:
        yield sandbox


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        pytest.param(["--kubeconfig", "/nowhere"], 1, "kubeconfig /nowhere", id="no kubeconfig"),
        pytest.param(["--cpu", "lots"], 2, "Error: nodes 'node', allocatable cpu", id="quantity"),
        pytest.param(["--cpu", "1", "--cluster", __file__], 2, "--cpu and --cluster exclude each other", id="both"),
        pytest.param(["--kubeconfig", "{away}"], 1, "cannot register nodes: Unreachable", id="nobody there"),
    ],
)
def test_bad_options_end_with_one_clear_message(options: list[str], code: int, problem: str, tmp_path: Path) -> None:
    away = write_kubeconfig(tmp_path / "away", "http://127.0.0.1:9")
    options = [option.format(away=away) for option in options]
    run = subprocess.run([*KUBELETS, *options], capture_output=True, text=True, timeout=60, check=False)

    assert run.returncode == code
    assert problem in run.stderr
    assert "Traceback" not in run.stderr


async def test_kubelets_serve_an_api_server_and_leave_its_objects(bare: Sandbox) -> None:
    options = ["--kubeconfig", str(bare.kubeconfig), "--nodes", "2", "--cpu", "3"]
    spec = {"containers": [{"name": "main", "image": "pause"}], "nodeName": "node-1"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    process = await asyncio.create_subprocess_exec(*KUBELETS, *options, stdout=asyncio.subprocess.DEVNULL)
    async with connect(str(bare.kubeconfig), user_agent="test") as client:
        nodes = await until(client, NODES, RunNode, lambda found: len(found) == 2)
        await client.create(PODS, "default", body)
        await until(client, PODS, RunPod, lambda pods: pods[0].status.phase == "Running")
        await until(
            client, LEASES, Thing, lambda leases: {lease.metadata.name for lease in leases} == {"node-0", "node-1"}
        )
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            assert await process.wait() == 0
        assert (await client.get(PODS, Key("default", "a"), RunPod)).status.phase == "Running"

    assert all(KUBELET_LABEL in (node.metadata.labels or {}) for node in nodes)


def test_sandbox_serves_until_a_signal() -> None:
    with subprocess.Popen([*SANDBOX, "--nodes", "1"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url, kubeconfig, _hint = (process.stdout.readline() for _ in range(3))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0

    assert "http://127.0.0.1:" in url
    assert not Path(kubeconfig.split()[-1]).exists()


def test_sandbox_names_what_keeps_it_from_starting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        run = subprocess.run([*SANDBOX, "--port", port], capture_output=True, text=True, timeout=60, check=False)

    assert run.returncode == 1
    assert "address already in use" in run.stderr
    assert "Traceback" not in run.stderr

"""The standard streams of every command: full, closed, without a reader, of another encoding; and Ctrl-C."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support import builders
from tests.support.scripted_api import Answer, Asked, ScriptedApi
from tests.support.scripted_server import Exchange, ScriptedServer, write_kubeconfig

GANGLINE = "from gangline.cli.main import main; main()"
FULL = "error: stdout cannot be written: No space left on device\n"
ASKING = [("status",), ("status", "-w"), ("status", "-o", "json"), ("why", "g"), ("nodes",), ("nodes", "-o", "name")]
ALONE = [("--help",), ("--version",), ("why", "--help"), ("completion", "bash"), ("check", "-o", "yaml", os.devnull)]
STAYING = [("sandbox", "--bare"), ("demo",)]


def lists(asked: Asked) -> Answer:
    """Answer as a cluster with one gang that waits, whose name not every encoding has."""
    pod = builders.pod("g-0", namespace="default", group="g")
    items = {"pods": [pod], "podgroups": [builders.group("g", 2, namespace="default")], "nodes": [builders.node("n")]}
    found = msgspec.to_builtins(items.get(asked.path.rpartition("/")[2], []))
    return Answer(200, {"metadata": {"resourceVersion": "1"}, "items": found})


def run(*words: str, stdout: str = os.devnull, shell: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a program, its stdout a file; `shell` closes or redirects streams before it starts."""
    script = f'exec "$@" {shell}'
    with Path(stdout).open("w") as output:
        return subprocess.run(
            ["sh", "-c", script, "sh", sys.executable, "-c", GANGLINE, *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, **environ},
        )


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
async def test_a_full_stdout_is_said_in_one_line_by_what_asks_a_cluster(words: tuple[str, ...], tmp_path: Path) -> None:
    async with ScriptedApi(lists) as api:
        config = api.kubeconfig(tmp_path)
        done = await asyncio.to_thread(run, *words, "--kubeconfig", config, stdout="/dev/full")

    assert done.returncode == 1
    assert done.stderr.endswith(FULL)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [*ALONE, *STAYING], ids=" ".join)
def test_a_full_stdout_is_said_in_one_line(words: tuple[str, ...]) -> None:
    done = run(*words, stdout="/dev/full")

    assert (done.returncode, done.stderr) == (1, FULL)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_closed_streams_are_no_trouble(closed: str, tmp_path: Path) -> None:
    async with ScriptedApi(lists) as api:
        config = api.kubeconfig(tmp_path)
        asking = await asyncio.to_thread(run, "status", "--kubeconfig", config, shell=closed)
        reading = await asyncio.to_thread(run, "check", "-", shell=closed)

    assert (asking.returncode, reading.returncode) == (0, 0)
    assert "Traceback" not in asking.stderr + reading.stderr


def test_what_an_encoding_does_not_have_is_written_with_backslashes(tmp_path: Path) -> None:
    manifest = tmp_path / "λ.yaml"
    manifest.write_text("kind: PodGroup\nmetadata: {name: λ}\n")

    done = run("check", str(manifest), stdout=str(tmp_path / "out"), PYTHONIOENCODING="latin-1")

    assert done.returncode == 1
    assert "PodGroup/\\u03bb: " in (tmp_path / "out").read_text()


@pytest.mark.parametrize("words", [("status",), ("status", "-w"), ("why", "g"), ("nodes",)], ids=" ".join)
async def test_an_interrupt_ends_a_command_without_a_word(words: tuple[str, ...], tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def silent(exchange: Exchange) -> None:
        asked.set()
        await exchange.stay_silent()

    async with ScriptedServer(silent) as server:
        config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", GANGLINE, *words, "--kubeconfig", config), stderr=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(60):
            await asked.wait()
            running.send_signal(signal.SIGINT)
            _, said = await running.communicate()

    assert (running.returncode, said) == (130, b"")

"""The whole demo, from the command line: what a person sees who has just cloned the repository."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO
from urllib.request import urlopen

import pytest

COMMAND = [sys.executable, "-c", "from gangline.cli.demo import demo; demo()"]
PROCESS = re.compile(r"^(scheduler|controller): process (\d+)", re.MULTILINE)


def environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary)}


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def pids(output: str) -> list[int]:
    found = [int(match[2]) for match in PROCESS.finditer(output)]
    assert len(found) == 2
    return found


def output_of(run: subprocess.Popen[str]) -> IO[str]:
    assert run.stdout is not None
    return run.stdout


def read_up_to(words: str, output: IO[str]) -> str:
    """Read whole lines, the last of them the first that makes these words stand in what was read."""
    seen = ""
    while words not in seen:
        line = output.readline()
        assert line, seen
        seen += line
    return seen


def test_demo_verifies_every_step_and_leaves_nothing_behind(tmp_path: Path) -> None:
    run = subprocess.run(COMMAND, env=environment(tmp_path), capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "✔ all 9 steps went as expected" in run.stdout
    assert "✘" not in run.stdout
    assert "\x1b" not in run.stdout
    assert not [pid for pid in pids(run.stdout) if is_alive(pid)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_demo_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(COMMAND, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as run:
        output = output_of(run)
        seen = read_up_to("1/9", output)
        run.send_signal(number)
        output.read()

    assert run.returncode == 130
    assert not [pid for pid in pids(seen) if is_alive(pid)]
    assert list(tmp_path.iterdir()) == []


def test_demo_says_at_once_that_a_service_has_died(tmp_path: Path) -> None:
    with subprocess.Popen(COMMAND, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as run:
        output = output_of(run)
        seen = read_up_to("2/9", output)
        scheduler, controller = pids(seen)
        os.kill(scheduler, signal.SIGKILL)
        rest = output.read()

    assert run.returncode == 1
    assert "✘ scheduler ended with exit code -9; its last log lines:" in rest
    assert not is_alive(controller)
    assert list(tmp_path.iterdir()) == []


KEPT = """
import asyncio, sys
from pathlib import Path
from rich.console import Console
from gangline.cli.walk.run import walk
from gangline.cli.walk.steps import STEPS
console = Console(width=200, no_color=True)
sys.exit(not asyncio.run(walk(console, Path(sys.argv[1]), keep=True, steps=STEPS[:1])))
"""


def test_kept_demo_stays_up_and_says_how_to_look_around_until_it_is_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-c", KEPT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        output = output_of(run)
        seen = read_up_to("what was applied", output)
        hints = [line.strip() for line in seen.partition("Look around")[2].splitlines()[1:]]
        (page,) = (hint.removeprefix("curl ") for hint in hints if hint.endswith("/debug/gangs"))
        with urlopen(page, timeout=60) as answer:  # noqa: S310 - a page of ours, on loopback
            assert "default/team" in {gang["gang"] for gang in json.load(answer)["gangs"]}
        run.send_signal(signal.SIGINT)
        rest = output.read()

    assert {f"export KUBECONFIG={tmp_path}/kubeconfig", "kubectl get pg -w"} <= set(hints)
    assert run.returncode == 0, rest
    assert not [pid for pid in pids(seen) if is_alive(pid)]

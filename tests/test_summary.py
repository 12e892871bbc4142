"""The last words of a run: where tests passed, and that a run which wants a real control plane and asks none fails."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.support import usage
from tests.support.services import ROOT

NO_SERVER = "tests/controlplane/test_build.py::test_the_newest_release_is_the_default"
ON_A_SERVER = "tests/e2e/test_gangs.py::test_several_scheduler_names"


async def run(*words: str, **environment: str) -> tuple[int | None, list[str]]:
    """Run pytest; its exit code and its lines."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "pytest", "--quiet", *words),
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")} | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode().splitlines()


async def test_a_run_that_asked_no_real_server_fails_and_says_so(tmp_path: Path) -> None:
    code, said = await run("--backend=real", NO_SERVER, KUBEBUILDER_ASSETS=str(tmp_path))
    assert code == pytest.ExitCode.TESTS_FAILED
    assert any("no test got an answer of a real API server" in line for line in said)
    figures = "0 on the backend (a real control plane), 0 on the sandbox alone, 1 others"
    assert any(f"Tests passed: {figures}" in line for line in said)
    assert said[-1].startswith("1 passed")


async def test_without_go_the_run_says_what_to_install_and_nothing_else(tmp_path: Path) -> None:
    nothing = {"KUBEBUILDER_ASSETS": "", "PATH": "", "GOROOT": str(tmp_path)}
    code, said = await run("--backend=real", NO_SERVER, **nothing)
    assert code == pytest.ExitCode.USAGE_ERROR
    (only,) = filter(None, said)
    assert only.startswith("ERROR: Go 1.")


@pytest.mark.parametrize("processes", ["0", "2"])
async def test_who_used_the_sandbox_is_counted_in_every_process(processes: str) -> None:
    code, said = await run("-n", processes, NO_SERVER, ON_A_SERVER)
    assert code == 0
    (summary,) = (line for line in said if line.startswith("Tests passed: "))
    assert summary.startswith("Tests passed: 1 on the backend (a sandbox), 1 others; ")
    assert "the tests " in summary
    assert said[-1].startswith("2 passed")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere is no /proc")
def test_the_memory_of_a_process_is_read_while_it_lives() -> None:
    assert 10_000 < usage.peak_kib(os.getpid()) <= usage.peak_kib()
    assert usage.peak_kib("no such process") == 0


def test_of_several_processes_of_a_program_the_largest_is_kept() -> None:
    for kib in (3, 5, 4):
        usage.note_peak("of nobody", kib)
    assert usage.peaks_kib.pop("of nobody") == 5

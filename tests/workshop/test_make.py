"""What a person types first: `make` alone says what there is, and each target sets up what it needs."""

import os
import subprocess
from pathlib import Path
from shutil import copytree

import pytest

ROOT = Path(__file__).parent.parent.parent
PLACES = ("Makefile", "pyproject.toml", "requirements", "tests/controlplane")
"""What the Makefile looks at, so that nothing is set up in a copy of it."""


def make(directory: Path, *words: str) -> str:
    for place in PLACES:
        source, copy = ROOT / place, directory / place
        if source.is_dir():
            copytree(source, copy)
        else:
            copy.write_bytes(source.read_bytes())
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["make", *words], cwd=directory, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_make_alone_says_what_there_is(tmp_path: Path) -> None:
    said = make(tmp_path)

    for target in ("demo", "test", "lint", "types", "generate", "bench", "clean"):
        assert f"  make {target} " in said
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("target", ["demo", "test", "lint", "types", "generate", "bench"])
def test_a_target_sets_up_what_it_needs_pinned_by_hash_and_no_more(target: str, tmp_path: Path) -> None:
    commands = make(tmp_path, "--dry-run", target)

    wanted, other = ("runtime", "dev") if target == "demo" else ("dev", "runtime")
    assert "-m venv .venv" in commands
    assert f"--require-hashes --only-binary :all: -r requirements/{wanted}.txt" in commands
    assert f"requirements/{other}.txt" not in commands.replace("requirements/*.txt", "")


def test_the_demo_stays_up_when_it_is_asked_to(tmp_path: Path) -> None:
    assert make(tmp_path, "--dry-run", "demo", "KEEP=1").rstrip().endswith("gangline demo --keep")

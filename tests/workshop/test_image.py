import fnmatch
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def instructions() -> list[tuple[str, str]]:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    pairs = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(name, rest) for name, rest in pairs]


def of(instructions: list[tuple[str, str]], name: str) -> list[str]:
    return [rest for found, rest in instructions if found == name]


def test_both_stages_stand_on_one_pinned_image(instructions: list[tuple[str, str]]) -> None:
    (argument,) = of(instructions, "ARG")

    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.\d+\.\d+-slim-\w+", argument)
    assert [stage.split()[0] for stage in of(instructions, "FROM")] == ["${PYTHON_IMAGE}"] * 2


def test_the_process_is_not_root_and_gets_signals_itself(instructions: list[tuple[str, str]]) -> None:
    assert of(instructions, "USER") == ["65532:65532"]
    assert json.loads(of(instructions, "ENTRYPOINT")[0]) == ["python", "-m"]
    assert json.loads(of(instructions, "CMD")[0]) == ["scheduler"]


def test_everything_installed_is_pinned(instructions: list[tuple[str, str]]) -> None:
    installs = [run for run in of(instructions, "RUN") if "pip install" in run]

    assert len(installs) == 2
    assert all("--require-hashes" in run or "--no-build-isolation --no-deps" in run for run in installs)


def test_what_is_copied_exists_and_is_not_ignored(instructions: list[tuple[str, str]]) -> None:
    first, *allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [
        source for copy in of(instructions, "COPY") if not copy.startswith("--from") for source in copy.split()[:-1]
    ]

    assert first == "*"
    for source in copied:
        assert (ROOT / source).exists()
        assert any(fnmatch.fnmatch(f"!{source}", pattern) for pattern in allowed)

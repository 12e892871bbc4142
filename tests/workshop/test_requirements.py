import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pinned(name: str) -> dict[tuple[str, str], str]:
    """Version by package and marker; fails on a line that is neither a pin, nor a hash, nor a comment."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    form = re.compile(r"([a-z0-9.-]+)==(\S+)(?: ; ([^\\]+?))?(?: +--hash=sha256:[0-9a-f]{64})+ *")
    matches = [form.fullmatch(line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return {(match[1], match[3] or ""): match[2] for match in matches if match}


def test_every_requirement_is_a_pin_with_hashes_and_both_files_agree() -> None:
    runtime, dev = (
        {(package, version) for (package, _), version in pinned(name).items()} for name in ("runtime.txt", "dev.txt")
    )

    assert runtime <= dev
    assert len(runtime) > 20


def test_what_the_project_asks_for_is_pinned(project: dict[str, Any]) -> None:
    runtime = {name for name, _ in pinned("runtime.txt")}
    groups = project["dependency-groups"]
    asked = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["sandbox"],
        *groups["build"],
    ]

    names = [re.split(r"[^a-z0-9-]", requirement)[0] for requirement in asked]
    assert set(names) <= runtime
    assert {re.split(r"[^a-z0-9-]", requirement)[0] for requirement in groups["dev"]} <= {
        name for name, _ in pinned("dev.txt")
    }


def test_the_build_needs_exactly_what_is_pinned(project: dict[str, Any]) -> None:
    required = project["build-system"]["requires"]

    assert required == project["dependency-groups"]["build"]
    assert required == [f"hatchling=={pinned('runtime.txt')['hatchling', '']}"]

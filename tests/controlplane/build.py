"""Builds a real control plane from Go modules: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl.

    python -m tests.controlplane.build            # the newest version that is listed here
    python -m tests.controlplane.build v1.35

Each directory `v<major>.<minor>` holds a Go module of tools, pinned with its checksums. Its binaries go to a cache
outside the tree, where the next run finds them: `$GANGLINE_CACHE`, else `gangline` in the user's cache directory.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).parent
KUBERNETES: Final = "k8s.io/kubernetes"
STAMPED: Final = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
PACKAGES: Final = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": f"{KUBERNETES}/cmd/kube-apiserver",
    "kube-controller-manager": f"{KUBERNETES}/cmd/kube-controller-manager",
    "kube-scheduler": f"{KUBERNETES}/cmd/kube-scheduler",
    "kubectl": f"{KUBERNETES}/cmd/kubectl",
}
# No trace of where the checkout is, nor of its commit: the same binaries for everybody, and one build cache.
FLAGS: Final = ("-trimpath", "-buildvcs=false")


class BuildError(Exception):
    """The control plane cannot be built; the message says what to do."""


class Release(Struct, frozen=True):
    """A version of Kubernetes that can be built, as its go.mod pins it."""

    directory: Path
    kubernetes: str
    go: str

    @property
    def minor(self) -> int:
        """The minor version: 37 of v1.37.2."""
        return int(self.kubernetes.split(".")[1])


def releases() -> list[Release]:
    """All versions that can be built, the newest first."""
    found = [_release(path.parent) for path in ROOT.glob("v*/go.mod")]
    return sorted(found, key=lambda one: one.minor, reverse=True)


def release(name: str | None = None) -> Release:
    """Find the version with this name (`v1.37`), or the newest. Raises BuildError."""
    known = {one.directory.name: one for one in releases()}
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise BuildError(f"no Kubernetes {name} here; there is {', '.join(known)}")
    return known[name]


def chosen() -> Release:
    """The version that `CONTROLPLANE` names, else the newest. Raises BuildError."""
    return release(os.environ.get("CONTROLPLANE") or None)


def binaries(wanted: Release) -> Path:
    """Build what is missing, and return the directory of the five. Raises BuildError."""
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(assets)
    go = _go(wanted)
    target = _cache() / f"{wanted.kubernetes}-{_fingerprint(wanted, go)}"
    target.mkdir(parents=True, exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [name for name in PACKAGES if not (target / name).exists()]
        if missing:
            _build(wanted, go, target, missing)
    return target


def _release(directory: Path) -> Release:
    text = (directory / "go.mod").read_text()
    kubernetes = re.search(rf"^\s*(?:require )?{re.escape(KUBERNETES)} (v\S+)", text, re.MULTILINE)
    go = re.search(r"^go (\S+)", text, re.MULTILINE)
    assert kubernetes, f"{directory} pins no Kubernetes"
    assert go, f"{directory} names no version of Go"
    return Release(directory, kubernetes[1], go[1])


def _go(wanted: Release) -> str:
    """Find Go: on the PATH, or where its installer puts it."""
    found = shutil.which("go") or shutil.which("go", path=f"{os.environ.get('GOROOT', '/usr/local/go')}/bin")
    if found is None:
        raise BuildError(
            f"Go {wanted.go} or newer is needed to build Kubernetes {wanted.kubernetes}: install it and put it on the "
            "PATH, or let KUBEBUILDER_ASSETS name a directory that holds " + ", ".join(PACKAGES)
        )
    return found


def _cache() -> Path:
    if given := os.environ.get("GANGLINE_CACHE"):
        return Path(given) / "controlplane"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gangline" / "controlplane"


def _fingerprint(wanted: Release, go: str) -> str:
    """Tell everything apart that makes other binaries: versions, checksums, compiler, platform, flags."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((wanted.directory / name).read_bytes())
    made_by = subprocess.run([go, "env", "GOVERSION", "GOOS", "GOARCH"], check=True, capture_output=True, cwd=ROOT)
    digest.update(made_by.stdout)
    digest.update(repr((FLAGS, _link_flags(wanted))).encode())
    return digest.hexdigest()[:12]


def _link_flags(wanted: Release) -> str:
    """Strip the binaries, and stamp them with the version that clients ask for."""
    facts = {
        "gitVersion": wanted.kubernetes,
        "gitMajor": "1",
        "gitMinor": str(wanted.minor),
        "gitTreeState": "clean",
    }
    stamps = [f"-X {package}.{name}={value}" for package in STAMPED for name, value in facts.items()]
    return " ".join(["-s", "-w", *stamps])


def _build(wanted: Release, go: str, target: Path, names: list[str]) -> None:
    _say(
        f"building Kubernetes {wanted.kubernetes} once: {', '.join(names)} (about 9 minutes on 2 cores, 3 GB of memory)"
    )
    started = time.monotonic()
    for name in names:
        begun = time.monotonic()
        part = target / f"{name}.part"
        command = [go, "build", *FLAGS, "-ldflags", _link_flags(wanted), "-o", str(part), PACKAGES[name]]
        environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
        done = subprocess.run(command, cwd=wanted.directory, env=environment, check=False)
        if done.returncode:
            raise BuildError(f"{name} did not build: go build ended with {done.returncode}; its words are above")
        part.rename(target / name)
        _say(f"  {name} in {time.monotonic() - begun:.0f} s")
    _say(f"built in {time.monotonic() - started:.0f} s, in {target}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a tool


def main() -> int:
    """Build, and print where the binaries are."""
    try:
        print(binaries(release(sys.argv[1] if len(sys.argv) > 1 else None)))  # noqa: T201 - its result
    except BuildError as error:
        _say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

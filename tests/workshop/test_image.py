"""The image: the Dockerfile is linted, its steps are run, and what comes of them is looked at and started."""

import asyncio
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

from tests.support import tools
from tests.support.cluster import running_cluster
from tests.support.dockerfile import Ignored, Stage, stages
from tests.support.image import Built, build
from tests.support.kustomize import ROOT
from tests.support.manifests import gang, nodes
from tests.support.ports import LOOPBACK, free_port
from tests.support.services import Service

MEGABYTE: Final = 1_000_000
COMMANDS: Final = [("python", "-m", "scheduler"), ("python", "-m", "controller"), ("gangline",), ("kubectl-gang",)]


@pytest.fixture(scope="module")
def dockerfile() -> list[Stage]:
    return stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def image() -> Iterator[Built]:
    with tempfile.TemporaryDirectory(prefix="gangline-image-") as directory:
        Path(directory).chmod(0o755)
        yield build(Path(directory))


def packages(image: Built) -> Path:
    (found,) = (image.root / "opt/gangline/lib").glob("python3.*/site-packages")
    return found


def called(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", Requirement(requirement).name).lower()


@asynccontextmanager
async def started(image: Built, name: str, kubeconfig: Path) -> AsyncIterator[Service]:
    """Run a service as a container of the image does; it must end well when it is told to."""
    address = f"{LOOPBACK}:{free_port()}"
    options = (f"--kubeconfig={kubeconfig}", f"--http-address={address}", "--lease=off")
    process = await asyncio.create_subprocess_exec(
        *image.confined(*image.entrypoint, name, *options),
        cwd=image.directory,
        env=image.environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield Service(name, f"http://{address}")
    finally:
        process.terminate()
        code = await process.wait()
    assert code == 0


def test_hadolint_has_nothing_to_say() -> None:
    command = [str(tools.hadolint()), "--no-color", "--failure-threshold=style", "Dockerfile"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_hadolint_would_say_something() -> None:
    command = [str(tools.hadolint()), "--no-color", "-"]
    bad = "FROM python:latest\nRUN pip install numpy\nENTRYPOINT python\n"
    done = subprocess.run(command, check=False, capture_output=True, text=True, input=bad)

    assert set(re.findall(r"DL\d+", done.stdout)) >= {"DL3007", "DL3013", "DL3025"}


def test_both_stages_stand_on_one_pinned_image(dockerfile: list[Stage]) -> None:
    build_stage, last = dockerfile

    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", last.image)
    assert build_stage.image == last.image
    assert last.of("RUN") == [], "what runs in the last stage stays in it"


def test_the_process_is_not_root_and_gets_signals_itself(image: Built) -> None:
    assert image.user == "65532:65532"
    assert [*image.entrypoint, *image.command] == ["python", "-m", "scheduler"]


def test_everything_that_is_installed_is_pinned(dockerfile: list[Stage]) -> None:
    installs = [line for run in dockerfile[0].of("RUN") for line in run.split("&&") if " install " in line]

    assert len(installs) == 2
    assert all("--require-hashes" in line or "--no-build-isolation --no-deps ." in line for line in installs)


def test_the_engine_is_sent_what_is_copied_and_little_else(dockerfile: list[Stage]) -> None:
    sent = Ignored((ROOT / ".dockerignore").read_text(encoding="utf-8")).let_through(ROOT)
    copied = [Path(source) for text in dockerfile[0].of("COPY") for source in text.split()[:-1]]

    assert [path for path in copied if not any(each.is_relative_to(path) for each in sent)] == []
    assert [path for path in sent if not any(path.is_relative_to(each) for each in copied)] == []
    assert [path for path in sent if path.suffix == ".pyc"] == []
    assert sum((ROOT / path).stat().st_size for path in sent) < 2 * MEGABYTE


@pytest.mark.parametrize(
    ("path", "is_ignored"),
    [
        (".git/config", True),
        (".venv/bin/python", True),
        ("tests/conftest.py", True),
        ("requirements/dev.txt", True),
        ("requirements/runtime.txt", False),
        ("gangline/kube/wire/watch.py", False),
        ("gangline/__pycache__/watch.pyc", True),
        ("scheduler/core/__pycache__/machine.pyc", True),
    ],
)
def test_what_is_ignored(path: str, is_ignored: bool) -> None:
    assert (Path(path) in Ignored((ROOT / ".dockerignore").read_text(encoding="utf-8"))) == is_ignored


def test_it_holds_what_the_services_need_and_nothing_else(image: Built) -> None:
    installed = {called(each.name): each for each in metadata.distributions(path=[str(packages(image))])}
    needed, found = {"gangline"}, set[str]()
    extras = {"extra": "sandbox"}
    while needed:
        found.add(name := needed.pop())
        asked = [Requirement(text) for text in installed[name].requires or ()]
        needed |= {called(each.name) for each in asked if each.marker is None or each.marker.evaluate(extras)} - found

    assert set(installed) == found


def test_no_test_is_in_it(image: Built) -> None:
    assert [path for path in image.root.rglob("*") if path.name == "tests"] == []
    assert sorted(path.name for path in image.root.iterdir()) == ["opt"]


def test_it_is_small(image: Built) -> None:
    size = sum(path.lstat().st_size for path in image.root.rglob("*") if not path.is_dir())

    assert size < 150 * MEGABYTE, f"{size / MEGABYTE:.0f} MB"


def test_any_user_can_read_it_and_nobody_write_it(image: Built) -> None:
    modes = {path: path.stat().st_mode for path in image.root.rglob("*") if not path.is_symlink()}

    assert [path for path, mode in modes.items() if not mode & stat.S_IROTH] == []
    assert [path for path, mode in modes.items() if mode & 0o222] == []
    assert [path for path, mode in modes.items() if stat.S_ISDIR(mode) and not mode & stat.S_IXOTH] == []


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_of_it_runs_as_its_user(image: Built, command: tuple[str, ...]) -> None:
    done = subprocess.run(
        image.confined(*command, "--help"),
        check=False,
        capture_output=True,
        text=True,
        cwd=image.directory,
        env=image.environment,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("usage:", "Usage:"))


def test_its_python_imports_it_from_the_image_alone(image: Built) -> None:
    script = "import gangline, scheduler, sys, os; print(gangline.__file__, scheduler.__file__, os.getuid(), *sys.path)"
    done = subprocess.run(
        image.confined("python", "-c", script),
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
        env=image.environment,
    )
    ours, theirs, uid, *path = done.stdout.split()

    assert {Path(ours).parents[1], Path(theirs).parents[1]} == {packages(image)}
    assert uid != "0"
    assert [place for place in path if str(ROOT) in place or str(Path(sys.prefix)) in place] == []


async def test_a_gang_starts_with_both_services_of_it(image: Built) -> None:
    kubeconfig = image.root.with_name("kubeconfig")
    async with running_cluster(nodes(1, cpu="4"), services=()) as cluster, AsyncExitStack() as stack:
        kubeconfig.write_text(cluster.kubeconfig.read_text())
        kubeconfig.chmod(0o644)
        for name in ("scheduler", "controller"):
            service = await stack.enter_async_context(started(image, name, kubeconfig))
            await service.until_ready()
        await cluster.create(*gang("small", 3))
        await cluster.until(lambda: cluster.phase("small") == "Running", "a gang runs, and its group says so")

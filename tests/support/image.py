"""An image built without a container engine: the steps of the Dockerfile are run in a directory.

The directory stands for `/`: `/opt/gangline` is `opt/gangline` below its `root`, for all stages, one after the other, since a
virtual environment knows its path. The base image is the Python that runs the tests. Wheels come from a cache.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

from msgspec import Struct

from tests.support import tools
from tests.support.dockerfile import Ignored, Instruction, stages
from tests.support.kustomize import ROOT

BASE_PATH: Final = f"{Path(sys.executable).parent}:/usr/bin:/bin"
READS_EVERYTHING: Final = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


class Built(Struct):
    """The file system of a stage, and what its instructions have set."""

    root: Path
    environment: dict[str, str]
    directory: Path
    user: str = "0:0"
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()

    def place(self, path: str) -> Path:
        """Where an absolute path of the image lies, and a relative one from its working directory."""
        return self.root / path.lstrip("/") if path.startswith("/") else self.directory / path

    def mapped(self, text: str) -> str:
        """The same text with the paths of the image where they lie."""
        return re.sub(r"(?<![\w.])/opt/", f"{self.root}/opt/", text)

    def confined(self, *command: str) -> list[str]:
        """A command as a container runs it: as the user of the image, with no right to write anything.

        The Python that stands for the base image may lie in a home that this user cannot enter; then it may read what it
        is not allowed to. Who is not root already cannot change user, and writes nothing all the same.
        """
        if os.geteuid() != 0:
            return list(command)
        user, _, group = self.user.partition(":")
        is_reachable = all(parent.stat().st_mode & 0o001 for parent in Path(sys.executable).resolve().parents)
        rights = () if is_reachable else READS_EVERYTHING
        return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *rights, "--", *command]


def build(directory: Path) -> Built:
    """Run every stage of the Dockerfile; return the last."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    ignored = Ignored((ROOT / ".dockerignore").read_text(encoding="utf-8"))
    root, built = directory / "root", None
    for stage in stages(text):
        root.mkdir()
        built = Built(root, {"PATH": BASE_PATH, "HOME": "/"}, root)
        for instruction in stage.instructions:
            _carry_out(instruction, built, ignored)
        if stage.name:
            root.rename(directory / stage.name)
    assert built is not None, "a Dockerfile has stages"
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    return built


def _carry_out(instruction: Instruction, built: Built, ignored: Ignored) -> None:
    text = instruction.text
    match instruction.name:
        case "WORKDIR":
            built.directory = built.place(text)
            built.directory.mkdir(parents=True, exist_ok=True)
        case "ENV":
            for word in shlex.split(text):
                name, _, value = word.partition("=")
                built.environment[name] = built.mapped(Template(value).substitute(built.environment))
        case "COPY":
            _copy(shlex.split(text), built, ignored)
        case "RUN":
            _run(built.mapped(text), built)
        case "USER":
            built.user = text
        case "ENTRYPOINT":
            built.entrypoint = json.loads(text)
        case "CMD":
            built.command = json.loads(text)
        case other:
            raise NotImplementedError(f"no way to carry out {other} without an engine")


def _copy(words: list[str], built: Built, ignored: Ignored) -> None:
    *sources, target = words
    if sources[0].startswith("--from="):
        origin = built.root.with_name(sources.pop(0).removeprefix("--from="))
        for source in sources:
            shutil.copytree(origin / source.lstrip("/"), built.place(target), symlinks=True, copy_function=os.link)
        return
    for path, relative in (pair for source in sources for pair in _of_context(source, ignored)):
        place = built.place(target) / relative
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)


def _of_context(source: str, ignored: Ignored) -> list[tuple[Path, Path]]:
    """A file, or what is in a directory, as far as an engine would have been sent it; and where it goes."""
    origin = ROOT / source
    files = [path for path in ([origin] if origin.is_file() else origin.rglob("*")) if path.is_file()]
    sent = [path for path in files if path.relative_to(ROOT) not in ignored]
    assert sent, f"{source} is not sent to the engine"
    return [(path, path.relative_to(origin.parent if origin.is_file() else origin)) for path in sent]


def _run(script: str, built: Built) -> None:
    wheels = tools.wheels(ROOT / "requirements/runtime.txt")
    done = subprocess.run(
        ["sh", "-euc", script],
        check=False,
        capture_output=True,
        text=True,
        cwd=built.directory,
        env=built.environment | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)},
        umask=0o022,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"

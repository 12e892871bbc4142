"""The commands that the manuals tell people to type: in fenced blocks, and in the running text."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from gangline.cli.main import COMMANDS
from tests.support.kustomize import ROOT

PAGES: Final = [ROOT / "README.md", ROOT / "manifests/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS: Final = (
    "kubectl|gangline|kubectl-gang|gangline-scheduler|gangline-controller|make|curl|docker|helm|python3?|pip|pytest|git|go|"
    "promtool|jq|kind|apt-get|bash|source|export"
)
ELSEWHERE: Final = {
    "docker build": "there is no engine; tests/workshop/test_image.py runs the steps",
    "kind load": "there is no engine",
    "helm uninstall": "takes away what another project has installed",
    "kubectl -n gangline-system port-forward": "asks a kubelet; tests have the addresses of the services",
    "kubectl -n gangline-system logs": "asks a kubelet",
    "go mod tidy": "is for a version of Kubernetes that is not there yet",
    "pip install .": "tests/workshop/test_image.py runs it, as the Dockerfile does",
    "pytest": "would run tests in a test",
    "promtool test rules": "tests/manifests/test_monitoring.py runs it",
    "gangline kubelets --kubeconfig X": "goes on until Ctrl-C; tests/gangline/cli/test_kubelets_command.py runs it",
    "kubectl gang": "a way to say `gangline`; a test here runs it",
}
"""Commands that tests do not run, by how they begin, with the reason."""
IN_WORDS: Final = {"kubectl ...", "kubectl apply", "kubectl apply -k", "kubectl explain"}
"""Names of commands, not commands: what they are to do is not said."""
_FENCED: Final = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_INLINE: Final = re.compile(r"`([^`]+)`")
_COMMAND: Final = re.compile(rf"(?:\$ )?((?:{PROGRAMS}) .*)", re.DOTALL)


class Block(Struct, frozen=True):
    """A fenced block: what stands behind the three backquotes, and its text."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    return [Block(match["language"], match["text"]) for match in _FENCED.finditer(page.read_text(encoding="utf-8"))]


def to_run(page: Path) -> list[str]:
    """The blocks that are marked `sh run`."""
    return [block.text for block in blocks(page) if block.language == "sh run"]


def examples(page: Path) -> list[str]:
    """The commands in blocks that are not for a shell, such as the help of a command."""
    return [command for block in blocks(page) if not block.language.startswith("sh") for command in _typed(block.text)]


def shown(page: Path) -> list[str]:
    """The commands in blocks that are marked `sh` alone: they cannot be run here."""
    lines = (line for block in blocks(page) if block.language == "sh" for line in block.text.splitlines())
    return [line.partition(" #")[0].strip() for line in lines]


def inline(page: Path) -> list[str]:
    """The commands in the running text."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    spans = (" ".join(match[1].split()) for match in _INLINE.finditer(text))
    return list(dict.fromkeys(span for span in spans if _COMMAND.fullmatch(span)))


def is_excused(command: str) -> bool:
    """Tell whether a command is one that tests do not run."""
    return command in IN_WORDS or any(command == start or command.startswith(f"{start} ") for start in ELSEWHERE)


def is_named_rightly(command: str) -> bool:
    """Tell whether a command is one that is too long to be run, and exists: a target, a module, a command of ours."""
    match command.split():
        case ["make", target, *variables]:
            return target in targets() and all("=" in each for each in variables)
        case ["python" | "python3", "-m", module, *_]:
            return find_spec(module) is not None
        case ["gangline", name]:
            return name in COMMANDS
    return False


def targets() -> list[str]:
    """The targets of the Makefile that a person is told of."""
    return re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def _typed(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if match := _COMMAND.fullmatch(line.strip()):
            yield match[1]

"""A Dockerfile and its .dockerignore, read as Docker reads them, as far as ours go."""

import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Final

from msgspec import Struct

_WORDS: Final = re.compile(r"(?P<name>[A-Z]+)\s+(?P<text>.*)", re.DOTALL)


class Instruction(Struct, frozen=True):
    """One instruction: `COPY`, and what follows it on the line."""

    name: str
    text: str


class Stage(Struct, frozen=True):
    """What stands between one FROM and the next; the last stage has no name."""

    name: str
    image: str
    instructions: tuple[Instruction, ...]

    def of(self, name: str) -> list[str]:
        """The texts of all instructions of a name, in order."""
        return [one.text for one in self.instructions if one.name == name]


def stages(text: str) -> list[Stage]:
    """Read a Dockerfile. ARGs before the first FROM are put in with their defaults."""
    arguments: dict[str, str] = {}
    found: list[tuple[str, str, list[Instruction]]] = []
    for one in _instructions(text):
        match one.name, found:
            case "ARG", []:
                name, _, value = one.text.partition("=")
                arguments[name] = value
            case "FROM", _:
                image, _, name = one.text.partition(" AS ")
                found.append((name, Template(image).substitute(arguments), []))
            case _:
                found[-1][2].append(one)
    return [Stage(name, image, tuple(instructions)) for name, image, instructions in found]


def _instructions(text: str) -> Iterator[Instruction]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        match = _WORDS.fullmatch(line)
        assert match, f"not an instruction: {line}"
        yield Instruction(match["name"], match["text"].strip())


class Ignored:
    """The patterns of a .dockerignore; the last that matches a path or a directory above it decides."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        self._patterns = [(not line.startswith("!"), _compiled(line.removeprefix("!"))) for line in lines]

    def __contains__(self, path: Path) -> bool:
        places = [str(path), *(str(parent) for parent in path.parents if parent != Path())]
        is_ignored = False
        for ignores, pattern in self._patterns:
            if any(pattern.fullmatch(place) for place in places):
                is_ignored = ignores
        return is_ignored

    def let_through(self, context: Path) -> list[Path]:
        """The files below a directory that an engine would be sent, relative to it."""
        paths = (path.relative_to(context) for path in sorted(context.rglob("*")) if path.is_file())
        return [path for path in paths if path not in self]


def _compiled(pattern: str) -> re.Pattern[str]:
    forms = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/"))
    return re.compile("".join(forms.get(part, re.escape(part)) for part in parts))

"""What is typed: a story is a sequence of kubectl commands in a namespace of its own."""

from typing import Any

from msgspec import Struct

Object = dict[str, Any]


class Step(Struct, frozen=True, kw_only=True):
    """One command line, without `kubectl`.

    `row` is what it stands for in docs/kubectl.md; a step without one only prepares. `stdin` are objects that go to
    `-f -`. `until` is a pattern: the command is repeated until its output has it, for what happens in its own time.
    With `meanwhile` the command is one that goes on: these are run while it does, and it is ended after `lines`
    lines. `but` are patterns of lines, and why these lines are not compared; `apart` is why nothing is, not even
    whether it succeeds.
    """

    words: tuple[str, ...]
    row: str = ""
    stdin: tuple[Object, ...] = ()
    code: int = 0
    until: str = ""
    meanwhile: tuple[str, ...] = ()
    lines: int = 0
    but: dict[str, str] = {}
    apart: str = ""
    is_sorted: bool = False


class Story(Struct, frozen=True):
    """Commands that are given one after the other; the name is the namespace too."""

    name: str
    steps: tuple[Step, ...]


def step(line: str, *stdin: Object, row: str = "", **rest: Any) -> Step:
    """Make a step of a command line; words with blanks in them stand between `|`."""
    words: list[str] = []
    for index, part in enumerate(line.split("|")):
        words.extend([part] if index % 2 else part.split())
    return Step(words=tuple(words), row=row, stdin=stdin, **rest)

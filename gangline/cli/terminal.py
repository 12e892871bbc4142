"""What commands print: tables and text, in colour and fitted on a terminal, plain and whole elsewhere."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from gangline.contract.durations import human_duration

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH: Final = 100_000
"""Off a terminal nothing is wrapped or cut."""
PHASE_STYLES: Final = {
    "Pending": "yellow",
    "Scheduling": "yellow",
    "Running": "green",
    "Finished": "blue",
    "Succeeded": "blue",
    "Failed": "red",
}
"""The colours of phases, of PodGroups and of pods."""
_GAP: Final = 3
_NARROWEST: Final = 30
"""Text is not wrapped into less than this."""
_BLANKS: Final = dict.fromkeys(map(ord, "\t\n\v\f\r\x85\u2028\u2029"), " ")
_BIDIRECTIONAL: Final = (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS: Final = {
    code: ascii(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), *_BIDIRECTIONAL)
} | _BLANKS


def console() -> "Console":
    """Return a console on stdout as it is now."""
    from rich.console import Console  # noqa: PLC0415 - only commands that draw pay for it

    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(file=sys.stdout, width=PLAIN_WIDTH, no_color=True, color_system=None, highlight=False)


def screen_width() -> int | None:
    """Return how many characters a line of the terminal has, None off a terminal, where nothing is wrapped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def show(lines: Iterable[str]) -> None:
    """Print lines; styles only on a terminal that has them, and not where NO_COLOR is set."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    for line in lines:
        click.echo(line, color=False if is_plain else None)


def printable(text: str) -> str:
    """Write what was read from a cluster on one line, with controls escaped: it must not command the terminal."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def bold(text: str, colour: str | None = None) -> str:
    """Write in bold, and in a colour if one is named."""
    return click.style(printable(text), fg=colour, bold=True)


def paragraph(text: str, indent: int) -> list[str]:
    """Write a text under a heading; on a terminal it is wrapped, unless it has a command that is to be pasted."""
    width, text = screen_width(), printable(text)
    if width is None or "`" in text:
        return [" " * indent + text]
    return textwrap.wrap(text, max(width, _NARROWEST), initial_indent=" " * indent, subsequent_indent=" " * indent)


def columns(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    styles: Mapping[str, str] | None = None,
    head_shown: bool = True,
    indent: int = 0,
    width: int | None = None,
) -> list[str]:
    """Lay out a table as kubectl does: left-aligned, no lines; `styles` colours cells by their text.

    Where a line has only `width` characters the last column is wrapped if enough is left for it. No cell is ever cut.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    shown = [head, *rows] if head_shown else rows
    sizes = [max(map(len, column)) for column in zip(*([head, *rows]), strict=True)][:-1]
    left = width - indent - sum(size + _GAP for size in sizes) if width is not None else None
    lines = []
    for place, row in enumerate(shown):
        is_head = head_shown and place == 0
        cells = [_styled(cell, size, styles, is_head=is_head) for cell, size in zip(row, sizes, strict=False)]
        first, *more = _wrapped(row[-1], left)
        last = bold(first) if is_head else first
        lines.append((" " * indent + (" " * _GAP).join([*cells, last])).rstrip())
        lines += [" " * (indent + sum(size + _GAP for size in sizes)) + rest for rest in more]
    return lines


def _styled(cell: str, size: int, styles: Mapping[str, str] | None, *, is_head: bool) -> str:
    blanks = " " * (size - len(cell))
    if is_head:
        return bold(cell) + blanks
    colour = (styles or {}).get(cell)
    return (click.style(cell, fg=colour) if colour else cell) + blanks


def _wrapped(text: str, left: int | None) -> list[str]:
    if left is None or left < _NARROWEST:
        return [text]
    return textwrap.wrap(text, left, break_on_hyphens=False) or [""]


def machine_readable(value: object, form: str) -> str:
    """Write a value as JSON or YAML, without nulls."""
    plain = _without_none(msgspec.to_builtins(value))
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(plain), indent=4).decode()
    import yaml  # noqa: PLC0415 - seldom needed

    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=1000)).rstrip()


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_none(each) for each in value]
    return value


def duration(seconds: float | None) -> str:
    """Write a duration as kubectl writes ages; nothing where there is none."""
    return "" if seconds is None else human_duration(max(0, int(seconds)))


def age(since: datetime | None, now: datetime) -> str:
    """Write how long ago something was; `<unknown>` where nobody says."""
    return duration((now - since).total_seconds()) if since is not None else "<unknown>"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: `1 member`, `2 members`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

"""What commands print: tables and text, in colour and fitted on a terminal, plain and whole elsewhere."""

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PLAIN_WIDTH: Final = 100_000
"""Off a terminal nothing is wrapped or cut."""
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def console() -> "Console":
    """Return a console on stdout as it is now."""
    from rich.console import Console  # noqa: PLC0415 - only commands that draw pay for it

    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(file=sys.stdout, width=PLAIN_WIDTH, no_color=True, color_system=None, highlight=False)


def show(renderable: "RenderableType") -> None:
    """Print something of rich's, without blanks at the ends of lines."""
    screen = console()
    with screen.capture() as captured:
        screen.print(renderable)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()), color=screen.is_terminal or None)


def columns(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, styles: dict[str, str] | None = None, head_shown: bool = True
) -> Any:
    """Lay out a table as kubectl does: left-aligned, no lines; `styles` colours cells by their text.

    On a narrow terminal the last column is wrapped, the others are kept whole.
    """
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="bold", show_edge=False, show_header=head_shown
    )
    for name in head[:-1]:
        table.add_column(name, no_wrap=True, overflow="fold")
    table.add_column(head[-1], overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=(styles or {}).get(cell, "")) for cell in row))
    return table


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
    """Write a duration as kubectl writes ages: the larger unit alone, or two where the first is small."""
    if seconds is None:
        return ""
    left = max(0, int(seconds))
    for place, (size, unit) in enumerate(_UNITS):
        if left >= size or unit == "s":
            number, rest = divmod(left, size)
            if number < 10 and place + 1 < len(_UNITS) and unit != "s":
                smaller, sub_unit = _UNITS[place + 1]
                second = rest // smaller
                return f"{number}{unit}{second}{sub_unit}" if second else f"{number}{unit}"
            return f"{number}{unit}"
    raise AssertionError(seconds)


def age(since: datetime | None, now: datetime) -> str:
    """Write how long ago something was; `<unknown>` where nobody says."""
    return duration((now - since).total_seconds()) if since is not None else "<unknown>"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: `1 member`, `2 members`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

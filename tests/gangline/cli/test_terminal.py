"""What commands print: durations, tables that fit, plain text off a terminal."""

import io
import sys

import pytest
from msgspec import Struct

from gangline.cli.terminal import bold, columns, duration, machine_readable, paragraph, show


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0.2, "0s"), (59, "59s"), (60, "60s"), (121, "2m1s"), (599, "9m59s"), (600, "10m"), (3_700, "61m")),
        *((36_000, "10h"), (90_000, "25h"), (864_000, "10d"), (-5, "0s"), (None, "")),
    ],
    ids=str,
)
def test_durations_are_written_as_kubectl_writes_ages(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_off_a_terminal_nothing_is_cut_coloured_or_padded(capsys: pytest.CaptureFixture[str]) -> None:
    show(columns(("A", "WHY"), [("x", "long " * 100), ("wider", "")], styles={"x": "red"}))

    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "A       WHY"
    assert second == "x       " + ("long " * 100).rstrip()
    assert third == "wider"


def test_on_a_narrow_terminal_only_the_last_column_is_wrapped() -> None:
    lines = columns(("NAME", "WHY"), [("default/large", "2 of 4 members fit together, and more words")], width=50)

    assert lines[1:] == [
        "default/large   2 of 4 members fit together, and",
        "                more words",
    ]


def test_a_terminal_that_is_too_narrow_for_wrapping_gets_whole_cells() -> None:
    lines = columns(("NAME", "WHY"), [("default/large", "2 of 4 members fit together, and more words")], width=40)

    assert lines[1] == "default/large   2 of 4 members fit together, and more words"


HOSTILE = "\x1b]0;owned\x07 a\x9b2J\nb\u202ec"


@pytest.mark.parametrize(
    "lines",
    [
        columns(("NAME",), [(HOSTILE,)]),
        columns(("NAME", "WHY"), [(HOSTILE, "")]),
        paragraph(HOSTILE, 0),
        [bold(HOSTILE)],
    ],
    ids=["last column", "column", "paragraph", "heading"],
)
def test_what_comes_from_a_cluster_commands_no_terminal(lines: list[str]) -> None:
    assert r"\x1b]0;owned\x07 a\x9b2J b\u202ec" in lines[-1]


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


class Thing(Struct):
    name: str
    none: int | None = None
    items: tuple[int, ...] = (1, 2)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '{\n    "name": "x",\n    "items": [\n        1,\n        2\n    ]\n}'),
        ("yaml", "name: x\nitems:\n- 1\n- 2"),
    ],
)
def test_values_are_written_for_programs_without_nulls(form: str, text: str) -> None:
    assert machine_readable(Thing("x"), form) == text


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "xterm")])
def test_styles_are_only_for_terminals_that_have_them(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", screen)

    show([bold("x")])

    assert screen.getvalue() == ("\x1b[1mx\x1b[0m\n" if value == "xterm" else "x\n")

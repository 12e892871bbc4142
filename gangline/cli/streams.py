"""The standard streams of a command: closed ones, a stdout that takes no more, characters that it does not have."""

import io
import os
import sys
from typing import Any, Final

import click

FAILED: Final = 1
INTERRUPTED: Final = 130
"""The exit code of what SIGINT has ended."""
_MODES: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}


def prepare() -> None:
    """Make the standard streams safe to use, whatever the shell has given us. To be called before anything is opened."""
    for name, mode in _MODES.items():
        if getattr(sys, name) is None:  # closed: the first file that is opened would take its place
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _watched(sys.stdout)


def _watched(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
    )


class _Output(io.FileIO):
    """Stdout. Where it takes no more that is said in one line, and the command ends.

    SystemExit passes through task groups and libraries as nothing else does. What a reader that has gone leaves
    unread is no failure of ours: BrokenPipeError stays what it is.
    """

    _has_failed = False

    def write(self, data: Any, /) -> int:
        """Write some of the data and return how much. Raises SystemExit, once: what comes later goes nowhere."""
        if self._has_failed:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._has_failed = True
            click.echo(f"error: stdout cannot be written: {error.strerror}", err=True)
            raise SystemExit(FAILED) from error

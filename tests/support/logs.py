"""Logs of programs that run: an object of JSON a line."""

from pathlib import Path
from typing import Any

import msgspec


def records(log: Path) -> list[dict[str, Any]]:
    """Whatever a program has logged so far, in its order; a line that it has not written to its end is not yet said."""
    whole, _, _ = log.read_bytes().rpartition(b"\n")
    return [msgspec.json.decode(line) for line in whole.splitlines()]

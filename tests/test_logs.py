"""Logs are read while they are written."""

from pathlib import Path

import pytest

from tests.support.logs import records


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"", []),
        (b'{"a":', []),
        (b'{"a":1}\n', [{"a": 1}]),
        (b'{"a":1}\n{"b":', [{"a": 1}]),
        (b'{"a":1}\n{"b":2}', [{"a": 1}]),
        (b'{"a":1}\n{"b":2}\n', [{"a": 1}, {"b": 2}]),
    ],
)
def test_a_line_is_read_when_it_is_whole(written: bytes, said: list[object], tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(written)
    assert records(log) == said

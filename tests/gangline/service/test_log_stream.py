import io
import json
import os
from collections.abc import Iterator

import pytest

from gangline.service.log_stream import LogStream

LINE = "x" * 999 + "\n"
LIMIT_LINES = 100
FLOOD_LINES = 500
"""More than the limit and a pipe together hold."""


class Pipe:
    """A log stream into a pipe of which a test decides when it is read."""

    def __init__(self) -> None:
        read, write = os.pipe()
        self.reader = os.fdopen(read, "rb")
        self._writer = os.fdopen(write, "wb", buffering=0)
        self.stream = LogStream(self._writer, limit_bytes=LIMIT_LINES * len(LINE))

    def flood(self) -> None:
        for _ in range(FLOOD_LINES):
            self.stream.write(LINE)

    def read_flood(self) -> int:
        """Read until every line of a flood is accounted for; return how many came."""
        received = dropped = 0
        while received + dropped < FLOOD_LINES:
            match self.reader.readline():
                case line if line == LINE.encode():
                    received += 1
                case line:
                    notice = json.loads(line)
                    dropped += notice.pop("lines")
                    assert notice == {"event": "log_lines_dropped", "level": "warning"}
        return received

    def close(self) -> None:
        self.reader.close()
        self.stream.drain(10.0)
        self._writer.close()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


def test_lines_are_passed_on_in_order(pipe: Pipe) -> None:
    for number in range(100):
        pipe.stream.write(f"{number}\n")

    assert [pipe.reader.readline() for _ in range(100)] == [b"%d\n" % number for number in range(100)]


def test_a_stuck_reader_stops_nobody_and_is_told_what_it_missed(pipe: Pipe) -> None:
    pipe.flood()

    assert LIMIT_LINES <= pipe.read_flood() < FLOOD_LINES


def test_after_a_flood_lines_are_passed_on_again(pipe: Pipe) -> None:
    pipe.flood()
    pipe.read_flood()
    pipe.stream.drain(10.0)

    pipe.stream.write("again\n")

    assert pipe.reader.readline() == b"again\n"


def test_draining_waits_for_the_last_line() -> None:
    target = io.BytesIO()
    stream = LogStream(target)

    stream.write("\ud800 last\n")
    assert stream.drain(10.0)
    assert target.getvalue() == b"\\ud800 last\n"


def test_draining_gives_up_on_a_stuck_reader(pipe: Pipe) -> None:
    pipe.flood()

    assert not pipe.stream.drain(0.01)
    assert pipe.reader.readline() == LINE.encode()


def test_a_reader_that_has_gone_is_no_error(pipe: Pipe) -> None:
    pipe.reader.close()

    for _ in range(2):
        pipe.stream.write("lost\n")
        assert pipe.stream.drain(10.0)

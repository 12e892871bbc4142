"""A stream for log lines that never makes its writer wait."""

import threading
from collections import deque
from typing import BinaryIO, Final

LIMIT_BYTES: Final = 4 << 20
_LINES_DROPPED: Final = b'{"event":"log_lines_dropped","level":"warning","lines":%d}\n'


class LogStream:
    """Passes lines on to a stream from a thread of its own, in order.

    A reader that is slow or stuck (a full pipe, a terminal on hold) must not stop an event loop. What exceeds
    `limit_bytes` is dropped; when there is room again a line says how much was. Any thread may write.
    """

    def __init__(self, stream: BinaryIO, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._stream = stream
        self._limit_bytes = limit_bytes
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._dropped = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._pass_on, name="log stream", daemon=True).start()

    def write(self, line: str) -> None:
        """Take one whole line with its end."""
        encoded = line.encode(errors="backslashreplace")
        with self._changed:
            if self._waiting_bytes + len(encoded) > self._limit_bytes:
                self._dropped += 1
                return
            self._lines.append(encoded)
            self._waiting_bytes += len(encoded)
            self._changed.notify_all()

    def flush(self) -> None:
        """Do nothing: lines are passed on as soon as the stream takes them."""

    def drain(self, timeout_s: float) -> bool:
        """Wait until no line waits any more, for at most `timeout_s` seconds; tell whether that came."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting_bytes, timeout_s)

    def _pass_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                batch = b"".join(self._lines)
                self._lines.clear()
                dropped, self._dropped = self._dropped, 0
            self._put(batch + (_LINES_DROPPED % dropped if dropped else b""))
            with self._changed:
                self._waiting_bytes -= len(batch)
                self._changed.notify_all()

    def _put(self, batch: bytes) -> None:
        try:
            self._stream.write(batch)
            self._stream.flush()
        except (OSError, ValueError):
            # The reader has gone or the stream is closed: there is nobody left to tell.
            return

"""The clocks of the running process."""

import time
from datetime import UTC, datetime


class MonotonicClock:
    """Seconds that never go back, whatever happens to the time of day."""

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        return time.monotonic()


def utc_now() -> datetime:
    """Return the time of day, for what is written into objects."""
    return datetime.now(UTC)

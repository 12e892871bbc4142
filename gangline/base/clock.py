"""Time as a parameter: seconds that never go back."""

from typing import Protocol


class Clock(Protocol):
    """A source of monotonic seconds."""

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        ...


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def now(self) -> float:
        """Return the time it was last moved to."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward. Raises ValueError for negative seconds."""
        if seconds < 0:
            raise ValueError(f"a monotonic clock does not go back: {seconds} s")
        self._now += seconds

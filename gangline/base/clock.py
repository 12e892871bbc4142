"""Time as a parameter: seconds that never go back."""

from typing import Protocol


class Clock(Protocol):
    """A source of monotonic seconds."""

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        ...

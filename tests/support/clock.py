"""Time that a test decides."""


class ManualClock:
    """A clock that moves only when told to; see `gangline.base.clock.Clock`."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def now(self) -> float:
        """Return the time it was last moved to."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward."""
        self._now += seconds

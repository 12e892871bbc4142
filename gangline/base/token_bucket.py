"""A bound on how often something may be done."""


class TokenBucket:
    """Let through `rate` takes a second on average and at most `burst` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"rate {rate} and burst {burst}: wanted rate > 0 and burst >= 1")
        self._interval_s = 1.0 / rate
        self._slack_s = (burst - 1) * self._interval_s
        self._next_at = float("-inf")

    def take(self, now: float) -> float:
        """Take a token and return 0.0, or take none and return the seconds after which to ask again."""
        wait_s = self._next_at - self._slack_s - now
        if wait_s > 0:
            return wait_s
        self._next_at = max(self._next_at, now) + self._interval_s
        return 0.0

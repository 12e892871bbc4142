"""Growing delays between attempts."""

from msgspec import Struct


class Backoff(Struct, frozen=True):
    """Delays that start near `initial_s`, grow by `factor` with each failure and stay within `limit_s`."""

    initial_s: float
    limit_s: float
    factor: float = 2.0

    def __post_init__(self) -> None:
        if not (0 < self.initial_s <= self.limit_s and self.factor >= 1):
            raise ValueError(f"{self!r}: wanted 0 < initial_s <= limit_s and factor >= 1")

    def delay(self, attempt: int, jitter: float) -> float:
        """Seconds to wait after the attempt-th failure (from 1), between half and all of its ceiling.

        `jitter` in [0, 1) comes from the caller, so that many clients do not return in step.
        """
        return self._ceiling(max(attempt - 1, 0)) * (0.5 + 0.5 * jitter)

    def _ceiling(self, growth: int) -> float:
        try:
            return min(self.initial_s * self.factor**growth, self.limit_s)
        except OverflowError:
            return self.limit_s

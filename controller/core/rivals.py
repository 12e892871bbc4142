"""Another writer of the same status: noticed when it changes our verdict back again and again, and given way to.

A group is given up for `QUIET_S` once its verdict was changed back `REVERSALS` times within `WINDOW_S`. `now` is monotonic.
While members start, two controllers that agree see the counts grow at different moments: that counts alone were changed is
a reversal only where we had said the same before, and insisted.
"""

from typing import Final, Self

from msgspec import Struct

from gangline.contract.meta import is_older
from gangline.contract.podgroup import PodGroupStatus

WINDOW_S: Final = 60.0
REVERSALS: Final = 3
QUIET_S: Final = 600.0


class Verdict(Struct, frozen=True, kw_only=True):
    """What every controller of PodGroups writes, so that two of them can disagree: the phase, or the counts alone."""

    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0

    @classmethod
    def of(cls, status: PodGroupStatus) -> Self:
        """Read it from a status, in which absent is the same as empty or 0."""
        return cls(
            phase=status.phase or "",
            running=status.running or 0,
            succeeded=status.succeeded or 0,
            failed=status.failed or 0,
        )


class _Claim(Struct, kw_only=True):
    """What we wrote last to one PodGroup, and what became of it."""

    verdict: Verdict | None = None
    resource_version: str = ""
    unanswered: frozenset[Verdict] = frozenset()
    disputed: Verdict | None = None
    reversed_at: tuple[float, ...] = ()
    quiet_until: float = float("-inf")


class Rivals:
    """Remembers per PodGroup, by UID, the verdict that we wrote and when another writer changed it back."""

    def __init__(self) -> None:
        self._claims: dict[str, _Claim] = {}

    def __len__(self) -> int:
        """Return of how many PodGroups something is remembered."""
        return len(self._claims)

    def sends(self, uid: str, verdict: Verdict) -> None:
        """Note the verdict that is on its way: the watch may show it before its reply, which may never come."""
        claim = self._claims.setdefault(uid, _Claim())
        claim.unanswered |= {verdict}

    def wrote(self, uid: str, verdict: Verdict, *, resource_version: str) -> None:
        """Note the verdict that the API server has accepted from us, and the version that carries it.

        The PodGroup may have gone before its reply came: then there is nothing to remember.
        """
        claim = self._claims.get(uid)
        if claim is not None:
            claim.verdict, claim.unanswered, claim.resource_version = verdict, frozenset(), resource_version

    def observed(self, uid: str, verdict: Verdict, *, resource_version: str, now: float) -> bool:
        """Take note of a version of the PodGroup; say whether this one made us give way."""
        claim = self._claims.get(uid)
        if claim is None or claim.verdict is None or verdict in {claim.verdict, *claim.unanswered}:
            return False
        if is_older(resource_version, claim.resource_version):
            return False  # the watch may still deliver versions from before our write
        ours, before = claim.verdict, claim.disputed
        claim.verdict, claim.disputed = None, ours
        if verdict.phase == ours.phase and ours != before:
            return False
        claim.reversed_at = (*(at for at in claim.reversed_at if now - at < WINDOW_S), now)
        if len(claim.reversed_at) < REVERSALS:
            return False
        claim.reversed_at, claim.quiet_until = (), now + QUIET_S
        return True

    def quiet_s(self, uid: str, now: float) -> float:
        """Return for how long this PodGroup is still left to the other writer; 0 when it is ours to write."""
        claim = self._claims.get(uid)
        return max(0.0, claim.quiet_until - now) if claim is not None else 0.0

    def quiet_count(self, now: float) -> int:
        """Return how many PodGroups are left to another writer now."""
        return sum(claim.quiet_until > now for claim in self._claims.values())

    def forget(self, uid: str) -> None:
        """Drop what is known of a PodGroup that is gone."""
        self._claims.pop(uid, None)

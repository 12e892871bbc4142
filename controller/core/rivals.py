"""Another writer of the same status: noticed when it changes our phase back again and again, and given way to.

A group is given up for `QUIET_S` once its phase was changed back `REVERSALS` times within `WINDOW_S`. `now` is monotonic.
"""

from typing import Final

from msgspec import Struct

WINDOW_S: Final = 60.0
REVERSALS: Final = 3
QUIET_S: Final = 600.0


class _Claim(Struct, kw_only=True):
    """What we wrote last to one PodGroup, and what became of it."""

    phase: str | None = None
    resource_version: str = ""
    sent: str | None = None
    reversed_at: tuple[float, ...] = ()
    quiet_until: float = float("-inf")


class Rivals:
    """Remembers per PodGroup, by UID, the phase that we wrote and when another writer changed it back."""

    def __init__(self) -> None:
        self._claims: dict[str, _Claim] = {}

    def __len__(self) -> int:
        """Return of how many PodGroups something is remembered."""
        return len(self._claims)

    def sends(self, uid: str, *, phase: str) -> None:
        """Note the phase that is on its way: the watch may show it before the reply arrives."""
        self._claims.setdefault(uid, _Claim()).sent = phase

    def wrote(self, uid: str, *, phase: str, resource_version: str) -> None:
        """Note the phase that the API server has accepted from us, and the version that carries it.

        The PodGroup may have gone before its reply came: then there is nothing to remember.
        """
        claim = self._claims.get(uid)
        if claim is not None:
            claim.phase, claim.sent, claim.resource_version = phase, None, resource_version

    def observed(self, uid: str, *, phase: str | None, resource_version: str, now: float) -> bool:
        """Take note of a version of the PodGroup; say whether this one made us give way."""
        claim = self._claims.get(uid)
        if claim is None or claim.phase is None or phase in {claim.phase, claim.sent}:
            return False
        if _is_older(resource_version, claim.resource_version):
            return False
        claim.phase = None
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


def _is_older(version: str, than: str) -> bool:
    """Compare versions of one object: the watch may still deliver those from before our write."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)

"""Setbacks: what refused binds mean for the plans to come.

A gang of which a bind was refused is decided again after a while, longer each time. A pod and a node that the API server
does not let together are kept apart for a while.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gangline.base.backoff import Backoff
from gangline.contract.membership import GangKey
from scheduler.core.deadlines import Alarm, Deadlines, RetryDue
from scheduler.core.gang import Gang, Standing
from scheduler.core.gangs import Gangs
from scheduler.core.model.member import Member, Said
from scheduler.core.model.member_class import ClassId

_RETRY: Final = Backoff(initial_s=2.0, limit_s=120.0)
_KEEP_APART: Final = Backoff(initial_s=10.0, limit_s=600.0)


class Setback(Struct, frozen=True):
    """The last plan of a gang came to nothing. `said` is None where nothing is wrong with the gang."""

    until: float
    failures: int
    counted_to: int
    said: Said | None


class _Apart(Struct, frozen=True):
    until: float
    refusals: int


class Setbacks:
    """Remembers refusals: by gang, and by pod and node."""

    def __init__(self, gangs: Gangs, deadlines: Deadlines[Alarm]) -> None:
        self._gangs = gangs
        self._deadlines = deadlines
        self._by_gang: dict[GangKey, Setback] = {}
        self._apart: dict[GangKey, dict[tuple[str, str], _Apart]] = {}

    def note(self, key: GangKey, attempt: int, last_attempt: int, said: Said | None, now: float) -> None:
        """Take in a refused attempt: the first of a plan delays the gang's next decision.

        Attempts up to `last_attempt`, the last that was made of any gang, are of plans that are no news afterwards.
        """
        setback = self._by_gang.get(key)
        if setback is not None and attempt <= setback.counted_to:
            return
        failures = setback.failures + 1 if setback is not None else 1
        until = now + _RETRY.delay(failures, 0.0)
        self._by_gang[key] = Setback(until, failures, last_attempt, said)
        self._deadlines.set(RetryDue(key), until)
        self._gangs.touch(key)

    def end(self, key: GangKey) -> None:
        """Take in that a bind of the gang was done."""
        self._by_gang.pop(key, None)

    def group_observed(self, key: GangKey) -> None:
        """Let a plan refused as stale be made again at once: a newer PodGroup is known."""
        setback = self._by_gang.get(key)
        if setback is not None and setback.said is None:
            self._by_gang[key] = replace(setback, until=0.0)
            self._gangs.touch(key)

    def of_gang(self, key: GangKey, now: float) -> Setback | None:
        """Return the setback that still delays a gang."""
        setback = self._by_gang.get(key)
        return setback if setback is not None and now < setback.until else None

    def last_refusal(self, key: GangKey) -> str:
        """Return what the API server said when it last refused a bind of this gang, `""` if nothing is the matter."""
        setback = self._by_gang.get(key)
        return setback.said.message if setback is not None and setback.said is not None else ""

    def keep_apart(self, member: Member, node: str, now: float) -> None:
        """Let a pod not go to this node for a while."""
        pairs = self._apart.setdefault(member.gang, {})
        known = pairs.get((member.uid, node))
        refusals = known.refusals + 1 if known is not None else 1
        pairs[(member.uid, node)] = _Apart(now + _KEEP_APART.delay(refusals, 0.0), refusals)

    def kept_apart(self, gang: Gang, now: float) -> tuple[tuple[ClassId, str], ...]:
        """Return the (class, node) pairs that a waiting member was refused a moment ago."""
        pairs = self._apart.get(gang.key, {})
        in_force = {
            (gang.members[uid].class_id, node)
            for (uid, node), apart in pairs.items()
            if now < apart.until and gang.standings.get(uid) is Standing.WAITING
        }
        return tuple(sorted(in_force))

    def apart_until(self, gang: Gang, now: float) -> float | None:
        """Return when the next pair may be tried again."""
        pairs = self._apart.get(gang.key, {})
        return min((apart.until for apart in pairs.values() if now < apart.until), default=None)

    def forget_pod(self, member: Member) -> None:
        """Forget a pod that is gone."""
        pairs = self._apart.get(member.gang, {})
        for pair in [pair for pair in pairs if pair[0] == member.uid]:
            del pairs[pair]

    def forget_gang(self, key: GangKey) -> None:
        """Forget a gang that has no member any more."""
        self._by_gang.pop(key, None)
        self._apart.pop(key, None)
        self._deadlines.cancel(RetryDue(key))

"""Holds: the room of a lost member is kept for its gang for a while, so that the gang can be repaired."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from gangline.contract.membership import GangKey
from scheduler.core.cache import Cache
from scheduler.core.deadlines import Alarm, Deadlines, HoldOver
from scheduler.core.gang_rule import lacks_quorum
from scheduler.core.gangs import Gangs
from scheduler.core.model.member import Member
from scheduler.core.model.member_class import ClassTable
from scheduler.core.placement import Hold

HOLD_S: Final = 30.0
"""How long the room of a lost member is held (design, gang rule)."""


class _Kept(Struct, frozen=True):
    gang: GangKey
    hold: Hold
    until: float


class Holds:
    """Rooms of lost members, by the lost pod's UID.

    A hold counts while its gang has started and is below quorum, and no more of them than members are missing,
    the newest first; against gangs of equal or lower priority.
    """

    def __init__(self, cache: Cache, gangs: Gangs, classes: ClassTable, deadlines: Deadlines[Alarm]) -> None:
        self._cache = cache
        self._gangs = gangs
        self._classes = classes
        self._deadlines = deadlines
        self._kept: dict[str, _Kept] = {}
        self._of_gang: dict[GangKey, dict[str, None]] = {}
        self._in_force: dict[GangKey, tuple[int, tuple[Hold, ...]]] = {}

    def keep(self, lost: Member, node: str, now: float) -> None:
        """Hold the room that a lost member had."""
        self.end(lost.uid)
        class_id = self._classes.acquire(self._classes[lost.class_id])
        self._kept[lost.uid] = _Kept(lost.gang, Hold(node, class_id), now + HOLD_S)
        self._of_gang.setdefault(lost.gang, {})[lost.uid] = None
        self._deadlines.set(HoldOver(lost.uid), now + HOLD_S)
        self.refresh(lost.gang)

    def end(self, uid: str) -> None:
        """Hold a room no more; one that is not held is no error."""
        kept = self._kept.pop(uid, None)
        if kept is None:
            return
        self._deadlines.cancel(HoldOver(uid))
        of_gang = self._of_gang[kept.gang]
        del of_gang[uid]
        if not of_gang:
            del self._of_gang[kept.gang]
        self.refresh(kept.gang)
        self._cache.note_room(self._classes[kept.hold.class_id].requests)
        self._classes.release(kept.hold.class_id)

    def use(self, gang: GangKey, member: Member, node: str) -> None:
        """End the hold that a replacement takes: of its class, on its node if there is one."""
        uids = list(self._of_gang.get(gang, ()))
        alike = [uid for uid in uids if self._kept[uid].hold.class_id == member.class_id] or uids
        there = [uid for uid in alike if self._kept[uid].hold.node == node] or alike
        if there:
            self.end(there[0])

    def refresh(self, key: GangKey) -> None:
        """Find anew which holds of a gang are in force; whatever is no longer held is noted as room."""
        before = self._in_force.pop(key, (0, ()))
        now = self._count(key)
        if now[1]:
            self._in_force[key] = now
        if before != now:
            for hold in before[1]:
                self._cache.note_room(self._classes[hold.class_id].requests)

    def _count(self, key: GangKey) -> tuple[int, tuple[Hold, ...]]:
        gang = self._gangs.by_key.get(key)
        uids = self._of_gang.get(key)
        if gang is None or not uids:
            return (0, ())
        missing = lacks_quorum(gang, self._gangs.group_of(key))
        newest_first = list(reversed(uids))[:missing]
        return (self._gangs.priority_of(gang), tuple(self._kept[uid].hold for uid in newest_first))

    def kept_for(self, key: GangKey) -> list[tuple[str, float]]:
        """Return node and end (monotonic, in seconds) of each room that is held for a gang."""
        _, in_force = self._in_force.get(key, (0, ()))
        kept = [self._kept[uid] for uid in reversed(self._of_gang.get(key, ()))]
        return [(one.hold.node, one.until) for one in kept[: len(in_force)]]

    def against(self, gang: GangKey, priority: int) -> tuple[Hold, ...]:
        """Return the rooms that a gang of this priority must leave alone."""
        return tuple(hold for _, hold in self._against(gang, priority))

    def holders_against(self, gang: GangKey, priority: int) -> list[GangKey]:
        """Name the gangs for which rooms are held against this one."""
        return sorted({key for key, _ in self._against(gang, priority)})

    def _against(self, gang: GangKey, priority: int) -> Iterator[tuple[GangKey, Hold]]:
        for key, (held_priority, holds) in self._in_force.items():
            if key != gang and priority <= held_priority:
                yield from ((key, hold) for hold in holds if self._cache.has_node(hold.node))

    def __len__(self) -> int:
        return len(self._kept)

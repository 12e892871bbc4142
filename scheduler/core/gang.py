"""A gang: its members, how each of them stands to it, and the sums over them.

The sums are kept as members come and go, so that a gang of any size costs the same per change.
"""

from collections import Counter
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from gangline.contract.counting import Counts, count, current_run, need, quorum
from gangline.contract.membership import Budgeted, GangKey, GangKind, Shadow, newest_min_member
from scheduler.core.cache import Intent, IntentState
from scheduler.core.model.group import GroupFacts
from scheduler.core.model.member import Member
from scheduler.core.model.member_class import ClassId
from scheduler.core.run import Run, tally

NO_GROUP: Final = "no PodGroup"
"""By this the title of a gang that exists without a PodGroup is known."""


class Standing(IntEnum):
    """How a pod stands to its gang."""

    DELETING = 0
    """In no figure, whatever its phase."""
    GATED = 1
    FOREIGN = 2
    """Waits for a scheduler that is none of ours."""
    LOST = 3
    """The API server says that there is no such pod."""
    UNPLACEABLE = 4
    """Waits, and something is wrong with the pod itself."""
    WAITING = 5
    SENT = 6
    """A bind was sent; whether it was done is not known."""
    BOUND = 7
    FINISHED = 8
    """Succeeded or failed, in whichever run."""


_UNFINISHED = (Standing.UNPLACEABLE, Standing.WAITING, Standing.SENT, Standing.BOUND)


def standing_of(member: Member, intent: Intent | None) -> Standing:
    """Say how a pod stands to its gang."""
    if member.deleting:
        return Standing.DELETING
    if member.gated:
        return Standing.GATED
    if not (member.ours or member.node):
        return Standing.FOREIGN
    if member.finished:
        return Standing.FINISHED
    if member.node:
        return Standing.BOUND
    if intent is not None:
        return _standing_of_intent(intent.state)
    return Standing.WAITING if member.template.problem is None else Standing.UNPLACEABLE


def _standing_of_intent(state: IntentState) -> Standing:
    match state:
        case IntentState.SENT | IntentState.UNKNOWN:
            return Standing.SENT
        case IntentState.CONFIRMED | IntentState.ELSEWHERE:
            return Standing.BOUND
        case IntentState.LOST:
            return Standing.LOST


class Gang:
    """One gang: its members with their standings, and the sums over them."""

    def __init__(self, key: GangKey) -> None:
        self.key = key
        self.members: dict[str, Member] = {}
        self.standings: dict[str, Standing] = {}
        self.waiting: dict[ClassId, dict[str, Member]] = {}
        self.unplaceable: dict[str, Member] = {}
        self._sizes = [0] * len(Standing)
        self._priorities: Counter[int] = Counter()
        self._waiting_since: Counter[float] = Counter()
        self._claims: Counter[tuple[float, int]] = Counter()
        self._owners: Counter[tuple[str, str]] = Counter()
        self._run = Run()

    def put(self, member: Member, standing: Standing) -> bool:
        """Set a member and its standing; True when that may change what is decided of the gang."""
        old = self.members.get(member.uid)
        if old is not None and self.standings[member.uid] is standing and _counts_alike(old, member, standing):
            self._swap(member, standing)
            return False
        self.take_out(member.uid)
        self.members[member.uid] = member
        self.standings[member.uid] = standing
        self._tally(member, standing, 1)
        if standing is Standing.WAITING:
            self.waiting.setdefault(member.class_id, {})[member.uid] = member
        elif standing is Standing.UNPLACEABLE:
            self.unplaceable[member.uid] = member
        elif standing is Standing.FINISHED:
            self._run.put_finished(member)
        return True

    def take_out(self, uid: str) -> bool:
        """Forget a member; True when there was one."""
        member = self.members.pop(uid, None)
        if member is None:
            return False
        standing = self.standings.pop(uid)
        self._tally(member, standing, -1)
        if standing is Standing.WAITING:
            of_class = self.waiting[member.class_id]
            del of_class[uid]
            if not of_class:
                del self.waiting[member.class_id]
        elif standing is Standing.FINISHED:
            self._run.take_out_finished(member)
        self.unplaceable.pop(uid, None)
        return True

    def _swap(self, member: Member, standing: Standing) -> None:
        """Replace a member by a version that counts alike."""
        self.members[member.uid] = member
        if standing is Standing.WAITING:
            self.waiting[member.class_id][member.uid] = member
        elif standing is Standing.UNPLACEABLE:
            self.unplaceable[member.uid] = member

    def _tally(self, member: Member, standing: Standing, sign: int) -> None:
        self._sizes[standing] += sign
        if standing in _UNFINISHED:
            tally(self._priorities, member.priority, sign)
            self._run.tally_unfinished(member, sign)
        if standing is Standing.WAITING:
            tally(self._waiting_since, member.created_s, sign)
            if member.template.owner is not None:
                tally(self._owners, member.template.owner, sign)
        claim = _claim(member)
        if claim is not None and standing not in (Standing.DELETING, Standing.FINISHED):
            tally(self._claims, (member.created_s, claim), sign)

    def size(self, *standings: Standing) -> int:
        """How many members stand so."""
        return sum(self._sizes[standing] for standing in standings)

    @property
    def claimed_min_member(self) -> int | None:
        """`minMember` as the pods themselves say it: the newest one's; None where none says it."""
        return newest_min_member(self._claims) if self._claims else None

    @property
    def priorities(self) -> list[int]:
        """The different priorities of the unfinished members, lowest first."""
        return sorted(self._priorities)

    @property
    def owners(self) -> list[tuple[str, str]]:
        """(kind, name) of the owners of waiting members, sorted."""
        return sorted(self._owners)

    @property
    def oldest_waiting_s(self) -> float:
        """Creation of the oldest waiting member, 0 without one."""
        return min(self._waiting_since, default=0.0)

    def waiting_no_younger_than(self, created_s: float) -> int:
        """How many waiting members were created by then."""
        return sum(number for since, number in self._waiting_since.items() if since <= created_s)

    @property
    def counts(self) -> Counts:
        """Counts of the current run; a member whose bind was sent counts as bound."""
        bound = self.size(Standing.BOUND, Standing.SENT)
        unfinished = self.size(*_UNFINISHED)
        return Counts(unfinished=unfinished, bound=bound, succeeded=self.succeeded)

    @property
    def succeeded(self) -> int:
        """How many members of the current run have succeeded."""
        return self._run.succeeded

    def all_waiting(self) -> Iterable[Member]:
        """Return the waiting members, class by class."""
        for of_class in self.waiting.values():
            yield from of_class.values()

    @property
    def first(self) -> Member:
        """The member that was seen first."""
        return next(iter(self.members.values()))

    def validate(self) -> list[str]:
        """Say where the sums differ from a count from scratch."""
        fresh = Gang(self.key)
        for uid, member in self.members.items():
            fresh.put(member, self.standings[uid])
        known = (member for uid, member in self.members.items() if self.standings[uid] is not Standing.LOST)
        succeeded = count(current_run(known)).succeeded
        mine = (self._sizes, self._priorities, self._waiting_since, self._claims, self.counts, self.succeeded)
        its = (fresh._sizes, fresh._priorities, fresh._waiting_since, fresh._claims, fresh.counts, succeeded)
        return [] if mine == its else [f"gang {self.key}: sums are {mine!r}, counted anew {its!r}"]


def title(key: GangKey) -> str:
    """Name a gang for users: as they named it, or after the owner of its pods."""
    match key.kind:
        case GangKind.POD_GROUP | GangKind.POD:
            return f"{key.namespace}/{key.name}"
        case GangKind.SHADOW | GangKind.BUDGET:
            kind, name, *_ = key.name.split("/")
            return f"{key.namespace}/{name} ({kind}, {NO_GROUP})"


def min_member_of(gang: Gang, group: GroupFacts | None) -> int:
    """How many members make the quorum."""
    if gang.key.kind is GangKind.POD_GROUP:
        return quorum(group.min_member if group is not None else None)
    return quorum(gang.claimed_min_member)


def missing_of(gang: Gang, group: GroupFacts | None) -> int:
    """How many more members must be bound for the quorum; a member whose bind was sent counts as bound."""
    return need(min_member_of(gang, group), gang.counts)


def _counts_alike(old: Member, new: Member, standing: Standing) -> bool:
    if old.template is not new.template or old.created_s != new.created_s:
        return False
    return standing is not Standing.FINISHED or (old.phase, old.finished_s) == (new.phase, new.finished_s)


def _claim(member: Member) -> int | None:
    match member.template.link:
        case Shadow(min_member=min_member):
            return min_member
        case Budgeted(min_available=min_available):
            return min_available
        case _:
            return None

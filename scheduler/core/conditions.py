"""Conditions: what waiting pods say, and when it is written.

Each gang has one thing to say, and all its waiting members say the same; a pod with a problem of its own says that.
A change of reason is written at once, a change of numbers now and then, and nothing that the pod says already.
"""

from collections import Counter
from enum import Enum, auto
from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from gangline.base.backoff import Backoff
from gangline.contract.membership import GangKey
from gangline.contract.ordering import Turn
from scheduler.core.deadlines import Alarm, Deadlines, SpeakDue, WriteDue
from scheduler.core.events import ConditionAnswered, ConditionOutcome
from scheduler.core.gang import Gang, Standing
from scheduler.core.gangs import Gangs
from scheduler.core.instructions import Announce, Instruction, WriteCondition
from scheduler.core.model.member import Member, Said
from scheduler.core.reasons import Reason

SETTLE_S: Final = 2.0
"""How long a reason that often passes by itself must last before it is written."""
NUMBERS_EVERY_S: Final = 30.0
"""A change of numbers alone is written at most this often per gang."""
CURE_AFTER_S: Final = 30.0
"""How long a gang must be incomplete before its owner is told what to change."""
_PASSING: Final = frozenset(
    {Reason.GANG_INCOMPLETE, Reason.POD_GROUP_NOT_FOUND, Reason.SCHEDULER_MISMATCH, Reason.BIND_FAILED}
)
_AGAIN: Final = Backoff(initial_s=2.0, limit_s=600.0)


class _Voice(Struct):
    """What a gang wants to say, since when for this reason, and what was given out last."""

    wanted: Said | None = None
    cure: Said | None = None
    since: float = 0.0
    turn: Turn | None = None
    """What the members wait for a turn as; None where they wait for something other than room."""
    published: Said | None = None
    published_turn: Turn | None = None
    published_at: float = 0.0
    unheard: bool = False
    """Members may have come while nothing could be said."""


class _Progress(Enum):
    FLYING = auto()
    WRITTEN = auto()
    REFUSED = auto()
    """Another version of the pod makes it worth another try at once; should none come, it is tried again in time."""
    FAILED = auto()


class _Write(Struct, frozen=True):
    """The last write of a pod's condition; `version` is the pod's that it was made for."""

    attempt: int
    version: int | str
    said: Said
    progress: _Progress
    at: float
    failures: int


class Conditions:
    """Turns verdicts on gangs into condition writes and Kubernetes Events."""

    def __init__(self, gangs: Gangs, deadlines: Deadlines[Alarm], instructions: list[Instruction]) -> None:
        self._gangs = gangs
        self._deadlines = deadlines
        self._instructions = instructions
        self._voices: dict[GangKey, _Voice] = {}
        self._writes: dict[str, _Write] = {}
        self._attempts = 0
        self._to_speak: dict[GangKey, None] = {}
        self._to_check: dict[str, None] = {}

    def say(self, key: GangKey, said: Said, now: float, cure: Said | None = None, turn: Turn | None = None) -> None:
        """Let the waiting members of a gang say this; once it has lasted, the cure instead.

        `turn` is what they wait as: a gang whose quorum has become a repair has something new to say.
        """
        voice = self._voices.setdefault(key, _Voice())
        if voice.wanted is None or voice.wanted.reason != said.reason:
            voice.since = now
            voice.unheard = True
        voice.wanted, voice.cure, voice.turn = said, cure, turn
        self._to_speak[key] = None

    def hush(self, key: GangKey) -> None:
        """Let the members say nothing new until something is known again."""
        voice = self._voices.get(key)
        if voice is not None:
            voice.wanted = None

    def forget_gang(self, key: GangKey) -> None:
        """Forget a gang that waits no more."""
        self._voices.pop(key, None)
        self._to_speak.pop(key, None)
        self._deadlines.cancel(SpeakDue(key))

    def said_of(self, key: GangKey) -> Said | None:
        """Return what the gang would say right now, written or not."""
        voice = self._voices.get(key)
        if voice is None or voice.wanted is None:
            return None
        return voice.cure if voice.cure is not None and voice.cure == voice.published else voice.wanted

    def count_reasons(self) -> dict[str, int]:
        """Count the gangs that would say each reason right now."""
        reasons = (voice.wanted.reason for voice in self._voices.values() if voice.wanted is not None)
        return Counter(reasons)

    def pod_changed(self, uid: str) -> None:
        """See whether the pod must say something else: a version of it was observed, or its standing has changed."""
        self._to_check[uid] = None

    def pod_settled(self, uid: str) -> None:
        """Forget a pod that is bound, finished or gone: nothing is ever written to it again."""
        if self._writes.pop(uid, None) is not None:
            self._deadlines.cancel(WriteDue(uid))

    def speak_due(self, key: GangKey) -> None:
        """Let a gang say what it could not say before."""
        self._to_speak[key] = None

    def on_answered(self, result: ConditionAnswered, now: float) -> None:
        """Take in how a write has ended."""
        write = self._writes.get(result.uid)
        if write is None or write.attempt != result.attempt:
            return
        self._to_check[result.uid] = None
        match result.outcome:
            case ConditionOutcome.WRITTEN:
                self._writes[result.uid] = replace(write, progress=_Progress.WRITTEN, failures=0)
            case ConditionOutcome.CONFLICT | ConditionOutcome.LOST:
                self._writes[result.uid] = _put_off(write, _Progress.REFUSED, now)
            case ConditionOutcome.DROPPED:
                del self._writes[result.uid]
            case ConditionOutcome.FAILED:
                self._writes[result.uid] = _put_off(write, _Progress.FAILED, now)
            case _:
                assert_never(result.outcome)

    def flush(self, now: float) -> None:
        """Order every write that is due."""
        for key in self._to_speak:
            self._speak(key, now)
        self._to_speak.clear()
        for uid in self._to_check:
            self._check(uid, now)
        self._to_check.clear()

    def _speak(self, key: GangKey, now: float) -> None:
        voice, gang = self._voices.get(key), self._gangs.by_key.get(key)
        if voice is None or gang is None or voice.wanted is None:
            return
        if voice.unheard:
            self._to_check.update((member.uid, None) for member in gang.all_waiting())
            voice.unheard = False
        wanted = self._with_cure(key, gang, voice, voice.wanted, now)
        if wanted == voice.published:
            return
        due_at = self._due_at(gang, voice, wanted)
        if due_at > now:
            self._deadlines.bring_forward(SpeakDue(key), due_at)
            return
        self._publish(gang, voice, wanted, now)

    def _with_cure(self, key: GangKey, gang: Gang, voice: _Voice, wanted: Said, now: float) -> Said:
        """After a restart the cure goes on being said by those who have said it."""
        if voice.cure is None:
            return wanted
        due_at = voice.since + CURE_AFTER_S
        if now >= due_at or _first_says(gang, voice.cure):
            return voice.cure
        self._deadlines.bring_forward(SpeakDue(key), due_at)
        return wanted

    def _due_at(self, gang: Gang, voice: _Voice, wanted: Said) -> float:
        says_the_same = voice.published is not None and voice.published.reason == wanted.reason
        if says_the_same and voice.published_turn is voice.turn:
            return voice.published_at + NUMBERS_EVERY_S
        if wanted.reason in _PASSING and not _first_says(gang, wanted):
            return voice.since + SETTLE_S
        return voice.since

    def _publish(self, gang: Gang, voice: _Voice, wanted: Said, now: float) -> None:
        known = voice.published is not None and voice.published.reason == wanted.reason
        voice.published, voice.published_turn, voice.published_at = wanted, voice.turn, now
        waiting = list(gang.all_waiting())
        if not known and any(_is_news(member, wanted) for member in waiting):
            self._announce_gang(gang, wanted)
        self._to_check.update((member.uid, None) for member in waiting)

    def _announce_gang(self, gang: Gang, said: Said) -> None:
        """Record one Event on the PodGroup for each change of reason; each pod that writes it records its own."""
        group = self._gangs.group_of(gang.key)
        if group is not None:
            self._record("PodGroup", *group.key, group.uid, said)

    def _record(self, kind: str, namespace: str, name: str, uid: str, said: Said) -> None:
        reason = "FailedScheduling" if said.reason == Reason.UNSCHEDULABLE else said.reason
        self._instructions.append(
            Announce(
                kind=kind,
                namespace=namespace,
                name=name,
                uid=uid,
                warning=True,
                reason=reason,
                action="Scheduling",
                note=said.message,
            )
        )

    def _check(self, uid: str, now: float) -> None:
        """Write what the pod is to say, unless it says it, or a write is on its way or not worth it."""
        gang = self._gangs.gang_of(uid)
        if gang is None:
            return
        member = gang.members[uid]
        target = self._target(gang, member)
        if target is None:
            return
        write = self._writes.get(uid)
        if write is None:
            if member.said != target:
                self._write(member, target, now, 0)
            return
        self._check_after(write, member, target, now)

    def _check_after(self, write: _Write, member: Member, target: Said, now: float) -> None:
        same_version = write.version == member.resource_version
        said = write.said if write.progress is _Progress.WRITTEN and same_version else member.said
        if write.progress is _Progress.FLYING or said == target:
            return
        put_off = write.progress is _Progress.FAILED or (write.progress is _Progress.REFUSED and same_version)
        if put_off and now < write.at:
            self._deadlines.set(WriteDue(member.uid), write.at)
            return
        again_at = write.at + NUMBERS_EVERY_S
        if write.progress is _Progress.WRITTEN and write.said == target and now < again_at:
            self._deadlines.set(WriteDue(member.uid), again_at)
            return
        self._write(member, target, now, write.failures)

    def _target(self, gang: Gang, member: Member) -> Said | None:
        standing = gang.standings[member.uid]
        if standing is Standing.UNPLACEABLE:
            return member.template.problem
        voice = self._voices.get(gang.key)
        if standing is not Standing.WAITING or voice is None or voice.wanted is None or voice.published is None:
            return None
        return voice.published if voice.published.reason == voice.wanted.reason else None

    def _write(self, member: Member, said: Said, now: float, failures: int) -> None:
        self._attempts += 1
        last = self._writes.get(member.uid)
        if _is_news(member, said) and (last is None or last.said.reason != said.reason):
            self._record("Pod", *member.key, member.uid, said)
        self._writes[member.uid] = _Write(
            self._attempts, member.resource_version, said, _Progress.FLYING, now, failures
        )
        namespace, name = member.key
        self._instructions.append(
            WriteCondition(
                uid=member.uid,
                namespace=namespace,
                name=name,
                resource_version=str(member.resource_version),
                attempt=self._attempts,
                reason=said.reason,
                message=said.message,
                transition=member.said is None,
                observed_generation=member.generation,
            )
        )


def _is_news(member: Member, said: Said) -> bool:
    """Tell whether the pod has given another reason so far, or none."""
    return member.said is None or member.said.reason != said.reason


def _first_says(gang: Gang, said: Said) -> bool:
    first = next(iter(gang.all_waiting()), None)
    return first is not None and first.said == said


def _put_off(write: _Write, progress: _Progress, now: float) -> _Write:
    failures = write.failures + 1
    return replace(write, progress=progress, failures=failures, at=now + _AGAIN.delay(failures, 0.0))

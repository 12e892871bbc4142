"""Binding: from a plan to `BindGang`, and from its results to what is intended next.

An intent ends by an observation or by a definite refusal, never by time: a deadline only reads the pod again.

    Sent --Bound--> Confirmed --observed--> (over)
      |--Unknown--> Unknown --read: there--> Confirmed
      |                |------read: nowhere--> Sent again, to the same node
      |--Foreign--> Elsewhere --observed--> (over)
      |--Lost-----> Lost --gone--> (over)
      |--Forbidden, Stale, Dropped--> (over): the gang is decided again after a while
      |--Overtaken--> (over): the gang is decided again at once
"""

from collections.abc import Sequence
from typing import Final, assert_never

from msgspec.structs import replace

from gangline.base.backoff import Backoff
from gangline.contract.membership import GangKind
from scheduler.core.cache import Cache, Intent, IntentState
from scheduler.core.deadlines import Alarm, Deadlines, ReadDue
from scheduler.core.events import Bound, PodRead, PodReadFailed, Refusal, Refused, Unknown
from scheduler.core.gang import Gang, Standing, missing_of, title
from scheduler.core.gang_rule import problem_of_group
from scheduler.core.gangs import Gangs
from scheduler.core.instructions import Announce, Bind, BindGang, GroupVersion, Instruction, ReadPod
from scheduler.core.model.group import GroupFacts
from scheduler.core.model.member import Member, Said
from scheduler.core.reasons import Reason
from scheduler.core.setbacks import Setbacks

OBSERVE_WITHIN_S: Final = 30.0
"""A bind that was confirmed and is not observed by then is read again."""
_READ: Final = Backoff(initial_s=2.0, limit_s=120.0)


class Binding:
    """Sends plans and follows each bind to its end; what a refusal means for the next plan is told to `setbacks`."""

    def __init__(
        self,
        *,
        cache: Cache,
        gangs: Gangs,
        setbacks: Setbacks,
        deadlines: Deadlines[Alarm],
        instructions: list[Instruction],
    ) -> None:
        self._cache = cache
        self._gangs = gangs
        self._setbacks = setbacks
        self._deadlines = deadlines
        self._instructions = instructions
        self._attempts = 0

    def send(self, gang: Gang, places: Sequence[tuple[Member, str]]) -> None:
        """Assume that these members are on these nodes, and order their binds."""
        nothing_bound = not gang.size(Standing.BOUND)
        group = self._gangs.group_of(gang.key)
        confirm = _version_to_confirm(gang, group) if nothing_bound else None
        binds = tuple(self._assume(member, node) for member, node in places)
        self._instructions.append(
            BindGang(gang=str(gang.key), binds=binds, nothing_bound=nothing_bound, confirm=confirm)
        )

    def _assume(self, member: Member, node: str, reads: int = 0) -> Bind:
        self._attempts += 1
        self._intend(member, Intent(node, self._attempts, reads=reads))
        namespace, name = member.key
        return Bind(uid=member.uid, namespace=namespace, name=name, node=node, attempt=self._attempts)

    def _intend(self, member: Member, intent: Intent | None) -> None:
        self._cache.intend(member.uid, intent)
        self._gangs.put(member, self._cache.intents.get(member.uid))

    def on_bound(self, result: Bound, now: float) -> None:
        """Take in that the bind was done."""
        found = self._find(result.uid, result.attempt)
        if found is not None:
            self._confirm(*found, now)

    def on_refused(self, result: Refused, now: float) -> None:
        """Take in that the bind was definitely not done."""
        found = self._find(result.uid, result.attempt)
        if found is None:
            return
        member, intent = found
        match result.refusal:
            case Refusal.FOREIGN:
                self._set_aside(member, intent, IntentState.ELSEWHERE, now)
            case Refusal.LOST:
                self._set_aside(member, intent, IntentState.LOST, now)
            case Refusal.FORBIDDEN:
                self._setbacks.keep_apart(member, intent.node, now)
                self._set_back(member, intent, _refusal_text(member, intent, result), now)
            case Refusal.DROPPED:
                self._set_back(member, intent, _refusal_text(member, intent, result), now)
            case Refusal.STALE:
                self._set_back(member, intent, None, now)
            case Refusal.OVERTAKEN:
                self._end(member)
            case _:
                assert_never(result.refusal)

    def on_unknown(self, result: Unknown, now: float) -> None:
        """Keep a bind charged that may have been done, and read the pod again."""
        found = self._find(result.uid, result.attempt)
        if found is None:
            return
        member, intent = found
        self._intend(member, replace(intent, state=IntentState.UNKNOWN))
        self._read_later(member.uid, intent.reads, now)

    def on_pod_read(self, result: PodRead, now: float) -> None:
        """Take in where the API server says the pod is."""
        found = self._find(result.uid, result.attempt)
        if found is None:
            return
        member, intent = found
        if result.node is None:
            self._set_aside(member, intent, IntentState.LOST, now)
        elif result.node == intent.node:
            self._confirm(member, intent, now)
        elif result.node:
            self._set_aside(member, intent, IntentState.ELSEWHERE, now)
        else:
            self._on_read_nowhere(member, intent, now)

    def on_pod_read_failed(self, result: PodReadFailed, now: float) -> None:
        """Try again later to read a pod."""
        found = self._find(result.uid, result.attempt)
        if found is not None:
            self._read_later(result.uid, found[1].reads, now)

    def _find(self, uid: str, attempt: int) -> tuple[Member, Intent] | None:
        """Return the pod and the intent that a result speaks of; None when it comes late."""
        intent = self._cache.intents.get(uid)
        member = self._cache.members.get(uid)
        if member is None or intent is None or intent.attempt != attempt:
            return None
        return member, intent

    def _confirm(self, member: Member, intent: Intent, now: float) -> None:
        if intent.state is not IntentState.CONFIRMED:
            self._announce_scheduled(member, intent.node)
            self._setbacks.end(member.gang)
        self._set_aside(member, intent, IntentState.CONFIRMED, now)

    def _set_aside(self, member: Member, intent: Intent, state: IntentState, now: float) -> None:
        """Wait for the observation that must come; should it not come, read again."""
        self._intend(member, replace(intent, state=state))
        self._read_later(member.uid, intent.reads, now, OBSERVE_WITHIN_S)

    def _on_read_nowhere(self, member: Member, intent: Intent, now: float) -> None:
        """Bind again a pod that has no node: to the same node, where an earlier bind may still arrive."""
        if intent.state in (IntentState.ELSEWHERE, IntentState.LOST):
            self._end(member)
        elif member.deleting:
            self._read_later(member.uid, intent.reads, now)
        elif self._cache.has_node(intent.node) and self._can_reach_quorum(member):
            self._send_again(member, intent)
        else:
            self._end(member)

    def _can_reach_quorum(self, member: Member) -> bool:
        """Binding again must not start a gang that cannot be completed."""
        gang = self._gangs.gang_of(member.uid)
        if gang is None:
            return True
        if gang.size(Standing.BOUND):
            return True
        group = self._gangs.group_of(gang.key)
        return problem_of_group(gang, group) is None and missing_of(gang, group) <= gang.size(Standing.WAITING)

    def _send_again(self, member: Member, intent: Intent) -> None:
        bind = self._assume(member, intent.node, intent.reads)
        self._instructions.append(BindGang(gang=str(member.gang), binds=(bind,), nothing_bound=False))

    def _set_back(self, member: Member, intent: Intent, said: Said | None, now: float) -> None:
        self._end(member)
        self._setbacks.note(member.gang, intent.attempt, self._attempts, said, now)

    def _end(self, member: Member) -> None:
        self._deadlines.cancel(ReadDue(member.uid))
        self._intend(member, None)

    def _read_later(self, uid: str, reads: int, now: float, at_least_s: float = 0.0) -> None:
        self._deadlines.set(ReadDue(uid), now + max(at_least_s, _READ.delay(reads + 1, 0.0)))

    def read_due(self, uid: str) -> None:
        """Order a pod to be read again, if it still matters."""
        member, intent = self._cache.members.get(uid), self._cache.intents.get(uid)
        if member is None or intent is None:
            return
        self._intend(member, replace(intent, reads=intent.reads + 1))
        namespace, name = member.key
        self._instructions.append(ReadPod(uid=uid, namespace=namespace, name=name, attempt=intent.attempt))

    def settled(self, member: Member, intent: Intent) -> None:
        """Take in that an observation has settled what we intended with a pod."""
        self._deadlines.cancel(ReadDue(member.uid))
        if member.node == intent.node and intent.state is not IntentState.CONFIRMED:
            self._announce_scheduled(member, member.node)
            self._setbacks.end(member.gang)

    def forget_pod(self, member: Member) -> None:
        """Take in that the pod is gone."""
        self._deadlines.cancel(ReadDue(member.uid))
        self._setbacks.forget_pod(member)

    def _announce_scheduled(self, member: Member, node: str) -> None:
        namespace, name = member.key
        note = f"Successfully assigned {namespace}/{name} to {node}"
        self._instructions.append(
            Announce(
                kind="Pod",
                namespace=namespace,
                name=name,
                uid=member.uid,
                warning=False,
                reason="Scheduled",
                action="Binding",
                note=note,
            )
        )


def _version_to_confirm(gang: Gang, group: GroupFacts | None) -> GroupVersion | None:
    """Return the version to compare with the API server's, unless what we know is as new as the newest member.

    ResourceVersions compare as integers; where one is none, they do not compare.
    """
    if gang.key.kind is not GangKind.POD_GROUP or group is None:
        return None
    versions = [member.resource_version for member in gang.all_waiting()]
    known = group.version
    if isinstance(known, int) and all(isinstance(version, int) and version <= known for version in versions):
        return None
    return GroupVersion(
        namespace=group.key.namespace,
        name=group.key.name,
        uid=group.uid,
        resource_version=group.resource_version,
        generation=group.generation,
    )


def _refusal_text(member: Member, intent: Intent, result: Refused) -> Said:
    return Said(
        Reason.BIND_FAILED,
        f"gang {title(member.gang)}: binding pod {member.key} to node {intent.node} was refused: {result.message}; "
        "it is tried again after a while",
    )

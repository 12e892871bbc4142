"""The cache: what was observed of pods and nodes, what we intend, and what that charges to each node.

Where a pod is charged is one function of the two (`charged_node`):

    observed                     intent                      charged to
    on node m (also deleting)    any, it ends                m
    no node (also deleting)      sent, confirmed, unknown    the node it names
    no node                      none, elsewhere, lost       nothing
    finished or gone             any, it ends                nothing

Time never frees room. Anything may be told twice or late. Removing what has gone is a success.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final

from msgspec import Struct

from gangline.base.slices import slices
from gangline.contract.meta import Key
from scheduler.core.model.ledger import Ledger, NodeFacts
from scheduler.core.model.member import Member
from scheduler.core.model.member_class import ClassTable

PODS_AT_ONCE: Final = 1000
NODES_AT_ONCE: Final = 50


class IntentState(StrEnum):
    """How far a bind has come."""

    SENT = "Sent"
    UNKNOWN = "Unknown"
    """It may or may not have been done."""
    CONFIRMED = "Confirmed"
    """It was done; no observation says so yet."""
    ELSEWHERE = "Elsewhere"
    """Refused: the pod is bound to a node that no observation has named yet."""
    LOST = "Lost"
    """Refused: there is no such pod any more; no observation says so yet."""


_CHARGED = frozenset({IntentState.SENT, IntentState.UNKNOWN, IntentState.CONFIRMED})


class Intent(Struct, frozen=True):
    """A bind of ours that no observation has settled; `reads` counts how often the pod was read again."""

    node: str
    attempt: int
    state: IntentState = IntentState.SENT
    reads: int = 0


class Gains:
    """What may have become possible since it was last asked."""

    def __init__(self) -> None:
        self.resources: set[str] = set()
        self.rules = False
        self.new_node = False

    def __bool__(self) -> bool:
        return bool(self.resources) or self.rules or self.new_node


def charged_node(member: Member | None, intent: Intent | None) -> str:
    """Name the node that a pod is charged to, empty for none."""
    if member is None or member.finished:
        return ""
    if member.node:
        return member.node
    return intent.node if intent is not None and intent.state in _CHARGED else ""


class Cache:
    """Pods by UID, intents, and one ledger for each node name that a node or a charge has named.

    `names` has the UID of the pod that has a name now.
    `touched` names ledgers that have changed since `take_touched`; `gains` collects until `take_gains`.
    """

    def __init__(self, classes: ClassTable) -> None:
        self.members: dict[str, Member] = {}
        self.intents: dict[str, Intent] = {}
        self.ledgers: dict[str, Ledger] = {}
        self.names: dict[Key, str] = {}
        self._classes = classes
        self._closing: dict[str, dict[str, str]] = {}
        self._unreadable: dict[str, tuple[Key, str]] = {}
        self._touched: dict[str, None] = {}
        self._gains = Gains()

    def uid_at(self, key: Key) -> str | None:
        """UID of the pod that has this name now, as far as observed."""
        return self.names.get(key)

    def observe_pod(self, member: Member) -> None:
        """Take in a version of a pod. The caller has removed another pod of the same name before."""
        self._forget_unreadable(member.uid)
        self.names[member.key] = member.uid
        settled = bool(member.node) or member.finished
        self._change(member.uid, member, None if settled else self.intents.get(member.uid))

    def remove_pod(self, uid: str) -> None:
        """Take a pod out; one that is not known is no error."""
        self._forget_unreadable(uid)
        member = self.members.get(uid)
        if member is not None and self.names.get(member.key) == uid:
            del self.names[member.key]
        self._change(uid, None, None)

    def pod_unreadable(self, uid: str, key: Key, node: str, message: str) -> bool:
        """Note a pod of which no version could ever be read: it closes its node. True when that is news."""
        news = self._unreadable.get(uid) != (key, node)
        self._forget_unreadable(uid)
        self.names[key] = uid
        self._unreadable[uid] = (key, node)
        if node:
            self._close(node, uid, f"pod {key} cannot be read: {message}")
        return news

    def intend(self, uid: str, intent: Intent | None) -> None:
        """Set or end what we intend with a pod; nothing can be intended with one that has a node or is gone."""
        member = self.members.get(uid)
        if member is None or member.node or member.finished:
            return
        self._change(uid, member, intent)

    def _change(self, uid: str, member: Member | None, intent: Intent | None) -> None:
        """Be the only writer of observations and intents, so that charges always follow."""
        old = self.members.get(uid)
        before = charged_node(old, self.intents.get(uid))
        if member is None:
            self.members.pop(uid, None)
        else:
            self.members[uid] = member
        if intent is None:
            self.intents.pop(uid, None)
        else:
            self.intents[uid] = intent
        after = charged_node(member, intent)
        if old is not None and before and (before != after or member is None or _measured_anew(old, member)):
            self._release(before, old)
        if member is not None and after:
            self._charge(after, member)
        if old is not None and old is not member:
            self._classes.release(old.class_id)

    def _charge(self, node: str, member: Member) -> None:
        ledger = self._ledger(node)
        if ledger.charges.get(member.uid) != member.class_id:
            ledger.charge(member.uid, member.class_id, self._classes[member.class_id])
            self._touched[node] = None
        if member.template.unmeasured:
            problem = member.template.problem
            self._close(node, member.uid, f"pod {member.key}: {problem.message if problem else 'unmeasured'}")

    def _release(self, node: str, member: Member) -> None:
        ledger = self._ledger(node)
        ledger.release(member.uid)
        self._open(node, member.uid)
        if ledger.node is not None:
            self._gains.resources.update(name for name, _ in self._classes[member.class_id].requests)
        self._touch_or_drop(ledger)

    def observe_node(self, name: str, facts: NodeFacts) -> None:
        """Take in a version of a node; another UID under the name keeps what is charged to the name."""
        ledger = self._ledger(name)
        self._note_node_gains(ledger.node, facts)
        if ledger.node != facts:
            ledger.node = facts
            self._touched[name] = None

    def remove_node(self, name: str) -> None:
        """Take a node out; one that is not known is no error. What is charged to the name stays."""
        ledger = self.ledgers.get(name)
        if ledger is None or ledger.node is None:
            return
        ledger.node = None
        self._touch_or_drop(ledger)

    def has_node(self, name: str) -> bool:
        """Tell whether a Node object of this name exists, as far as observed."""
        ledger = self.ledgers.get(name)
        return ledger is not None and ledger.node is not None

    def _note_node_gains(self, old: NodeFacts | None, new: NodeFacts) -> None:
        if old is None:
            self._gains.new_node = True
            return
        before = old.allocatable
        self._gains.resources.update(name for name, amount in new.allocatable.items() if amount > before.get(name, 0))
        if (old.labels, old.taints, old.unschedulable, old.deleting) != (
            new.labels,
            new.taints,
            new.unschedulable,
            new.deleting,
        ):
            self._gains.rules = True

    def _ledger(self, name: str) -> Ledger:
        ledger = self.ledgers.get(name)
        if ledger is None:
            ledger = self.ledgers[name] = Ledger(name)
        return ledger

    def _touch_or_drop(self, ledger: Ledger) -> None:
        if ledger.is_idle:
            self.ledgers.pop(ledger.name, None)
        self._touched[ledger.name] = None

    def _close(self, node: str, uid: str, message: str) -> None:
        self._closing.setdefault(node, {})[uid] = message
        self._set_closed(node)

    def _open(self, node: str, uid: str) -> None:
        closing = self._closing.get(node)
        if closing is None or closing.pop(uid, None) is None:
            return
        if not closing:
            del self._closing[node]
        self._set_closed(node)

    def _set_closed(self, node: str) -> None:
        ledger = self._ledger(node)
        closing = self._closing.get(node)
        closed = closing[min(closing)] if closing else None
        if closed != ledger.closed:
            self._gains.rules |= closed is None
            ledger.closed = closed
            self._touch_or_drop(ledger)

    def _forget_unreadable(self, uid: str) -> None:
        key, node = self._unreadable.pop(uid, (None, ""))
        if key is not None and self.names.get(key) == uid and uid not in self.members:
            del self.names[key]
        if node:
            self._open(node, uid)

    def take_touched(self) -> tuple[str, ...]:
        """Name the ledgers that changed or ended since the last call."""
        touched = tuple(self._touched)
        self._touched.clear()
        return touched

    def take_gains(self) -> Gains:
        """Return what was gained since the last call."""
        gains, self._gains = self._gains, Gains()
        return gains

    def note_room(self, requests: tuple[tuple[str, int], ...]) -> None:
        """Say that room for such a member may have come free otherwise than by a ledger."""
        self._gains.resources.update(name for name, _ in requests)

    def validate(self) -> Iterator[list[str]]:
        """Say, slice by slice, what is not as observations and intents have it; nothing when all is well.

        Each slice is judged by itself, at one moment: between two of them the cache may change.
        """
        for keys in slices(list(self.names), PODS_AT_ONCE):
            yield [f"pod name {key} points to a UID that has another name" for key in keys if not self._is_named(key)]
        for uids in slices([*self.members, *self._unreadable, *self.intents], PODS_AT_ONCE):
            yield [problem for uid in uids for problem in self._pod_problems(uid)]
        for names in slices(sorted(self.ledgers), NODES_AT_ONCE):
            yield [problem for name in names for problem in self._ledger_problems(name)]

    def _is_named(self, key: Key) -> bool:
        uid = self.names.get(key)
        if uid is None:
            return True
        member, unreadable = self.members.get(uid), self._unreadable.get(uid)
        return key in {member.key if member is not None else None, unreadable[0] if unreadable is not None else None}

    def _pod_problems(self, uid: str) -> Iterator[str]:
        member, unreadable = self.members.get(uid), self._unreadable.get(uid)
        if unreadable is not None and unreadable[1] and uid not in self._closing.get(unreadable[1], {}):
            yield f"node {unreadable[1]}: is not closed by pod {uid}, which cannot be read"
        if member is None:
            if uid in self.intents:
                yield f"intent for unknown pod {uid}"
            return
        if self.names.get(member.key) != uid:
            yield f"pod name {member.key} does not point to {uid}"
        node = charged_node(member, self.intents.get(uid))
        ledger = self.ledgers.get(node)
        if node and (ledger is None or ledger.charges.get(uid) != member.class_id):
            yield f"node {node}: pod {uid} of class {member.class_id} is not charged"
        if node and member.template.unmeasured and uid not in self._closing.get(node, {}):
            yield f"node {node}: is not closed by pod {uid}, which cannot be measured"

    def _ledger_problems(self, name: str) -> Iterator[str]:
        ledger = self.ledgers.get(name)
        if ledger is None:
            return
        yield from ledger.validate()
        for uid in ledger.charges:
            if charged_node(self.members.get(uid), self.intents.get(uid)) != name:
                yield f"node {name}: pod {uid} is charged and is not here"
        closing = self._closing.get(name, {})
        for uid in closing:
            if not self._closes(uid, name):
                yield f"node {name}: is closed by pod {uid} for nothing"
        if (ledger.closed is None) != (not closing):
            yield f"node {name}: is {ledger.closed or 'open'}, and pods that close it are {sorted(closing)}"
        if ledger.is_idle:
            yield f"node {name}: nothing needs its ledger"

    def _closes(self, uid: str, name: str) -> bool:
        member = self.members.get(uid)
        if member is None:
            return self._unreadable.get(uid, (None, ""))[1] == name
        return member.template.unmeasured and charged_node(member, self.intents.get(uid)) == name

    def differences(
        self,
        pods: Mapping[str, tuple[str, bool]],
        nodes: Mapping[str, str],
        *,
        except_uids: AbstractSet[str] = frozenset(),
    ) -> Iterator[list[str]]:
        """Say, slice by slice, where what was observed and what was listed afresh differ, one sentence each.

        `pods` has (node, finished) by UID, `nodes` the UID by name; objects with `except_uids` did not decode.
        """
        for uids in slices([*self.members, *(pods.keys() - self.members.keys())], PODS_AT_ONCE):
            yield [
                text
                for uid in sorted(uids)
                if uid not in except_uids
                for text in _presence("pod", uid, self._observed_pod(uid), pods.get(uid))
            ]
        for names in slices(sorted(self.ledgers.keys() | nodes.keys()), PODS_AT_ONCE):
            yield [
                text
                for name in names
                if (observed := self._observed_node(name)) not in except_uids
                for text in _presence("node", name, observed, nodes.get(name))
            ]

    def _observed_pod(self, uid: str) -> tuple[str, bool] | None:
        member = self.members.get(uid)
        return None if member is None else (member.node, member.finished)

    def _observed_node(self, name: str) -> str | None:
        ledger = self.ledgers.get(name)
        return None if ledger is None or ledger.node is None else ledger.node.uid


def _presence(kind: str, name: str, observed: object, listed: object) -> Iterator[str]:
    if observed != listed:
        yield (
            f"{kind} {name}: {'unknown' if observed is None else observed} here, "
            f"{'unknown' if listed is None else listed} in the API server"
        )


def _measured_anew(old: Member, new: Member) -> bool:
    return old.class_id != new.class_id or old.template.unmeasured != new.template.unmeasured

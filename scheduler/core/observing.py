"""Observing: what the watches tell, applied to cache, gangs and whatever hangs on them."""

from collections.abc import Callable
from typing import assert_never

from gangline.contract.counting import PodPhase
from gangline.contract.membership import Budget, gang_budget
from gangline.contract.meta import Key
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget
from gangline.contract.quantity import QuantityError
from scheduler.core import events
from scheduler.core.binding import Binding
from scheduler.core.cache import Cache, IntentState, charged_node
from scheduler.core.conditions import Conditions
from scheduler.core.events import SettingsGiven
from scheduler.core.gangs import Gangs
from scheduler.core.holds import Holds
from scheduler.core.instructions import Announce, Instruction
from scheduler.core.model.group import GroupFacts, group_facts
from scheduler.core.model.ledger import facts_of
from scheduler.core.model.member import Member, MemberReader
from scheduler.core.model.member_class import ClassTable
from scheduler.core.setbacks import Setbacks

ObservedEvent = (
    events.PodObserved
    | events.PodGone
    | events.PodUnreadable
    | events.NodeObserved
    | events.NodeGone
    | events.NodeUnreadable
    | events.PodGroupObserved
    | events.PodGroupGone
    | events.PodGroupUnreadable
    | events.PriorityClassObserved
    | events.PriorityClassGone
    | events.BudgetObserved
    | events.BudgetGone
)


class Observing:
    """Applies observations; each may come twice or late.

    Events of one name come in their order, and some may be skipped. So a removal leaves nobody under the name,
    even if the pod or node that it speaks of was never seen and the one before it is still known.
    """

    def __init__(
        self,
        *,
        cache: Cache,
        gangs: Gangs,
        classes: ClassTable,
        binding: Binding,
        setbacks: Setbacks,
        conditions: Conditions,
        holds: Holds,
        instructions: list[Instruction],
    ) -> None:
        self._cache = cache
        self._gangs = gangs
        self._binding = binding
        self._setbacks = setbacks
        self._conditions = conditions
        self._holds = holds
        self._instructions = instructions
        self._reader = MemberReader(classes)
        self._scheduler_names: frozenset[str] = frozenset()
        self._budgets: dict[Key, Budget] | None = None
        self._pods: dict[str, Pod] = {}
        self._bad_nodes: dict[str, str] = {}

    def use(self, settings: SettingsGiven) -> None:
        """Take in the settings, before anything else."""
        self._scheduler_names = frozenset(settings.scheduler_names)
        self._budgets = {} if settings.budgets_form_gangs else None

    def observe(self, event: ObservedEvent, now: float) -> None:  # noqa: C901, PLR0912 - one line per kind of event
        """Apply one observation."""
        match event:
            case events.PodObserved(pod=pod):
                self._pod(pod, now)
            case events.PodGone():
                self._pod_gone(event, now)
            case events.PodUnreadable():
                self._pod_unreadable(event, now)
            case events.NodeObserved(node=node):
                self._node(node)
            case events.NodeGone(name=name):
                self._bad_nodes.pop(name, None)
                self._cache.remove_node(name)
            case events.NodeUnreadable():
                self._node_unreadable(event)
            case events.PodGroupObserved(group=group):
                self._group(group)
            case events.PodGroupGone():
                self._gangs.remove_group(Key(event.namespace, event.name))
            case events.PodGroupUnreadable():
                self._group_unreadable(event)
            case events.PriorityClassObserved(priority_class=priority_class):
                self._gangs.put_class(priority_class.metadata.name, priority_class.value or 0)
            case events.PriorityClassGone(name=name):
                self._gangs.put_class(name, None)
            case events.BudgetObserved(budget=budget):
                self._budget(budget.metadata.key, budget, now)
            case events.BudgetGone():
                self._budget(Key(event.namespace, event.name), None, now)
            case _:
                assert_never(event)

    def _pod(self, pod: Pod, now: float) -> None:
        key, uid = pod.metadata.key, pod.metadata.uid
        namesake = self._cache.members.get(uid)
        if namesake is not None and namesake.key != key:
            message = f"metadata.uid {uid} is that of pod {namesake.key} too"
            unreadable = events.PodUnreadable(
                namespace=key.namespace,
                name=key.name,
                uid=f"{uid} of {key}",
                node=pod.spec.node_name or "",
                message=message,
            )
            self._pod_unreadable(unreadable, now)
            return
        self._replace_name(key, uid, now)
        if self._budgets is not None:
            self._pods[pod.metadata.uid] = pod
        self._take_in(self._reader.member_of(pod, self._scheduler_names, self._budgets_of(key.namespace)), now)

    def _take_in(self, member: Member, now: float) -> None:
        uid = member.uid
        old, intent = self._cache.members.get(uid), self._cache.intents.get(uid)
        if old is not None and _is_loss(member):
            self._keep_room(old, now)
        if _is_unmeasured(member) and not (old is not None and _is_unmeasured(old)):
            problem = member.template.problem.message if member.template.problem else ""
            self._warn("Pod", member.key, uid, "PodUnreadable", f"{problem}; {_until_gone(member.node)}")
        self._cache.observe_pod(member)
        self._gangs.put(member, self._cache.intents.get(uid))
        if intent is not None and uid not in self._cache.intents:
            self._binding.settled(member, intent)
        if member.node or member.finished:
            self._conditions.pod_settled(uid)
        else:
            self._conditions.pod_changed(uid)

    def _replace_name(self, key: Key, uid: str, now: float) -> None:
        """Another pod of this name is gone, told or not."""
        previous = self._cache.uid_at(key)
        if previous is not None and previous != uid:
            self._remove(previous, now)

    def _pod_gone(self, event: events.PodGone, now: float) -> None:
        occupant = self._cache.uid_at(Key(event.namespace, event.name))
        if occupant is not None:
            self._remove(occupant, now)

    def _remove(self, uid: str, now: float) -> None:
        member = self._cache.members.get(uid)
        if member is not None:
            if not member.finished:
                self._keep_room(member, now)
            self._binding.forget_pod(member)
        self._pods.pop(uid, None)
        self._cache.remove_pod(uid)
        self._gangs.take_out(uid)
        self._conditions.pod_settled(uid)

    def _pod_unreadable(self, event: events.PodUnreadable, now: float) -> None:
        """Keep the last good version in force, but for the node; without one, close the node."""
        if event.last is not None:
            self._pod(event.last, now)
        key = Key(event.namespace, event.name)
        self._replace_name(key, event.uid, now)
        known = self._cache.members.get(event.uid)
        if known is not None:
            if event.node and not known.node and not known.finished:
                self._take_in(self._reader.bound_to(known, event.node), now)
            return
        if self._cache.pod_unreadable(event.uid, key, event.node, event.message):
            cure = _until_gone(event.node) if event.node else "delete it, and create it as the API allows"
            self._warn("Pod", key, event.uid, "PodUnreadable", f"the pod cannot be read: {event.message}; {cure}")

    def _keep_room(self, member: Member, now: float) -> None:
        node = charged_node(member, self._cache.intents.get(member.uid))
        if node and member.linked:
            self._holds.keep(member, node, now)

    def losing(self, uid: str, now: float, apply: Callable[[], None]) -> None:
        """Apply a result after which the pod may turn out to be lost, and hold the room that it had."""
        member = self._cache.members.get(uid)
        node = charged_node(member, self._cache.intents.get(uid))
        apply()
        intent = self._cache.intents.get(uid)
        if member is not None and node and member.linked and intent is not None and intent.state is IntentState.LOST:
            self._holds.keep(member, node, now)

    def _node(self, node: Node) -> None:
        name = node.metadata.name
        try:
            facts = facts_of(node)
        except QuantityError as error:
            self._bad_node(name, node.metadata.uid, f"allocatable {error}")
            return
        self._bad_nodes.pop(name, None)
        self._cache.observe_node(name, facts)

    def _node_unreadable(self, event: events.NodeUnreadable) -> None:
        if event.last is not None:
            self._node(event.last)
        self._bad_node(event.name, event.uid, event.message)

    def _bad_node(self, name: str, uid: str, message: str) -> None:
        """Keep the last good version in force; without one nothing is placed there."""
        if self._bad_nodes.get(name) == message:
            return
        self._bad_nodes[name] = message
        in_force = "what it said before stays in force" if self._cache.has_node(name) else "it takes no pods"
        note = f"the node cannot be read: {message}; until that is corrected {in_force}"
        self._warn("Node", Key("", name), uid, "NodeUnreadable", note)

    # PodGroups and budgets

    def _group(self, group: PodGroup) -> None:
        facts = group_facts(group)
        known = self._gangs.groups.get(facts.key)
        self._gangs.put_group(facts)
        if known is None or (known.uid, known.resource_version) != (facts.uid, facts.resource_version):
            self._setbacks.group_observed(facts.gang)

    def _group_unreadable(self, event: events.PodGroupUnreadable) -> None:
        if event.last is not None:
            self._group(event.last)
        key = Key(event.namespace, event.name)
        known = self._gangs.groups.get(key)
        if known is None or known.uid != event.uid:
            problem = f"it cannot be read: {event.message}"
            self._gangs.put_group(GroupFacts(key=key, uid=event.uid, resource_version="", problem=problem))

    def _budget(self, key: Key, budget: PodDisruptionBudget | None, now: float) -> None:
        """Read the links of all pods in the namespace again: a budget can change any of them."""
        if self._budgets is None:
            return
        formed = gang_budget(budget) if budget is not None else None
        if self._budgets.get(key) == formed:
            return
        if formed is None:
            del self._budgets[key]
        else:
            self._budgets[key] = formed
        budgets = self._budgets_of(key.namespace)
        for pod in [pod for pod in self._pods.values() if pod.metadata.namespace == key.namespace]:
            self._take_in(self._reader.member_of(pod, self._scheduler_names, budgets), now)

    def _budgets_of(self, namespace: str) -> list[Budget]:
        return [budget for key, budget in (self._budgets or {}).items() if key.namespace == namespace]

    def _warn(self, kind: str, key: Key, uid: str, reason: str, note: str) -> None:
        self._instructions.append(
            Announce(
                kind=kind,
                namespace=key.namespace,
                name=key.name,
                uid=uid,
                warning=True,
                reason=reason,
                action="Scheduling",
                note=note,
            )
        )


def _is_unmeasured(member: Member) -> bool:
    """Tell whether a pod holds an unknown part of its node."""
    return member.template.unmeasured and bool(member.node) and not member.finished


def _until_gone(node: str) -> str:
    return f"node {node} takes no more pods until this one is gone or can be read"


def _is_loss(member: Member) -> bool:
    """Tell whether a member that leaves its room now has left without success."""
    return member.finished and (member.deleting or member.phase is not PodPhase.SUCCEEDED)

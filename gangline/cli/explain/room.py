"""Room: how each node stands to one member class, and the nodes grouped by that, the nearest fit first."""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from gangline.cli.cluster.survey import Survey
from gangline.contract.counting import is_finished
from gangline.contract.membership import Budget, gang_budget
from gangline.contract.node import Node
from gangline.contract.quantity import QuantityError, format_amount
from gangline.contract.selectors import node_selector_matches, untolerated
from scheduler.core.filters.closed import is_open
from scheduler.core.filters.host_ports import has_free_ports
from scheduler.core.filters.node_facts import first_failure, reason_of
from scheduler.core.filters.resources import lacking, room
from scheduler.core.model.ledger import Ledger, NodeFacts, facts_of
from scheduler.core.model.member import Member, MemberReader
from scheduler.core.model.member_class import ClassTable, MemberClass
from scheduler.core.reasons import NodeReason, insufficient
from scheduler.core.snapshot import Snapshot

ROOM: Final = "node(s) have room"
_ORDER: Final = (
    NodeReason.HOST_PORT,
    NodeReason.UNSCHEDULABLE,
    NodeReason.TAINT,
    NodeReason.NODE_AFFINITY,
    NodeReason.NODE_NAME,
    NodeReason.CLOSED,
    NodeReason.DELETING,
)


class NodeStanding(Struct, frozen=True):
    """How one node stands to a class: room for so many members, or why for none; `distance` orders near before far.

    `lacks` has what is free and what is offered in all of each resource that one member finds too little of.
    `otherwise` is how many members a node would take but for the rule that it breaks.
    """

    node: str
    reason: str
    detail: str
    members: int
    distance: float
    lacks: tuple[tuple[str, int, int], ...] = ()
    otherwise: int = 0

    @property
    def is_ruled_out(self) -> bool:
        """Whether it is not room that is missing."""
        return self.reason != ROOM and not self.lacks


class NodesAlike(Struct, frozen=True):
    """Nodes that fail for one reason, or that have room, the nearest first."""

    reason: str
    members: int
    nodes: tuple[NodeStanding, ...]

    @property
    def otherwise(self) -> int:
        """How many members they would take but for the rule that they break."""
        return sum(node.otherwise for node in self.nodes)


ClassRoom = tuple[MemberClass, int, tuple[NodesAlike, ...]]
"""A member class, how many members of it wait, and how the nodes stand to them."""


class Floor:
    """The members of a survey, and its nodes with what is charged to them."""

    def __init__(self, survey: Survey, scheduler_names: Iterable[str]) -> None:
        self.classes = ClassTable()
        self.members: dict[str, Member] = {}
        self.ledgers: dict[str, Ledger] = {}
        self._snapshot = Snapshot(self.classes, max(1, len(survey.nodes)))
        for node in survey.nodes:
            self._add_node(node.metadata.name, node)
        reader, names, budgets = MemberReader(self.classes), tuple(scheduler_names), _budgets(survey)
        for pod in survey.pods:
            member = reader.member_of(pod, names, budgets.get(pod.metadata.namespace, ()))
            self.members[member.uid] = member
            self._charge(member, member.node)
        for ledger in self.ledgers.values():
            self._snapshot.write_row(ledger)

    def charge(self, binds: Mapping[str, str]) -> None:
        """Count these waiting pods, by UID, on nodes where they are not yet."""
        for uid, node in binds.items():
            self._charge(self.members[uid], node)
        for node in set(binds.values()):
            self._snapshot.write_row(self.ledgers[node])

    def _add_node(self, name: str, node: Node) -> None:
        ledger = self.ledgers[name] = Ledger(name)
        try:
            ledger.node = facts_of(node)
        except QuantityError as error:
            ledger.node = NodeFacts()
            ledger.closed = str(error)

    def _charge(self, member: Member, node: str) -> None:
        ledger = self.ledgers.get(node)
        if ledger is None or is_finished(member):
            return
        ledger.charge(member.uid, member.class_id, self.classes[member.class_id])
        if member.template.unmeasured:
            ledger.closed = f"pod {member.key} asks for a quantity that cannot be read"

    def standings(self, member_class: MemberClass) -> list[NodeStanding]:
        """Say of each node how it stands to members of this class, by node name."""
        class_id = self.classes.acquire(member_class)
        try:
            request = self._snapshot.request_of(class_id)
            rows = self._snapshot.rows()
            codes = self._snapshot.judged(first_failure, member_class.rules)[rows]
            opened = is_open(self._snapshot, rows)
            ports = has_free_ports(self._snapshot, rows, request)
            lacks = lacking(self._snapshot, rows, request)
            fits = room(self._snapshot, rows, request)
            if member_class.host_ports:
                fits = np.minimum(fits, 1)
            names = self._snapshot.names(rows)
        finally:
            self.classes.release(class_id)
        found = []
        for index, name in enumerate(names):
            ledger = self.ledgers[name]
            if codes[index]:
                found.append(_ruled_out(ledger, member_class, reason_of(int(codes[index])), int(fits[index])))
            elif not opened[index]:
                found.append(NodeStanding(name, NodeReason.CLOSED, ledger.closed or "", 0, 0.0))
            elif not ports[index]:
                taken = ", ".join(str(port.port) for port in member_class.host_ports)
                found.append(NodeStanding(name, NodeReason.HOST_PORT, f"port {taken} is taken", 0, 0.0))
            elif lacked := [resource for resource, mask in lacks.items() if mask[index]]:
                found.append(_too_full(ledger, dict(member_class.requests), lacked))
            else:
                members = int(fits[index])
                found.append(NodeStanding(name, ROOM, _members(members), members, -float(members)))
        return found


def _budgets(survey: Survey) -> dict[str, list[Budget]]:
    found: dict[str, list[Budget]] = {}
    for budget in filter(None, map(gang_budget, survey.budgets)):
        found.setdefault(budget.namespace, []).append(budget)
    return found


def grouped(standings: Iterable[NodeStanding]) -> tuple[NodesAlike, ...]:
    """Group nodes by why they fail: those with room first, then those that lack least, then those ruled out."""
    by_reason: dict[str, list[NodeStanding]] = {}
    for standing in standings:
        by_reason.setdefault(standing.reason, []).append(standing)
    groups = [
        NodesAlike(
            reason, sum(one.members for one in alike), tuple(sorted(alike, key=lambda one: (one.distance, one.node)))
        )
        for reason, alike in by_reason.items()
    ]
    return tuple(sorted(groups, key=lambda group: (_rank(group.reason), group.nodes[0].distance, group.reason)))


def _rank(reason: str) -> int:
    if reason == ROOM:
        return 0
    order = {str(each): place for place, each in enumerate(_ORDER, 2)}
    return order.get(reason, 1)


def _ruled_out(ledger: Ledger, member_class: MemberClass, reason: NodeReason, otherwise: int) -> NodeStanding:
    facts = ledger.node or NodeFacts()
    detail = _detail(ledger.name, facts, member_class, reason)
    return NodeStanding(ledger.name, reason, detail, 0, -float(otherwise), otherwise=otherwise)


def asked(member_class: MemberClass) -> str:
    """Write what one member asks for: `3 cpu, 8Gi memory`."""
    amounts = [f"{format_amount(name, amount)} {name}" for name, amount in member_class.requests if name != "pods"]
    return ", ".join(amounts)


def _detail(name: str, facts: NodeFacts, member_class: MemberClass, reason: NodeReason) -> str:
    rules = member_class.rules
    match reason:
        case NodeReason.TAINT:
            taint = untolerated(rules.tolerations, facts.taints)
            assert taint is not None
            return taint.key + (f"={taint.value}" if taint.value else "") + f":{taint.effect}"
        case NodeReason.UNSCHEDULABLE:
            return "cordoned"
        case NodeReason.NODE_AFFINITY:
            wrong = [
                f"{key} is {_label(facts, key)}" for key, value in rules.selector if facts.labels.get(key) != value
            ]
            if (
                not wrong
                and rules.affinity is not None
                and not node_selector_matches(rules.affinity, facts.labels, name)
            ):
                wrong = [f"{key} is {_label(facts, key)}" for key in sorted(rules.label_keys)]
            return ", ".join(wrong)
        case _:
            return ""


def _label(facts: NodeFacts, key: str) -> str:
    return facts.labels.get(key) or "not set"


def _too_full(ledger: Ledger, requests: Mapping[str, int], lacked: list[str]) -> NodeStanding:
    facts = ledger.node or NodeFacts()
    details, distance, lacks = [], 0.0, []
    for resource in lacked:
        asked, offered = requests[resource], facts.allocatable.get(resource, 0)
        free = max(0, offered - ledger.used.get(resource, 0))
        distance = max(distance, (asked - free) / asked)
        lacks.append((resource, free, offered))
        words = f"{format_amount(resource, free)} {resource} free of {format_amount(resource, offered)}"
        details.append(f"{words}, {format_amount(resource, asked - free)} short" if offered else f"has no {resource}")
    reason = ", ".join(insufficient(resource) for resource in lacked)
    return NodeStanding(ledger.name, reason, "; ".join(details), 0, distance, tuple(lacks))


def _members(count: int) -> str:
    return f"room for {count}"

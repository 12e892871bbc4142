"""Standing: how one node stands to one member class, in words and numbers."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from gangline.contract.quantity import format_amount
from gangline.contract.selectors import node_selector_matches, untolerated
from scheduler.core.model.ledger import Ledger, NodeFacts
from scheduler.core.model.member_class import MemberClass
from scheduler.core.reasons import NodeReason, insufficient

ROOM: Final = "node(s) have room"


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


def ruled_out(ledger: Ledger, member_class: MemberClass, reason: NodeReason, otherwise: int) -> NodeStanding:
    """Describe a node that breaks a rule, and would take `otherwise` members if it did not."""
    facts = ledger.node or NodeFacts()
    detail = _detail(ledger.name, facts, member_class, reason)
    return NodeStanding(ledger.name, reason, detail, 0, -float(otherwise), otherwise=otherwise)


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
                wrong = [f"{key} is {_label(facts, key)}" for key in sorted(rules.label_values)]
            return ", ".join(wrong)
        case _:
            return ""


def _label(facts: NodeFacts, key: str) -> str:
    return facts.labels.get(key) or "not set"


def too_full(ledger: Ledger, requests: Mapping[str, int], lacked: list[str]) -> NodeStanding:
    """Describe a node that has too little of these resources for one member."""
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


def roomy(node: str, members: int) -> NodeStanding:
    """Describe a node that has room for so many members."""
    return NodeStanding(node, ROOM, f"room for {members}", members, -float(members))

"""Room: the nodes grouped by how they stand to a member class, the nearest fit first."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from gangline.cli.explain.standing import ROOM, NodeStanding
from gangline.contract.quantity import format_amount
from scheduler.core.model.member_class import MemberClass
from scheduler.core.reasons import NodeReason

_ORDER: Final = (
    NodeReason.HOST_PORT,
    NodeReason.UNSCHEDULABLE,
    NodeReason.TAINT,
    NodeReason.NODE_AFFINITY,
    NodeReason.NODE_NAME,
    NodeReason.CLOSED,
    NodeReason.DELETING,
)


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


def asked(member_class: MemberClass) -> str:
    """Write what one member asks for: `3 cpu, 8Gi memory`."""
    amounts = [f"{format_amount(name, amount)} {name}" for name, amount in member_class.requests if name != "pods"]
    return ", ".join(amounts)

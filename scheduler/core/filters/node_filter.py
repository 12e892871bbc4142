"""The shape of a filter that reads the node's facts alone, so that its verdict lasts until they change."""

from collections.abc import Callable

from msgspec import Struct

from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason


class NodeFilter(Struct, frozen=True):
    """`admits(rules, node name, facts)` tells whether members with these rules may be on the node.

    What changes the verdict is Cause.NODE_RULES; placing a member changes nothing.
    """

    reason: NodeReason
    admits: Callable[[NodeRules, str, NodeFacts], bool]

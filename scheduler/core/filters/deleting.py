"""Filter: a node that is being deleted takes no members."""

from typing import Final

from scheduler.core.filters.node_filter import NodeFilter
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason


def _admits(_rules: NodeRules, _name: str, facts: NodeFacts) -> bool:
    return not facts.deleting


DELETING: Final = NodeFilter(NodeReason.DELETING, _admits)

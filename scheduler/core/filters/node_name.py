"""Filter: where every required term names nodes by field, one of them must name this node.

DaemonSet-like members are pinned like that; a pod that carries `spec.nodeName` never waits for a scheduler.
"""

from typing import Final

from msgspec.structs import replace

from gangline.contract.selectors import node_selector_matches
from scheduler.core.filters.node_filter import NodeFilter
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason


def _admits(rules: NodeRules, name: str, _facts: NodeFacts) -> bool:
    terms = rules.affinity
    if not terms or not all(term.match_fields for term in terms):
        return True
    return node_selector_matches([replace(term, match_expressions=None) for term in terms], None, name)


NODE_NAME: Final = NodeFilter(NodeReason.NODE_NAME, _admits)

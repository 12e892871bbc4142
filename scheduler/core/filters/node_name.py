"""Filter: where every required term names nodes by field, one of them must name this node.

DaemonSet-like members are pinned like that; a pod that carries `spec.nodeName` never waits for a scheduler.
"""

from typing import Final

from msgspec.structs import replace

from gangline.contract.pod import NodeSelectorTerm
from gangline.contract.selectors import NAME_FIELD, node_selector_matches
from scheduler.core.filters.node_filter import NodeFilter
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason


def _admits(rules: NodeRules, name: str, _facts: NodeFacts) -> bool:
    terms = rules.affinity
    if not terms or not all(_names_nodes(term) for term in terms):
        return True
    return node_selector_matches([replace(term, match_expressions=None) for term in terms], None, name)


def _names_nodes(term: NodeSelectorTerm) -> bool:
    """Tell whether a term reads names; one that reads another field, which no node has, is NodeAffinity's to refuse."""
    fields = term.match_fields or ()
    return bool(fields) and all(field.key == NAME_FIELD for field in fields)


NODE_NAME: Final = NodeFilter(NodeReason.NODE_NAME, _admits)

"""Filter: where every required term names nodes by field, one of them must name this node.

DaemonSet-like members are pinned like that; a pod that carries `spec.nodeName` never waits for a scheduler.
"""

from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from gangline.contract.pod import NodeSelectorTerm
from gangline.contract.selectors import NAME_FIELD, NodeSelectorMatcher
from scheduler.core.filters.node_filter import NodeFilter
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason


def _admits(rules: NodeRules, name: str, _facts: NodeFacts) -> bool:
    if not rules.affinity:
        return True
    pinning = _pinning(rules)
    return pinning is None or pinning.matches({}, name)


@lru_cache(maxsize=16)
def _pinning(rules: NodeRules) -> NodeSelectorMatcher | None:
    """Return what matches the names, None unless every term reads them."""
    terms = rules.affinity or ()
    if not all(_names_nodes(term) for term in terms):
        return None
    return NodeSelectorMatcher([replace(term, match_expressions=None) for term in terms])


def _names_nodes(term: NodeSelectorTerm) -> bool:
    """Tell whether a term reads names; one that reads another field, which no node has, is NodeAffinity's to refuse."""
    fields = term.match_fields or ()
    return bool(fields) and all(field.key == NAME_FIELD for field in fields)


NODE_NAME: Final = NodeFilter(NodeReason.NODE_NAME, _admits)

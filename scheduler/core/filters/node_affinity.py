"""Filter: the node selector and one of the required affinity terms must match (kube-scheduler NodeAffinity)."""

from functools import lru_cache
from typing import Final

from gangline.contract.selectors import NodeSelectorMatcher
from scheduler.core.filters.node_filter import NodeFilter
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason


def _admits(rules: NodeRules, name: str, facts: NodeFacts) -> bool:
    if any(facts.labels.get(key) != value for key, value in rules.selector):
        return False
    return rules.affinity is None or _matcher(rules).matches(facts.labels, name)


@lru_cache(maxsize=16)
def _matcher(rules: NodeRules) -> NodeSelectorMatcher:
    return NodeSelectorMatcher(rules.affinity or ())


NODE_AFFINITY: Final = NodeFilter(NodeReason.NODE_AFFINITY, _admits)

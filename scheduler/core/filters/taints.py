"""Filter: every NoSchedule and NoExecute taint must be tolerated (kube-scheduler TaintToleration)."""

from typing import Final

from gangline.contract.selectors import untolerated
from scheduler.core.filters.node_filter import NodeFilter
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason


def _admits(rules: NodeRules, _name: str, facts: NodeFacts) -> bool:
    return untolerated(rules.tolerations, facts.taints) is None


TAINTS: Final = NodeFilter(NodeReason.TAINT, _admits)

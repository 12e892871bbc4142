"""Filter: a cordoned node takes members that tolerate the taint of cordoned nodes (kube-scheduler NodeUnschedulable)."""

from typing import Final

from gangline.contract.node import Taint
from gangline.contract.selectors import tolerates
from scheduler.core.filters.node_filter import NodeFilter
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason

_CORDONED: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def _admits(rules: NodeRules, _name: str, facts: NodeFacts) -> bool:
    return not facts.unschedulable or tolerates(rules.tolerations, _CORDONED)


CORDON: Final = NodeFilter(NodeReason.UNSCHEDULABLE, _admits)

"""Score: PreferNoSchedule taints that are not tolerated, the fewer the better (kube-scheduler TaintToleration)."""

from gangline.contract.selectors import tolerates
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules


def unwelcome(rules: NodeRules, _name: str, facts: NodeFacts) -> int:
    """Count the node's PreferNoSchedule taints that are not tolerated, up to 255."""
    soft = [taint for taint in facts.taints if taint.effect == "PreferNoSchedule"]
    return min(255, sum(not tolerates(rules.tolerations, taint) for taint in soft))

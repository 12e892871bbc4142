"""All filters that read the node's facts alone, as one verdict: which of them fails first, in kube-scheduler's order."""

from typing import Final

from scheduler.core.filters.cordon import CORDON
from scheduler.core.filters.deleting import DELETING
from scheduler.core.filters.node_affinity import NODE_AFFINITY
from scheduler.core.filters.node_filter import NodeFilter
from scheduler.core.filters.node_name import NODE_NAME
from scheduler.core.filters.taints import TAINTS
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason

_FILTERS: Final[tuple[NodeFilter, ...]] = (DELETING, CORDON, NODE_NAME, TAINTS, NODE_AFFINITY)


def first_failure(rules: NodeRules, name: str, facts: NodeFacts) -> int:
    """Return the code of the first filter that fails, 0 when all admit; see `reason_of`."""
    return next((code for code, each in enumerate(_FILTERS, 1) if not each.admits(rules, name, facts)), 0)


def reason_of(code: int) -> NodeReason:
    """Return the reason behind a code of `first_failure` that is not 0."""
    return _FILTERS[code - 1].reason

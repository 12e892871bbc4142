"""The filters that read the node's facts: which of them fails first."""

import pytest

from gangline.contract.node import Taint
from gangline.contract.pod import NodeSelectorTerm, SelectorRequirement, Toleration
from scheduler.core.filters.node_facts import first_failure, reason_of
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.reasons import NodeReason

_HARD = Taint(key="k", value="v", effect="NoSchedule")
_EVICTING = Taint(key="k", effect="NoExecute")
_SOFT = Taint(key="k", effect="PreferNoSchedule")
_ZONE_A = SelectorRequirement(key="zone", operator="In", values=("a",))


def _on(*names: str, operator: str = "In", labels: tuple[SelectorRequirement, ...] = ()) -> NodeSelectorTerm:
    fields = tuple(SelectorRequirement(key="metadata.name", operator=operator, values=(name,)) for name in names)
    return NodeSelectorTerm(match_fields=fields, match_expressions=labels)


def _rules(*terms: NodeSelectorTerm, tolerates: Toleration | None = None, **selector: str) -> NodeRules:
    return NodeRules(
        selector=tuple(selector.items()),
        affinity=terms or None,
        tolerations=() if tolerates is None else (tolerates,),
    )


@pytest.mark.parametrize(
    ("rules", "facts", "reason"),
    [
        pytest.param(_rules(), NodeFacts(), None, id="nothing asked"),
        pytest.param(_rules(), NodeFacts(deleting=True), NodeReason.DELETING, id="deleting"),
        pytest.param(
            _rules(
                NodeSelectorTerm(match_fields=(SelectorRequirement(key="spec.podCIDR", operator="In", values=("a",)),))
            ),
            NodeFacts(),
            NodeReason.NODE_AFFINITY,
            id="a field that cannot be read is no name",
        ),
        pytest.param(
            _rules(tolerates=Toleration(operator="Exists")),
            NodeFacts(deleting=True),
            NodeReason.DELETING,
            id="deleting cannot be tolerated",
        ),
        pytest.param(_rules(), NodeFacts(unschedulable=True), NodeReason.UNSCHEDULABLE, id="cordoned"),
        pytest.param(
            _rules(tolerates=Toleration(key="node.kubernetes.io/unschedulable", operator="Exists")),
            NodeFacts(unschedulable=True),
            None,
            id="cordon tolerated",
        ),
        pytest.param(_rules(), NodeFacts(taints=(_HARD,)), NodeReason.TAINT, id="taint"),
        pytest.param(_rules(), NodeFacts(taints=(_EVICTING,)), NodeReason.TAINT, id="evicting taint"),
        pytest.param(_rules(), NodeFacts(taints=(_SOFT,)), None, id="soft taint"),
        pytest.param(
            _rules(tolerates=Toleration(key="k", value="v")), NodeFacts(taints=(_HARD,)), None, id="taint tolerated"
        ),
        pytest.param(_rules(zone="a"), NodeFacts(labels={"zone": "a", "b": "c"}), None, id="selector"),
        pytest.param(_rules(zone="a"), NodeFacts(labels={"zone": "b"}), NodeReason.NODE_AFFINITY, id="other value"),
        pytest.param(_rules(zone="a"), NodeFacts(), NodeReason.NODE_AFFINITY, id="no label"),
        pytest.param(
            _rules(NodeSelectorTerm(match_expressions=(_ZONE_A,))), NodeFacts(labels={"zone": "a"}), None, id="term"
        ),
        pytest.param(
            _rules(NodeSelectorTerm(match_expressions=(_ZONE_A,))), NodeFacts(), NodeReason.NODE_AFFINITY, id="no term"
        ),
        pytest.param(NodeRules(affinity=()), NodeFacts(), NodeReason.NODE_AFFINITY, id="empty list of terms"),
        pytest.param(_rules(NodeSelectorTerm()), NodeFacts(), NodeReason.NODE_AFFINITY, id="empty term"),
        pytest.param(
            _rules(NodeSelectorTerm(match_expressions=(_ZONE_A,)), zone="b"),
            NodeFacts(labels={"zone": "a"}),
            NodeReason.NODE_AFFINITY,
            id="selector and terms must both match",
        ),
        pytest.param(_rules(_on("n1")), NodeFacts(), None, id="named"),
        pytest.param(_rules(_on("n2")), NodeFacts(), NodeReason.NODE_NAME, id="another named"),
        pytest.param(_rules(_on("n2"), _on("n1")), NodeFacts(), None, id="one of two named"),
        pytest.param(_rules(_on("n1", operator="NotIn")), NodeFacts(), NodeReason.NODE_NAME, id="ruled out by name"),
        pytest.param(
            _rules(_on("n1", labels=(_ZONE_A,))), NodeFacts(), NodeReason.NODE_AFFINITY, id="named without the label"
        ),
        pytest.param(
            _rules(_on("n2"), NodeSelectorTerm(match_expressions=(_ZONE_A,))),
            NodeFacts(labels={"zone": "a"}),
            None,
            id="another named, but the label will do",
        ),
        pytest.param(
            _rules(zone="a"), NodeFacts(unschedulable=True, taints=(_HARD,)), NodeReason.UNSCHEDULABLE, id="order"
        ),
    ],
)
def test_the_first_filter_that_fails_is_the_reason(
    rules: NodeRules, facts: NodeFacts, reason: NodeReason | None
) -> None:
    code = first_failure(rules, "n1", facts)

    assert (reason_of(code) if code else None) is reason

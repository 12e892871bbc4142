"""Ledgers: charges by UID, counted once, in exact integers."""

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gangline.contract.node import Node, Taint
from gangline.contract.quantity import QuantityError
from scheduler.core.model.ledger import Ledger, NodeFacts, facts_of
from scheduler.core.model.member_class import ClassId, MemberClass
from tests.support.small_clusters import member_class

_CLASSES = [member_class(cpu=1), member_class(cpu=2, gpu=1, ports=(80,)), member_class(cpu=2**62, ports=(80, 81))]


class LedgerMachine(RuleBasedStateMachine):
    """Charges and releases in any order, repeated and unknown; compared with a plain dict of who is there."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger("n")
        self.there: dict[str, MemberClass] = {}

    @rule(uid=st.sampled_from("abc"), place=st.integers(0, 2))
    def charge(self, uid: str, place: int) -> None:
        self.ledger.charge(uid, ClassId(place), _CLASSES[place])
        self.there[uid] = _CLASSES[place]

    @rule(uid=st.sampled_from("abc"))
    def release(self, uid: str) -> None:
        self.ledger.release(uid)
        self.there.pop(uid, None)

    @invariant()
    def safety_used_is_the_sum_of_who_is_there(self) -> None:
        used: dict[str, int] = {}
        for one in self.there.values():
            for resource, amount in one.requests:
                used[resource] = used.get(resource, 0) + amount
        assert self.ledger.used == used
        assert dict(self.ledger.ports) == {
            port: count
            for port in _CLASSES[2].host_ports
            if (count := sum(port in one.host_ports for one in self.there.values()))
        }
        assert self.ledger.charges.keys() == self.there.keys()
        assert self.ledger.is_idle == (not self.there)

    @invariant()
    def safety_it_equals_itself_counted_anew(self) -> None:
        assert self.ledger.validate() == []


TestLedger = LedgerMachine.TestCase


def test_sums_beyond_64_bits_stay_exact() -> None:
    ledger = Ledger("n")
    for number in range(10):
        ledger.charge(f"u{number}", ClassId(0), member_class(cpu=2**62))

    assert ledger.used["cpu"] == 10 * 2**62


def test_a_ledger_that_was_tampered_with_says_so() -> None:
    ledger = Ledger("n1")
    ledger.charge("u", ClassId(0), member_class(cpu=4, ports=(80,)))
    ledger.used["cpu"] += 1
    ledger.ports.clear()

    used, ports = ledger.validate()

    assert used == "node n1: used is {'cpu': 5, 'pods': 1}, its charges sum to {'cpu': 4, 'pods': 1}"
    assert ports.startswith("node n1: ports are {}, its charges hold {HostPort(")


@pytest.mark.parametrize(
    ("change", "is_idle"),
    [
        pytest.param(lambda ledger: None, True, id="nothing"),
        pytest.param(lambda ledger: setattr(ledger, "node", NodeFacts()), False, id="node"),
        pytest.param(lambda ledger: setattr(ledger, "closed", "why"), False, id="closed"),
        pytest.param(lambda ledger: ledger.charge("u", ClassId(0), member_class()), False, id="charged"),
    ],
)
def test_a_ledger_is_idle_when_nothing_needs_it(change: object, is_idle: bool) -> None:
    ledger = Ledger("n")
    assert callable(change)
    change(ledger)

    assert ledger.is_idle is is_idle


def _node(**allocatable: str) -> Node:
    return msgspec.convert(
        {
            "metadata": {
                "name": "n",
                "uid": "u",
                "labels": {"zone": "a"},
                "deletionTimestamp": "2026-11-30T00:00:00Z",
            },
            "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {"allocatable": allocatable},
        },
        Node,
    )


def test_facts_of_a_node_are_what_placement_reads() -> None:
    assert facts_of(_node(cpu="7910m", memory="1Ki")) == NodeFacts(
        uid="u",
        labels={"zone": "a"},
        taints=(Taint(key="k", effect="NoSchedule"),),
        unschedulable=True,
        deleting=True,
        allocatable={"cpu": 7910, "memory": 1024},
    )


def test_facts_of_a_bare_node_are_empty() -> None:
    assert facts_of(Node()) == NodeFacts()


def test_an_illegal_allocatable_is_an_error_that_names_it() -> None:
    with pytest.raises(QuantityError, match="lots"):
        facts_of(_node(cpu="lots"))

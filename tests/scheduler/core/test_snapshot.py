"""The snapshot: always equal to one built anew, rows that stay, trials that leave nothing behind."""

from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from gangline.contract.pod import NodeSelectorTerm, SelectorRequirement
from scheduler.core.arrays import AMOUNT_LIMIT
from scheduler.core.events import Scoring
from scheduler.core.filters.node_facts import first_failure
from scheduler.core.model.ledger import Ledger, NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.placement import Plan, place
from scheduler.core.reasons import Unplaced
from scheduler.core.scores.soft_taints import unwelcome
from scheduler.core.snapshot import Snapshot
from tests.support.small_clusters import HARD, SOFT, Cluster, ledger, member_class

_NAMES = st.sampled_from([f"n{number}" for number in range(6)])
_FACTS = st.builds(
    NodeFacts,
    labels=st.sampled_from([{}, {"zone": "a"}, {"zone": "b", "rack": "1"}]),
    taints=st.sampled_from([(), (SOFT,), (HARD, SOFT)]),
    unschedulable=st.booleans(),
    deleting=st.booleans(),
    allocatable=st.dictionaries(st.sampled_from(["cpu", "memory", "a/b"]), st.integers(-5, 2**63 - 1)),
)
_NAMED = SelectorRequirement(key="metadata.name", operator="In", values=("n1",))
_RULES = [
    NodeRules(),
    NodeRules(selector=(("zone", "a"),)),
    NodeRules(selector=(("rack", "1"), ("zone", "b"))),
    NodeRules(affinity=(NodeSelectorTerm(match_fields=(_NAMED,)),)),
]


class SnapshotMachine(RuleBasedStateMachine):
    """Nodes come, change, go and come again under the same names while pods are charged and rules are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster([])
        self.rows: dict[str, int] = {}

    @property
    def snapshot(self) -> Snapshot:
        return self.cluster.snapshot

    @rule(name=_NAMES, facts=_FACTS, closed=st.sampled_from([None, "unreadable"]))
    def node_observed(self, name: str, facts: NodeFacts, closed: str | None) -> None:
        one = self.cluster.ledgers.setdefault(name, Ledger(name))
        one.node, one.closed = facts, closed
        self.snapshot.write_row(one)

    @rule(name=_NAMES, by_ledger=st.booleans())
    def node_gone(self, name: str, by_ledger: bool) -> None:
        one = self.cluster.ledgers.setdefault(name, Ledger(name))
        one.node = None
        if by_ledger:
            self.snapshot.write_row(one)
        else:
            self.snapshot.drop_row(name)

    @rule(name=_NAMES, uid=st.sampled_from("ab"), cpu=st.integers(1, 2**63 - 1), ports=st.sampled_from([(), (80,)]))
    def pod_charged(self, name: str, uid: str, cpu: int, ports: tuple[int, ...]) -> None:
        self.cluster.ledgers.setdefault(name, Ledger(name))
        self.cluster.charge(name, member_class(cpu=cpu, ports=ports), uid=uid)

    @rule(name=_NAMES, uid=st.sampled_from("ab"))
    def pod_released(self, name: str, uid: str) -> None:
        one = self.cluster.ledgers.setdefault(name, Ledger(name))
        one.release(uid)
        self.snapshot.write_row(one)

    @rule(rules=st.sampled_from(_RULES))
    def rules_asked(self, rules: NodeRules) -> None:
        self.snapshot.judged(first_failure, rules)
        self.snapshot.judged(unwelcome, rules)

    @precondition(lambda self: self.snapshot.node_count)
    @rule(taken=st.lists(st.integers(0, 50), max_size=4), cpu=st.integers(1, 9), fails=st.booleans())
    def something_tried(self, taken: list[int], cpu: int, fails: bool) -> None:
        class_id = self.cluster.classes.acquire(member_class(cpu=cpu, ports=(80,)))
        request = self.snapshot.request_of(class_id)
        before = self.snapshot.free.tobytes()
        with ExitStack() as stack:
            if fails:
                stack.enter_context(pytest.raises(ZeroDivisionError))
            for count in taken:
                rows = self.snapshot.rows()[: 1 + count % 3]
                stack.enter_context(self.snapshot.trial()).take(rows, np.full(len(rows), count), request)
            if fails:
                raise ZeroDivisionError
        assert self.snapshot.free.tobytes() == before

    @invariant()
    def safety_it_equals_a_snapshot_built_anew(self) -> None:
        names = sorted(self.snapshot.node_names | self.cluster.ledgers.keys())
        assert self.snapshot.validate(names, self.cluster.ledgers) == []

    @invariant()
    def safety_a_row_never_moves_while_its_node_lives(self) -> None:
        living = {name for name, one in self.cluster.ledgers.items() if one.node is not None}
        rows = {name: int(self.snapshot.find([name])[0]) for name in living}
        assert len(set(rows.values())) == len(rows) == self.snapshot.node_count
        assert all(rows[name] == row for name, row in self.rows.items() if name in rows)
        self.rows = rows

    @invariant()
    def safety_dead_rows_have_no_room(self) -> None:
        dead = np.ones(self.snapshot.free.shape[1], np.bool_)
        dead[self.snapshot.rows()] = False
        assert not self.snapshot.free[:, dead].any()
        assert not self.snapshot.allocatable[:, dead].any()

    @invariant()
    def safety_rows_come_by_name(self) -> None:
        assert self.snapshot.names(self.snapshot.rows()) == sorted(self.rows)


TestSnapshot = SnapshotMachine.TestCase


def _free(cluster: Cluster, name: str, resource: str) -> int:
    line = cluster.snapshot.line_of(resource)
    assert line is not None
    return int(cluster.snapshot.free[line, cluster.snapshot.find([name])[0]])


def test_a_node_without_object_has_no_row_however_much_is_charged_to_it() -> None:
    cluster = Cluster([ledger("n1")])
    cluster.ledgers["ghost"] = Ledger("ghost")

    cluster.charge("ghost", member_class(cpu=1), uid="u")

    assert cluster.snapshot.node_count == 1


def test_more_used_than_there_is_leaves_less_than_nothing() -> None:
    cluster = Cluster([ledger("n1", cpu=1000)])

    cluster.charge("n1", member_class(cpu=1500), uid="u")

    assert _free(cluster, "n1", "cpu") == -500


def test_amounts_beyond_the_limit_are_cut_towards_less_room() -> None:
    cluster = Cluster([ledger("huge", cpu=2**63 - 1), ledger("owing", cpu=0)])
    for number in range(4):
        cluster.charge("owing", member_class(cpu=2**63 - 1), uid=f"u{number}")

    assert _free(cluster, "huge", "cpu") == AMOUNT_LIMIT - 1
    assert _free(cluster, "owing", "cpu") == -AMOUNT_LIMIT


def test_a_member_that_asks_for_the_limit_fits_nowhere() -> None:
    cluster = Cluster([ledger("huge", cpu=2**63 - 1)])
    demand = cluster.demand((member_class(cpu=AMOUNT_LIMIT), 1))

    assert isinstance(place(demand, cluster.snapshot, scoring=Scoring.PACK), Unplaced)


def test_a_trial_takes_what_is_asked_for() -> None:
    cluster = Cluster([ledger("n1", cpu=10), ledger("n2", cpu=10)])
    request = cluster.snapshot.request_of(cluster.classes.acquire(member_class(cpu=3)))

    with cluster.snapshot.trial() as trial:
        trial.take(cluster.snapshot.find(["n1", "n2"]), np.array([2, 1]), request)
        taken = [_free(cluster, name, "cpu") for name in ("n1", "n2")]

    assert taken == [4, 7]


def test_a_trial_takes_one_of_each_request_in_rows_that_may_come_more_than_once() -> None:
    cluster = Cluster([ledger("n1", cpu=10), ledger("n2", cpu=10)])
    small, large = (
        cluster.snapshot.request_of(cluster.classes.acquire(one)) for one in (member_class(cpu=1), member_class(cpu=3))
    )
    port = cluster.snapshot.request_of(cluster.classes.acquire(member_class(ports=(80,))))
    before = cluster.snapshot.free.tobytes()

    with cluster.snapshot.trial() as trial:
        trial.take_each(cluster.snapshot.find(["n1", "n2", "n1", "n1"]), [large, small, small, port])
        taken = [(_free(cluster, name, "cpu"), _free(cluster, name, "pods")) for name in ("n1", "n2")]
        in_use = cluster.snapshot.names(cluster.snapshot.port_conflicts(port))

    assert (taken, in_use) == ([(6, 107), (9, 109)], ["n1"])
    assert cluster.snapshot.free.tobytes() == before


def test_a_trial_that_takes_more_than_can_be_counted_leaves_nothing() -> None:
    cluster = Cluster([ledger("n1", cpu=10)])
    huge = cluster.snapshot.request_of(cluster.classes.acquire(member_class(cpu=AMOUNT_LIMIT)))

    with cluster.snapshot.trial() as trial:
        trial.take_each(cluster.snapshot.find(["n1"] * 2000), [huge] * 2000)
        assert _free(cluster, "n1", "cpu") == 10 - AMOUNT_LIMIT


def test_only_the_innermost_open_trial_can_take() -> None:
    cluster = Cluster([ledger("n1", cpu=10)])
    request = cluster.snapshot.request_of(cluster.classes.acquire(member_class(cpu=3)))
    rows, one = cluster.snapshot.rows(), np.array([1])

    with cluster.snapshot.trial() as outer:
        with cluster.snapshot.trial() as inner:
            inner.take(rows, one, request)
            with pytest.raises(RuntimeError, match="innermost"):
                outer.take(rows, one, request)
        with pytest.raises(RuntimeError, match="innermost"):
            inner.take(rows, one, request)
        outer.take(rows, one, request)
        assert _free(cluster, "n1", "cpu") == 7

    assert _free(cluster, "n1", "cpu") == 10


def test_a_row_that_comes_twice_in_one_take_is_refused() -> None:
    cluster = Cluster([ledger("n1")])
    request = cluster.snapshot.request_of(cluster.classes.acquire(member_class(cpu=1)))

    with cluster.snapshot.trial() as trial, pytest.raises(ValueError, match="not unique"):
        trial.take(cluster.snapshot.find(["n1", "n1"]), np.array([1, 1]), request)


def test_amounts_that_cannot_be_counted_are_refused() -> None:
    cluster = Cluster([ledger("n1")])
    request = cluster.snapshot.request_of(cluster.classes.acquire(member_class(cpu=2**52)))

    with cluster.snapshot.trial() as trial, pytest.raises(OverflowError, match="too many to count"):
        trial.take(cluster.snapshot.find(["n1"]), np.array([2**10]), request)


@pytest.mark.parametrize("write", ["write_row", "drop_row"])
def test_the_snapshot_cannot_be_written_while_a_trial_is_open(write: str) -> None:
    cluster = Cluster([ledger("n1")])
    argument = cluster.ledgers["n1"] if write == "write_row" else "n1"

    with cluster.snapshot.trial(), pytest.raises(RuntimeError, match="trial is open"):
        getattr(cluster.snapshot, write)(argument)

    getattr(cluster.snapshot, write)(argument)


def test_only_nodes_whose_facts_have_changed_are_judged_again() -> None:
    asked: list[str] = []

    def judge(rules: NodeRules, name: str, facts: NodeFacts) -> int:
        asked.append(name)
        return len(facts.taints)

    cluster = Cluster([ledger("n1"), ledger("n2", taints=(HARD,)), ledger("n3")])
    cluster.snapshot.judged(judge, NodeRules())
    first, asked[:] = list(asked), []
    cluster.charge("n1", member_class(cpu=1), uid="u")
    cluster.snapshot.write_row(ledger("n3", taints=(HARD, SOFT)))

    codes = cluster.snapshot.judged(judge, NodeRules())

    assert (len(first), asked) == (2, ["n3"])
    assert codes[cluster.snapshot.find(["n1", "n2", "n3"])].tolist() == [0, 1, 2]


def test_labels_that_the_rules_do_not_read_make_no_difference() -> None:
    asked: list[str] = []

    def judge(rules: NodeRules, name: str, facts: NodeFacts) -> int:
        asked.append(name)
        return 0

    cluster = Cluster([ledger(f"n{n}", labels={"host": f"n{n}", "zone": "ab"[n % 2]}) for n in range(10)])

    cluster.snapshot.judged(judge, NodeRules(selector=(("zone", "a"),)))

    assert len(asked) == 2


def test_a_snapshot_that_differs_from_the_ledgers_names_the_node() -> None:
    cluster = Cluster([ledger("n1", cpu=4), ledger("n2")])
    cluster.ledgers["n1"].node = replace(cluster.ledgers["n1"].node or NodeFacts(), allocatable={"cpu": 5})

    (problem,) = cluster.snapshot.validate(["n1", "n2"], cluster.ledgers)

    assert problem.startswith("node n1: the snapshot has {'room': {'cpu': (4, 4), 'pods': (110, 110)}")


@given(st.permutations([f"n{number}" for number in range(5)]), st.sampled_from(Scoring))
def test_equal_nodes_are_chosen_by_name(order: list[str], scoring: Scoring) -> None:
    cluster = Cluster([ledger(name) for name in order])
    demand = cluster.demand((member_class(cpu=8000), 2))

    answer = place(demand, cluster.snapshot, scoring=scoring)

    assert isinstance(answer, Plan)
    assert [each.node for each in answer.assignments] == ["n0", "n1"]

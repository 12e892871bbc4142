"""Nodes that look alike: groups may be too fine, never too coarse."""

from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.contract.node import Taint
from gangline.contract.pod import NodeSelectorTerm, SelectorRequirement
from scheduler.core.arrays import Row
from scheduler.core.filters.node_facts import first_failure
from scheduler.core.model.ledger import NodeFacts
from scheduler.core.model.member_class import NodeRules
from scheduler.core.node_traits import NodeTraits
from tests.support.small_clusters import HARD, SOFT, TOLERATES_HARD

_NAMES = ["n0", "n1", "n2", "n3"]
_PAIRS = st.dictionaries(st.sampled_from("ab"), st.sampled_from(["1", "2", "3", "x"]), max_size=2)
_FACTS = st.builds(
    NodeFacts,
    labels=_PAIRS,
    taints=st.sampled_from([(), (SOFT,), (HARD,)]),
    unschedulable=st.booleans(),
    deleting=st.booleans(),
)
_TERMS = st.builds(
    NodeSelectorTerm,
    match_expressions=st.lists(
        st.builds(
            SelectorRequirement,
            key=st.sampled_from("abc"),
            operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"]),
            values=st.sampled_from([("1",), ("2",), ("1", "3"), (), None]),
        ),
        max_size=2,
    ).map(tuple),
    match_fields=st.lists(
        st.builds(
            SelectorRequirement,
            key=st.just("metadata.name"),
            operator=st.sampled_from(["In", "NotIn"]),
            values=st.sampled_from(_NAMES).map(lambda name: (name,)),
        ),
        max_size=1,
    ).map(tuple),
)
_RULES = st.builds(
    NodeRules,
    selector=_PAIRS.map(lambda pairs: tuple(sorted(pairs.items()))),
    affinity=st.none() | st.lists(_TERMS, max_size=2).map(tuple),
    tolerations=st.sampled_from([(), (TOLERATES_HARD,)]),
)
_WRITES = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(_NAMES), _FACTS), min_size=1, max_size=8)


@given(_WRITES, st.lists(_RULES, min_size=1, max_size=3))
def test_rules_say_the_same_of_every_node_in_a_group(
    writes: list[tuple[int, str, NodeFacts]], asked: list[NodeRules]
) -> None:
    traits = NodeTraits()
    there: dict[int, tuple[str, NodeFacts]] = {}
    for place, name, facts in writes:
        row = min(place, len(there))
        traits.alike(asked[0], np.arange(len(there)))
        if not any(other == name and at != row for at, (other, _) in there.items()):
            traits.write(Row(row), name, facts)
            there[row] = (name, facts)

    rows = np.arange(len(there))
    for rules in asked:
        examples, groups = traits.alike(rules, rows)
        for row, group in zip(rows.tolist(), groups.tolist(), strict=True):
            expected = first_failure(rules, *there[row])
            assert first_failure(rules, *there[int(examples[group])]) == expected


def test_a_pinned_rule_sets_only_the_named_node_apart() -> None:
    traits = NodeTraits()
    for row in range(100):
        traits.write(Row(row), f"n{row}", NodeFacts(labels={"host": f"n{row}"}))
    field = SelectorRequirement(key="metadata.name", operator="In", values=("n7",))
    rules = NodeRules(affinity=(NodeSelectorTerm(match_fields=(field,)),))

    examples, groups = traits.alike(rules, np.arange(100))

    assert len(examples) == 2
    assert np.flatnonzero(groups == groups[7]).tolist() == [7]


def _requiring(operator: str, *values: str) -> NodeRules:
    requirement = SelectorRequirement(key="host", operator=operator, values=values)
    return NodeRules(affinity=(NodeSelectorTerm(match_expressions=(requirement,)),))


@pytest.mark.parametrize(
    ("rules", "number"),
    [
        (NodeRules(selector=(("host", "n7"),)), 3),
        (NodeRules(selector=(("host", "nowhere"),)), 2),
        (_requiring("In", "n7", "n8"), 4),
        (_requiring("NotIn", "n7"), 3),
        (_requiring("Exists"), 2),
        (_requiring("Gt", "7"), 100),
    ],
    ids=["selector", "selector of nowhere", "In", "NotIn", "Exists", "Gt"],
)
def test_rules_set_only_the_values_apart_that_they_name(rules: NodeRules, number: int) -> None:
    traits = NodeTraits()
    for row in range(100):
        traits.write(Row(row), f"n{row}", NodeFacts(labels={"host": f"n{row}"} if row else {}))

    examples, _ = traits.alike(rules, np.arange(100))

    assert len(examples) == number


class Stamp(str):
    """A text that tells, by a weak reference, whether somebody still has it."""

    __slots__ = ("__weakref__",)


def test_values_of_nodes_long_gone_are_forgotten_though_nobody_asks() -> None:
    traits = NodeTraits()
    stamps = []
    traits.write(Row(0), "n0", NodeFacts(labels={"seen": "0"}))
    traits.alike(NodeRules(selector=(("seen", "0"),)), np.arange(1))
    for second in range(1000):
        taint, label = Stamp(f"taint-{second}"), Stamp(f"label-{second}")
        stamps += [ref(taint), ref(label)]
        facts = NodeFacts(labels={"seen": label}, taints=(Taint(key="ToBeDeleted", value=taint, effect="NoSchedule"),))
        traits.write(Row(0), "n0", facts)

    assert sum(stamp() is not None for stamp in stamps) < 200

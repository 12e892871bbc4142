from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.contract.counting import Counts, MemberFacts, PodPhase
from gangline.contract.ordering import OrderKey, Turn, gang_priority, order_key, priorities, turn_of


def members(*values: int, **facts: Any) -> list[MemberFacts]:
    return [MemberFacts(uid=str(value), created_s=0, priority=value, **facts) for value in values]


@pytest.mark.parametrize(
    ("of", "class_priority", "priority"),
    [
        pytest.param([], None, 0, id="nobody"),
        pytest.param([], 50, 50, id="nobody, a class"),
        pytest.param(members(10, 10), None, 10, id="all alike"),
        pytest.param(members(10, 3, 7), None, 3, id="the lowest"),
        pytest.param(members(-10, 3), None, -10, id="negative"),
        pytest.param(members(10), 100, 10, id="a class never raises"),
        pytest.param(members(10), 5, 5, id="a class lowers"),
        pytest.param(members(10), 0, 0, id="a class of 0 lowers"),
        pytest.param(
            [*members(10), *members(1, phase=PodPhase.SUCCEEDED)], None, 10, id="finished members do not count"
        ),
        pytest.param([*members(10), *members(1, deleting=True)], None, 10, id="deleting members do not count"),
        pytest.param([*members(10), *members(1, gated=True)], None, 10, id="gated members do not count"),
        pytest.param([*members(10), *members(1, node="n1")], None, 1, id="bound members count"),
    ],
)
def test_gang_priority(of: list[MemberFacts], class_priority: int | None, priority: int) -> None:
    assert gang_priority(priorities(of), class_priority) == priority


def test_mixed_priorities_are_told() -> None:
    assert priorities([*members(7, 3, 7), *members(1, phase=PodPhase.FAILED)]) == (3, 7)


@pytest.mark.parametrize(
    ("min_member", "counts", "turn"),
    [
        pytest.param(3, Counts(unfinished=3), Turn.QUORUM, id="nothing bound"),
        pytest.param(3, Counts(unfinished=2), Turn.QUORUM, id="incomplete"),
        pytest.param(3, Counts(unfinished=3, bound=2), Turn.REPAIR, id="one lost"),
        pytest.param(3, Counts(unfinished=4, bound=3), Turn.SURPLUS, id="at quorum"),
        pytest.param(3, Counts(unfinished=1, succeeded=6), Turn.SURPLUS, id="last of a Job in waves"),
        pytest.param(3, Counts(unfinished=1, succeeded=2), Turn.QUORUM, id="succeeded, nothing bound"),
        pytest.param(3, Counts(unfinished=2, bound=1, succeeded=1), Turn.REPAIR, id="succeeded and bound"),
        pytest.param(None, Counts(unfinished=1), Turn.QUORUM, id="gang of one"),
    ],
)
def test_turn(min_member: int | None, counts: Counts, turn: Turn) -> None:
    assert turn_of(min_member, counts) is turn


def key(
    priority: int = 0,
    turn: Turn = Turn.QUORUM,
    group: float = 0,
    oldest: float = 0,
    namespace: str = "ns",
    name: str = "g",
    uid: str = "u",
) -> OrderKey:
    return order_key(
        priority=priority,
        turn=turn,
        group_created_s=group,
        oldest_waiting_s=oldest,
        namespace=namespace,
        name=name,
        uid=uid,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(key(priority=9, turn=Turn.SURPLUS, oldest=9), key(turn=Turn.REPAIR), id="priority before all"),
        pytest.param(key(turn=Turn.REPAIR, oldest=9), key(turn=Turn.QUORUM), id="repairs before quorums"),
        pytest.param(key(turn=Turn.QUORUM, oldest=9), key(turn=Turn.SURPLUS), id="quorums before surplus"),
        pytest.param(key(oldest=1, name="z"), key(oldest=2, name="a"), id="older first"),
        pytest.param(key(group=1, oldest=5), key(group=6, oldest=2), id="the later of group and oldest member"),
        pytest.param(key(namespace="a", name="z"), key(namespace="b", name="a"), id="namespace"),
        pytest.param(key(name="a", uid="z"), key(name="b", uid="a"), id="name"),
        pytest.param(key(uid="a"), key(uid="b"), id="uid"),
    ],
)
def test_order(first: OrderKey, second: OrderKey) -> None:
    assert first < second


@given(
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from(Turn), st.integers(0, 2), st.sampled_from("ab")), max_size=8)
)
def test_order_is_total(gangs: list[tuple[int, Turn, int, str]]) -> None:
    keys = [
        key(priority, turn, oldest=created, name=name, uid=str(place))
        for place, (priority, turn, created, name) in enumerate(gangs)
    ]

    ordered = sorted(keys)
    assert all(before < after for before, after in pairwise(ordered))

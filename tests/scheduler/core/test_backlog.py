"""The backlog: order, parking, waking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.contract.membership import GangKey, GangKind
from gangline.contract.ordering import OrderKey, Turn
from scheduler.core.backlog import Backlog
from scheduler.core.cache import Gains
from scheduler.core.reasons import Cause


def key(name: str) -> GangKey:
    return GangKey("team", GangKind.POD_GROUP, name)


def order(place: int, name: str = "") -> OrderKey:
    return (0, Turn.QUORUM, float(place), "team", name, "")


def taken(backlog: Backlog) -> list[str]:
    names = []
    while (gang := backlog.take()) is not None:
        names.append(gang.name)
    return names


def gains(*resources: str, rules: bool = False, new_node: bool = False) -> Gains:
    made = Gains()
    made.resources.update(resources)
    made.rules, made.new_node = rules, new_node
    return made


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9)), max_size=30))
def test_each_gang_comes_once_at_its_last_place(puts: list[tuple[str, int]]) -> None:
    backlog = Backlog()
    for name, place in puts:
        backlog.queue(key(name), order(place, name))

    assert backlog.queued == len(dict(puts))
    assert taken(backlog) == [name for name, _ in sorted(dict(puts).items(), key=lambda put: (put[1], put[0]))]
    assert backlog.queued == 0


def test_a_removed_gang_does_not_come() -> None:
    backlog = Backlog()
    backlog.queue(key("a"), order(1))
    backlog.remove(key("a"))
    backlog.remove(key("never there"))

    assert taken(backlog) == []


@pytest.mark.parametrize(
    ("gained", "wakes"),
    [
        (gains("cpu"), True),
        (gains("memory"), False),
        (gains(rules=True), False),
        (gains(new_node=True), True),
        (gains(), False),
    ],
    ids=["room it waits for", "other room", "node rules", "a new node", "nothing"],
)
def test_what_waits_for_room_is_woken_by_that_room_or_a_new_node(gained: Gains, wakes: bool) -> None:
    backlog = Backlog()
    backlog.park(key("a"), frozenset({Cause.ROOM}), frozenset({"cpu", "nvidia.com/gpu"}))

    assert backlog.wake(gained) == ([key("a")] if wakes else [])


def test_what_waits_for_node_rules_is_woken_by_them() -> None:
    backlog = Backlog()
    backlog.park(key("a"), frozenset({Cause.NODE_RULES}), frozenset())

    assert backlog.wake(gains("cpu")) == []
    assert backlog.wake(gains(rules=True)) == [key("a")]


def test_a_queued_gang_is_parked_no_more_and_a_parked_one_does_not_come() -> None:
    backlog = Backlog()
    backlog.queue(key("a"), order(1))
    backlog.park(key("a"), frozenset({Cause.ROOM}), frozenset({"cpu"}))
    assert (backlog.queued, taken(backlog)) == (0, [])

    backlog.queue(key("a"), order(1))

    assert (backlog.wake(gains("cpu")), taken(backlog)) == ([], ["a"])


def failing(backlog: Backlog, gang: GangKey) -> None:
    """It was tried and does not fit; at once something is gained that might help it."""
    backlog.park(gang, frozenset({Cause.ROOM}), frozenset({"cpu"}))
    backlog.queue(gang, order(1))
    assert backlog.wake(gains("cpu")) == []


def test_a_gang_that_failed_comes_first_again_while_there_is_time_for_all() -> None:
    backlog = Backlog()
    backlog.queue(key("first"), order(1))
    backlog.queue(key("second"), order(2))
    assert backlog.take() == key("first")

    failing(backlog, key("first"))

    assert taken(backlog) == ["first", "second"]


@pytest.mark.parametrize("woken", ["before", "after"])
def test_once_there_is_no_time_for_all_those_that_failed_let_the_others_go_first(woken: str) -> None:
    backlog = Backlog()
    for place, name in enumerate(["first", "second", "third"], 1):
        backlog.queue(key(name), order(place))
    assert backlog.take() == key("first")

    if woken == "before":
        failing(backlog, key("first"))
    else:
        backlog.park(key("first"), frozenset({Cause.ROOM}), frozenset({"cpu"}))
    backlog.pause()
    if woken == "after":
        failing(backlog, key("first"))

    assert backlog.queued == 3
    assert taken(backlog) == ["second", "third", "first"]
    assert backlog.queued == 0


def test_those_that_come_meanwhile_do_not_hold_up_those_that_failed_for_longer_than_a_round() -> None:
    backlog = Backlog()
    backlog.queue(key("failed"), order(1))
    backlog.queue(key("second"), order(2))
    assert backlog.take() == key("failed")
    failing(backlog, key("failed"))
    backlog.pause()

    names = []
    for number in range(4):
        backlog.queue(key(f"new {number}"), order(3 + number))
        gang = backlog.take()
        assert gang is not None
        names.append(gang.name)
        backlog.pause()

    assert names == ["second", "new 0", "failed", "new 1"]


def test_a_gang_that_was_removed_does_not_come_in_the_next_round() -> None:
    backlog = Backlog()
    backlog.queue(key("failed"), order(1))
    backlog.queue(key("second"), order(2))
    assert backlog.take() == key("failed")
    failing(backlog, key("failed"))
    backlog.pause()

    backlog.remove(key("failed"))

    assert taken(backlog) == ["second"]

"""Deadlines: one for each key, the earliest first."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.deadlines import Deadlines


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 20)), max_size=200), st.integers(0, 20))
def test_each_key_is_due_once_at_the_time_set_last(sets: list[tuple[str, int]], now: int) -> None:
    deadlines: Deadlines[str] = Deadlines()
    for key, at in sets:
        deadlines.set(key, at)
    last = dict(sets)

    assert deadlines.next_at() == min(last.values(), default=None)
    due = deadlines.take_due(now)

    assert sorted(due) == sorted(key for key, at in last.items() if at <= now)
    assert [last[key] for key in due] == sorted(last[key] for key in due)
    assert len(deadlines) == sum(at > now for at in last.values())


def test_a_deadline_is_brought_forward_but_never_put_off() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 5)
    deadlines.bring_forward("a", 9)
    assert deadlines.next_at() == 5
    deadlines.bring_forward("a", 3)

    assert deadlines.next_at() == 3


def test_a_cancelled_deadline_is_never_due() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 5)
    deadlines.cancel("a")
    deadlines.cancel("never set")

    assert (deadlines.take_due(100), deadlines.next_at()) == ([], None)

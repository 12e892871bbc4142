from collections.abc import Sequence

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gangline.base.event_queue import EventQueue

ROOM, RULES, WAITING = range(3)


def queue_of(entries: Sequence[tuple[str, str, int]], results: Sequence[str] = ()) -> EventQueue[str, str]:
    queue: EventQueue[str, str] = EventQueue()
    for key, value, urgency in entries:
        queue.put(key, value, urgency, now=0)
    for value in results:
        queue.put_result(value)
    return queue


@pytest.mark.parametrize(
    ("entries", "results", "limit", "taken"),
    [
        pytest.param([], "", 5, "", id="empty"),
        pytest.param([("a", "1", ROOM), ("b", "2", ROOM)], "", 5, "12", id="first in, first out"),
        pytest.param([("a", "1", WAITING), ("b", "2", ROOM), ("c", "3", RULES)], "", 5, "231", id="urgent first"),
        pytest.param(
            [("a", "1", ROOM), ("b", "2", ROOM), ("a", "3", ROOM)], "", 5, "32", id="newest, in its old place"
        ),
        pytest.param([("a", "1", WAITING), ("a", "2", ROOM)], "", 5, "2", id="more urgent"),
        pytest.param(
            [("a", "1", ROOM), ("b", "2", RULES), ("a", "3", WAITING)], "", 5, "32", id="keeps the more urgent class"
        ),
        pytest.param(
            [("a", "1", WAITING), ("b", "2", ROOM), ("a", "3", ROOM)], "", 5, "23", id="joins the end of that class"
        ),
        pytest.param([("a", "1", ROOM)], "xy", 5, "xy1", id="results first"),
        pytest.param([], "xxy", 5, "xxy", id="results are never merged"),
        pytest.param([("a", "1", ROOM), ("b", "2", ROOM)], "xyz", 2, "x1", id="results leave a place for each class"),
        pytest.param(
            [("a", "1", ROOM), ("b", "2", ROOM), ("c", "3", WAITING)], "", 2, "13", id="patient class gets one"
        ),
        pytest.param(
            [("a", "1", ROOM), ("b", "2", RULES), ("c", "3", WAITING)],
            "xy",
            1,
            "x123",
            id="one of each beyond the limit",
        ),
        pytest.param(
            [("a", "1", ROOM), ("b", "2", ROOM), ("c", "3", ROOM), ("d", "4", WAITING)],
            "x",
            4,
            "x124",
            id="urgent fills up",
        ),
    ],
)
def test_take(entries: list[tuple[str, str, int]], results: str, limit: int, taken: str) -> None:
    assert "".join(queue_of(entries, results).take(limit)) == taken


def test_what_is_left_comes_next() -> None:
    queue = queue_of([("a", "1", ROOM), ("b", "2", ROOM), ("c", "3", WAITING)], "xy")

    assert [queue.take(2), queue.take(2), queue.take(2)] == [["x", "1", "3"], ["y", "2"], []]


def test_a_key_that_was_taken_starts_anew() -> None:
    queue = queue_of([("a", "1", ROOM)])
    queue.take(1)
    queue.put("a", "2", WAITING, now=1)

    assert queue.depths() == {ROOM: 0, WAITING: 1}


def test_what_is_discarded_was_never_put() -> None:
    queue = queue_of([("a", "1", ROOM), ("b", "2", ROOM)])

    queue.discard("a")
    queue.discard("nobody")
    queue.put("a", "3", WAITING, now=0)

    assert queue.depths() == {ROOM: 1, WAITING: 1}
    assert queue.take(5) == ["2", "3"]


def test_limit_must_be_positive() -> None:
    with pytest.raises(ValueError, match="limit 0"):
        queue_of([]).take(0)


def test_ages_count_from_entering_the_class() -> None:
    queue: EventQueue[str, str] = EventQueue()
    queue.put("a", "1", WAITING, now=10)
    queue.put("b", "1", WAITING, now=11)
    queue.put("a", "2", WAITING, now=15)
    queue.put("b", "2", ROOM, now=20)

    assert queue.oldest_age(now=30) == {WAITING: 20, ROOM: 10}

    queue.take(5)

    assert queue.oldest_age(now=40) == {}


class EventQueueMachine(RuleBasedStateMachine):
    """Against a list of [key, value, urgency] that is searched from the front."""

    @initialize()
    def start(self) -> None:
        self.queue: EventQueue[str, int] = EventQueue()
        self.entries: list[tuple[str, int, int]] = []
        self.results: list[int] = []
        self.newest: dict[str, int] = {}
        self.version = 0

    @rule(key=st.sampled_from("abcdef"), urgency=st.integers(0, 2))
    def put(self, key: str, urgency: int) -> None:
        self.version += 1
        self.newest[key] = self.version
        self.queue.put(key, self.version, urgency, now=self.version)
        place = next((place for place, entry in enumerate(self.entries) if entry[0] == key), None)
        if place is None:
            self.entries.append((key, self.version, urgency))
        elif self.entries[place][2] > urgency:
            del self.entries[place]
            self.entries.append((key, self.version, urgency))
        else:
            self.entries[place] = (key, self.version, self.entries[place][2])

    @rule()
    def put_result(self) -> None:
        self.version += 1
        self.results.append(-self.version)
        self.queue.put_result(-self.version)

    @precondition(lambda self: self.entries or self.results)
    @rule(limit=st.integers(1, 8))
    def take(self, limit: int) -> None:
        classes = {urgency for _, _, urgency in self.entries}
        lanes = len(classes) + bool(self.results)
        taken = self.queue.take(limit)
        results = [value for value in taken if value < 0]
        by_value = {value: (key, urgency) for key, value, urgency in self.entries}
        urgencies = [by_value[value][1] for value in taken if value > 0]

        assert taken[: len(results)] == results == self.results[: len(results)]
        assert urgencies == sorted(urgencies)
        assert set(urgencies) == classes
        assert len(taken) == max(min(limit, len(self.entries) + len(self.results)), lanes)
        for urgency in classes:
            waiting = [value for _, value, of in self.entries if of == urgency]
            assert [value for value in taken if value in waiting] == waiting[: urgencies.count(urgency)]
        for value in taken:
            assert value < 0 or self.newest[by_value[value][0]] == value
        self.results = self.results[len(results) :]
        self.entries = [entry for entry in self.entries if entry[1] not in taken]

    @invariant()
    def safety_nothing_is_lost_or_doubled(self) -> None:
        assert len(self.queue) == len(self.entries) + len(self.results)
        depths = {urgency: depth for urgency, depth in self.queue.depths().items() if depth}
        assert depths == {
            urgency: sum(1 for entry in self.entries if entry[2] == urgency) for _, _, urgency in self.entries
        }

    @invariant()
    def progress_every_lane_moves(self) -> None:
        ages = self.queue.oldest_age(now=self.version)
        assert all(age >= 0 for age in ages.values())

    def teardown(self) -> None:
        while len(self.queue):
            self.take(limit=1)
        assert not self.entries
        assert not self.results


TestEventQueueMachine = EventQueueMachine.TestCase
TestEventQueueMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

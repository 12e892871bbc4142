import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gangline.base.key_queue import KeyQueue


def drained(queue: KeyQueue[str], now: float) -> str:
    taken = ""
    while (key := queue.take(now)) is not None:
        taken += key
        queue.done(key)
    return taken


@pytest.mark.parametrize(
    ("added", "now", "taken"),
    [
        pytest.param([], 9, "", id="empty"),
        pytest.param([("a", 0), ("b", 0), ("a", 0)], 9, "ab", id="each once, in order"),
        pytest.param([("a", 5), ("b", 3)], 9, "ba", id="earliest first"),
        pytest.param([("a", 5), ("b", 10)], 5, "a", id="only what is ready"),
        pytest.param([("a", 10), ("a", 5)], 5, "a", id="an earlier time holds"),
        pytest.param([("a", 5), ("a", 10)], 5, "a", id="a later time does not delay"),
        pytest.param([("a", 5), ("b", 5)], 5, "ab", id="equal times in order of adding"),
    ],
)
def test_take(added: list[tuple[str, float]], now: float, taken: str) -> None:
    queue: KeyQueue[str] = KeyQueue()
    for key, ready_at in added:
        queue.add(key, ready_at)

    assert drained(queue, now) == taken


def test_a_key_added_in_flight_comes_back_after_done() -> None:
    queue: KeyQueue[str] = KeyQueue()
    queue.add("a")
    assert queue.take(0) == "a"

    queue.add("a", 7)
    queue.add("a", 5)
    queue.add("a", 6)

    assert (queue.take(9), len(queue), queue.next_ready(9)) == (None, 1, None)
    queue.done("a")
    assert (queue.take(4), queue.next_ready(4)) == (None, 5)
    assert queue.take(5) == "a"


def test_done_without_a_new_add_forgets_the_key() -> None:
    queue: KeyQueue[str] = KeyQueue()
    queue.add("a")
    queue.take(0)
    queue.done("a")

    assert (len(queue), queue.next_ready(9), queue.take(9)) == (0, None, None)


def test_done_of_a_key_that_is_not_in_flight_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        KeyQueue[str]().done("a")


@pytest.mark.parametrize(
    ("added", "next_ready"),
    [
        pytest.param([], None, id="nothing waits"),
        pytest.param([("a", 0)], 4, id="overdue is now"),
        pytest.param([("a", 9), ("b", 7)], 7, id="the earliest"),
        pytest.param([("a", 9), ("a", 6)], 6, id="the time that holds"),
    ],
)
def test_next_ready(added: list[tuple[str, float]], next_ready: float | None) -> None:
    queue: KeyQueue[str] = KeyQueue()
    for key, ready_at in added:
        queue.add(key, ready_at)

    assert queue.next_ready(4) == next_ready


def test_a_flood_of_new_keys_does_not_starve_a_delayed_one() -> None:
    queue: KeyQueue[str] = KeyQueue()
    queue.add("late", ready_at=5)
    taken = []
    for step in range(4):
        queue.add(f"new-{2 * step}")
        queue.add(f"new-{2 * step + 1}")
        key = queue.take(now=10)
        assert key is not None
        taken.append(key)

    assert "late" in taken


def test_times_that_no_longer_hold_do_not_pile_up() -> None:
    queue: KeyQueue[str] = KeyQueue()
    queue.add("soon", ready_at=1_000)
    for _ in range(1000):
        queue.add("a", ready_at=1_000_000)
        queue.add("a")
        assert drained(queue, now=1) == "a"

    assert len(queue._heap) < 200


class KeyQueueMachine(RuleBasedStateMachine):
    """Against two dicts of ready times; order among ready keys is judged by fairness alone."""

    @initialize()
    def start(self) -> None:
        self.queue: KeyQueue[str] = KeyQueue()
        self.now = 0.0
        self.waiting: dict[str, float] = {}
        self.in_flight: set[str] = set()
        self.again: dict[str, float] = {}
        self.overtaken: dict[str, int] = {}

    @rule(key=st.sampled_from("abcd"), delay=st.integers(-2, 5))
    def add(self, key: str, delay: int) -> None:
        ready_at = self.now + delay
        into = self.again if key in self.in_flight else self.waiting
        into[key] = min(ready_at, into.get(key, ready_at))
        self.queue.add(key, ready_at)

    @rule()
    def take(self) -> None:
        ready = {key for key, ready_at in self.waiting.items() if ready_at <= self.now}
        key = self.queue.take(self.now)

        assert (key in ready) if ready else key is None
        if key is None:
            return
        del self.waiting[key]
        self.in_flight.add(key)
        self.overtaken = {other: self.overtaken.get(other, 0) + 1 for other in ready - {key}}
        # Each of the three other keys can be ahead once, and be found ready before it once more.
        assert max(self.overtaken.values(), default=0) <= 6

    @rule(key=st.sampled_from("abcd"))
    def done(self, key: str) -> None:
        if key not in self.in_flight:
            with pytest.raises(KeyError):
                self.queue.done(key)
            return
        self.in_flight.remove(key)
        if key in self.again:
            self.waiting[key] = self.again.pop(key)
        self.queue.done(key)

    @rule(seconds=st.integers(0, 4))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds

    @invariant()
    def safety_every_key_waits_once(self) -> None:
        assert len(self.queue) == len(self.waiting) + len(self.again)

    @invariant()
    def progress_the_next_time_is_known(self) -> None:
        earliest = min(self.waiting.values(), default=None)
        assert self.queue.next_ready(self.now) == (None if earliest is None else max(earliest, self.now))


TestKeyQueueMachine = KeyQueueMachine.TestCase
TestKeyQueueMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

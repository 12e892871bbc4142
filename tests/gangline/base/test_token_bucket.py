import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.base.token_bucket import TokenBucket
from tests.support.clock import ManualClock


def test_burst_then_rate() -> None:
    bucket = TokenBucket(rate=2, burst=3)

    assert [bucket.take(10) for _ in range(4)] == [0, 0, 0, 0.5]
    assert bucket.take(10.25) == 0.25
    assert bucket.take(10.5) == 0
    assert bucket.take(10.5) == 0.5


def test_a_refused_take_costs_nothing() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    bucket.take(0)

    assert [bucket.take(0.5) for _ in range(3)] == [0.5, 0.5, 0.5]
    assert bucket.take(1) == 0


def test_rest_refills_no_more_than_the_burst() -> None:
    bucket = TokenBucket(rate=1, burst=2)
    bucket.take(0)

    assert [bucket.take(1000) for _ in range(3)] == [0, 0, 1]


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_impossible_settings_are_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="wanted"):
        TokenBucket(rate=rate, burst=burst)


@given(
    rate=st.floats(0.1, 1000),
    burst=st.integers(1, 10),
    pauses_s=st.lists(st.floats(0, 5), min_size=1, max_size=50),
)
def test_never_more_than_burst_and_rate_allow(rate: float, burst: int, pauses_s: list[float]) -> None:
    clock = ManualClock(7.0)
    bucket = TokenBucket(rate=rate, burst=burst)
    taken_at = []
    for pause_s in pauses_s:
        clock.advance(pause_s)
        if bucket.take(clock.now()) == 0:
            taken_at.append(clock.now())

    assert taken_at
    for start, first in enumerate(taken_at):
        for end in range(start, len(taken_at)):
            assert end - start + 1 <= burst + (taken_at[end] - first) * rate + 1e-3


@given(rate=st.floats(0.1, 1000), start=st.floats(0, 1e6))
def test_waiting_as_told_is_enough(rate: float, start: float) -> None:
    clock = ManualClock(start)
    bucket = TokenBucket(rate=rate, burst=1)
    bucket.take(clock.now())
    clock.advance(bucket.take(clock.now()))

    assert bucket.take(clock.now()) == 0

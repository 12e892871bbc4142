import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.base.backoff import Backoff


@pytest.mark.parametrize(
    ("attempt", "jitter", "delay_s"),
    [
        pytest.param(1, 0.0, 0.5, id="first, at least half"),
        pytest.param(1, 0.5, 0.75, id="first, jittered"),
        pytest.param(2, 0.0, 1.0, id="second"),
        pytest.param(4, 0.0, 4.0, id="fourth"),
        pytest.param(5, 0.0, 5.0, id="at the limit"),
        pytest.param(10**9, 0.0, 5.0, id="after many attempts"),
        pytest.param(0, 0.0, 0.5, id="before the first"),
    ],
)
def test_delay(attempt: int, jitter: float, delay_s: float) -> None:
    assert Backoff(initial_s=1.0, limit_s=10.0).delay(attempt, jitter) == delay_s


@given(
    attempt=st.integers(1, 5000),
    jitter=st.floats(0, 1, exclude_max=True),
    factor=st.floats(1, 10),
)
def test_delays_stay_within_bounds_and_never_shrink(attempt: int, jitter: float, factor: float) -> None:
    backoff = Backoff(initial_s=0.1, limit_s=30.0, factor=factor)

    assert 0.05 <= backoff.delay(attempt, jitter) <= 30.0
    assert backoff.delay(attempt + 1, jitter) >= backoff.delay(attempt, jitter)


@pytest.mark.parametrize(
    ("initial_s", "limit_s", "factor"),
    [(0.0, 1.0, 2.0), (-1.0, 1.0, 2.0), (2.0, 1.0, 2.0), (1.0, 2.0, 0.5), (float("nan"), 1.0, 2.0)],
    ids=["zero", "negative", "above the limit", "shrinking", "not a number"],
)
def test_impossible_settings_are_refused(initial_s: float, limit_s: float, factor: float) -> None:
    with pytest.raises(ValueError, match="initial_s"):
        Backoff(initial_s=initial_s, limit_s=limit_s, factor=factor)

"""How the loop paces the scheduler."""

import pytest

from scheduler.loop import STEP_S, Pace


@pytest.mark.parametrize(
    ("seconds", "events_full", "rows_spent", "events", "rows"),
    [
        pytest.param(STEP_S * 2, True, True, 0.5, 0.5, id="too-long-halves-both"),
        pytest.param(STEP_S / 4, True, False, 2, 1, id="quick-and-full-takes-more-events"),
        pytest.param(STEP_S / 4, False, True, 1, 2, id="quick-and-unfinished-looks-at-more-rows"),
        pytest.param(STEP_S / 4, False, False, 1, 1, id="quick-with-nothing-more-to-do-stays"),
        pytest.param(STEP_S * 0.75, True, True, 1, 1, id="about-right-stays"),
    ],
)
def test_pace_follows_the_time_of_a_step(
    seconds: float, events_full: bool, rows_spent: bool, events: float, rows: float
) -> None:
    pace = Pace()
    before = (pace.events, pace.rows)

    changed = pace.adapt(seconds, events_full=events_full, rows_spent=rows_spent)

    assert (pace.events, pace.rows) == (before[0] * events, before[1] * rows)
    assert changed == (rows != 1)


def test_pace_has_bounds() -> None:
    pace = Pace()
    for _ in range(100):
        pace.adapt(STEP_S * 2, events_full=True, rows_spent=True)
    low = (pace.events, pace.rows)
    for _ in range(100):
        pace.adapt(0.0, events_full=True, rows_spent=True)

    assert low == (16, 10_000)
    assert (pace.events, pace.rows) == (4096, 4_000_000)

"""When a cron schedule is due."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gangline.sandbox.controllers import schedules

MONDAY = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2026-11-30 12:01"),
        ("*/15 * * * *", "2026-11-30 12:15"),
        ("5,50-52 13 * * *", "2026-11-30 13:05"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("0 9 * * mon-fri", "2026-12-01 09:00"),
        ("0 9 * * 7", "2026-12-06 09:00"),
        ("30 8 1 jan,Jul ?", "2027-01-01 08:30"),
        ("0 0 13 * 5", "2026-12-04 00:00"),
        ("10/20 * * * *", "2026-11-30 12:10"),
        ("@hourly", "2026-11-30 13:00"),
        ("@weekly", "2026-12-06 00:00"),
    ],
)
def test_next_time(text: str, expected: str) -> None:
    found = schedules.parse(text).next_after(MONDAY)

    assert found is not None
    assert f"{found:%Y-%m-%d %H:%M}" == expected


def test_a_day_that_never_is() -> None:
    assert schedules.parse("0 0 31 2 *").next_after(MONDAY) is None


def test_latest_time_is_after_the_one_before() -> None:
    hourly = schedules.parse("@hourly")
    noon = MONDAY.replace(second=0)

    assert hourly.latest_before(MONDAY, since=MONDAY.replace(hour=3)) == noon
    assert hourly.latest_before(noon, since=MONDAY.replace(hour=3)) == noon
    assert hourly.latest_before(MONDAY, since=noon) is None


def test_times_are_of_the_zone() -> None:
    found = schedules.parse("0 9 * * *").next_after(MONDAY.astimezone(ZoneInfo("America/New_York")))

    assert found is not None
    assert found.astimezone(UTC) == datetime(2026, 11, 30, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "* * * *", "60 * * * *", "* * 0 * *", "5-1 * * * *", "*/0 * * * *", "x * * * *"])
def test_bad_schedules_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="schedule"):
        schedules.parse(text)

"""When a cron schedule is due."""

from datetime import UTC, datetime

import pytest

from gangline.sandbox import schedules

MONDAY = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2026-11-30 12:01"),
        ("*/15 * * * *", "2026-11-30 12:15"),
        ("5,50-52 13 * * *", "2026-11-30 13:05"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("0 9 * * mon-fri", "2026-12-01 09:00"),
        ("0 9 * * 0", "2026-12-06 09:00"),
        ("0 9 * * */7", "2026-12-06 09:00"),
        ("0 9 * * 5/2", "2026-12-04 09:00"),
        ("0 9 5 12 6/2", "2026-12-05 09:00"),
        ("0 0 */10 * wed", "2026-12-01 00:00"),
        ("0 0 31 * */6", "2026-12-05 00:00"),
        ("0 0 */1 * wed", "2026-12-02 00:00"),
        ("30 8 1 jan,Jul ?", "2027-01-01 08:30"),
        ("0 0 13 * 5", "2026-12-04 00:00"),
        ("10/20 * * * *", "2026-11-30 12:10"),
        ("@hourly", "2026-11-30 13:00"),
        ("@weekly", "2026-12-06 00:00"),
    ],
)
def test_next_time(text: str, expected: str) -> None:
    found = schedules.next_after(text, MONDAY)

    assert found is not None
    assert f"{found:%Y-%m-%d %H:%M}" == expected


def test_weekdays_by_steps_end_on_saturday() -> None:
    saturday = datetime(2026, 12, 5, 12, 0, tzinfo=UTC)

    assert schedules.next_after("0 9 * * 4/1", saturday) == datetime(2026, 12, 10, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["0 0 31 2 *", "0 0 30,31 feb *", "0 0 31 4-6/2 ?"])
def test_a_day_that_no_such_month_has_is_legal_and_never_comes(text: str) -> None:
    assert schedules.next_after(text, MONDAY) is None
    assert schedules.latest_before(text, MONDAY, since=MONDAY.replace(year=2000)) is None


def test_latest_time_is_after_the_one_before() -> None:
    noon = MONDAY.replace(second=0)

    assert schedules.latest_before("@hourly", MONDAY, since=MONDAY.replace(hour=3)) == noon
    assert schedules.latest_before("@hourly", noon, since=MONDAY.replace(hour=3)) == noon
    assert schedules.latest_before("@hourly", MONDAY, since=noon) is None


def test_times_are_of_the_zone() -> None:
    found = schedules.next_after("0 9 * * *", MONDAY.astimezone(schedules.zone("America/New_York")))

    assert found is not None
    assert found.astimezone(UTC) == datetime(2026, 11, 30, 14, 0, tzinfo=UTC)


def test_where_clocks_are_put_forward_an_hour_that_is_not_there_comes_later() -> None:
    night = datetime(2026, 3, 29, 0, 30, tzinfo=schedules.zone("Europe/Berlin"))
    found = schedules.next_after("30 2 * * *", night)

    assert found is not None
    assert found.astimezone(UTC) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected exactly 5 fields, found 0"),
        ("* * * *", "expected exactly 5 fields, found 4"),
        ("0 * * * * *", "expected exactly 5 fields, found 6"),
        ("@every 1h", "expected exactly 5 fields, found 2"),
        ("60 * * * *", "Bad minute"),
        ("* * 0 * *", "Bad day-of-month"),
        ("* * 32 2 *", "Bad day-of-month"),
        ("* * 31 0 *", "Bad month"),
        ("* * * * 7", "above maximum"),
        ("* * * * 1-7", "above maximum"),
        ("* * * * 07", "above maximum"),
        ("* * * * mon,7", "above maximum"),
        ("* * * * 8", "Bad day-of-week"),
        ("* * * * */0", "Bad day-of-week"),
        ("5-1 * * * *", "Bad minute"),
        ("*/0 * * * *", "Bad minute"),
        ("x * * * *", "Bad minute"),
        ("0 0 L * *", "alone are read"),
        ("0 0 lw * *", "alone are read"),
        ("0 0 * * 5L", "alone are read"),
        ("0 0 * * 5#1", "alone are read"),
    ],
)
def test_bad_schedules_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        schedules.next_after(text, MONDAY)


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "\ud7ff", "../x", "Europe", "a\0b"])
def test_what_is_no_time_zone_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="unknown time zone"):
        schedules.zone(name)

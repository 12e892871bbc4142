"""Cron schedules: five fields of numbers, names, ranges, steps and lists, or `@hourly` and its like.

As in cron, where both the day of the month and the day of the week are restricted, one of them is enough.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Final

from msgspec import Struct

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("weekday", 0, 7, _DAYS),
)
HORIZON_DAYS: Final = 366 * 8
"""Every day that exists comes within that; the 29th of February may take eight years."""


class Schedule(Struct, frozen=True, kw_only=True):
    """The numbers that match, by field; weekday 0 is Sunday, and so is 7."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    needs_both: bool
    """Whether a day must match by its number and by its weekday, and not just by one of them."""

    def next_after(self, moment: datetime) -> datetime | None:
        """Find the first match after a moment, in the moment's time zone; None if there never is one."""
        coming = (each for offset in range(HORIZON_DAYS) for each in self._on(moment, offset))
        return next((each for each in coming if each > moment), None)

    def latest_before(self, moment: datetime, since: datetime) -> datetime | None:
        """Find the last match up to a moment, the moment included, that is after `since`."""
        for offset in range((moment.date() - since.date()).days + 1):
            matches = [each for each in self._on(moment, -offset) if since < each <= moment]
            if matches:
                return matches[-1]
        return None

    def _on(self, moment: datetime, offset_days: int) -> Iterator[datetime]:
        day = moment.date() + timedelta(days=offset_days)
        for hour in self.hours if self._has_day(day) else ():
            for minute in self.minutes:
                yield datetime(day.year, day.month, day.day, hour, minute, tzinfo=moment.tzinfo)

    def _has_day(self, day: date) -> bool:
        matches = (day.day in self.days, day.isoweekday() in self.weekdays or day.isoweekday() % 7 in self.weekdays)
        return day.month in self.months and (all(matches) if self.needs_both else any(matches))


def parse(text: str) -> Schedule:
    """Read a schedule. Raises ValueError."""
    parts = _MACROS.get(text.strip(), text).split()
    if len(parts) != len(_FIELDS):
        raise ValueError(f"schedule {text!r} has {len(parts)} fields, not {len(_FIELDS)}")
    minutes, hours, days, months, weekdays = (
        _numbers(part, *field) for part, field in zip(parts, _FIELDS, strict=True)
    )
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=weekdays,
        needs_both=any(part[0] in "*?" for part in (parts[2], parts[4])),
    )


def _numbers(part: str, field: str, low: int, high: int, names: tuple[str, ...]) -> tuple[int, ...]:
    """Read one field, for example `1-5`, `*/15` or `mon,wed`."""
    numbers: set[int] = set()
    for piece in part.lower().split(","):
        span, slash, step = piece.partition("/")
        first, dash, last = (f"{low}-{high}" if span in ("*", "?") else span).partition("-")
        try:
            start, by = _number(first, low, names), int(step) if slash else 1
            end = _number(last, low, names) if dash else high if slash else start
        except ValueError:
            raise ValueError(f"schedule: {piece!r} is no {field}") from None
        if not (low <= start <= end <= high and by > 0):
            raise ValueError(f"schedule: {piece!r} is no {field} from {low} to {high}")
        numbers.update(range(start, end + 1, by))
    return tuple(sorted(numbers))


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    return names.index(text) + low if text in names else int(text)

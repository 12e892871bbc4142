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
    """The numbers that match, by field; weekday 0 is Sunday."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def next_after(self, moment: datetime) -> datetime | None:
        """Find the first match after a moment, in the moment's time zone; None if there never is one."""
        for offset in range(HORIZON_DAYS):
            found = next((each for each in self._on(moment, offset) if each > moment), None)
            if found is not None:
                return found
        return None

    def latest_before(self, moment: datetime, since: datetime) -> datetime | None:
        """Find the last match up to a moment, the moment included, that is after `since`."""
        for offset in range((moment.date() - since.date()).days + 1):
            matches = [each for each in self._on(moment, -offset) if since < each <= moment]
            if matches:
                return matches[-1]
        return None

    def _on(self, moment: datetime, offset_days: int) -> Iterator[datetime]:
        day = moment.date() + timedelta(days=offset_days)
        if day.month in self.months and self._has_day(day):
            for hour in self.hours:
                for minute in self.minutes:
                    yield datetime(day.year, day.month, day.day, hour, minute, tzinfo=moment.tzinfo)

    def _has_day(self, day: date) -> bool:
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (by_day and by_weekday) if self.any_day or self.any_weekday else (by_day or by_weekday)


def parse(text: str) -> Schedule:
    """Read a schedule. Raises ValueError."""
    parts = _MACROS.get(text.strip(), text).split()
    if len(parts) != len(_FIELDS):
        raise ValueError(f"schedule {text!r} has {len(parts)} fields, not {len(_FIELDS)}")
    fields = [_numbers(part, *field) for part, field in zip(parts, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = fields
    return Schedule(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(day % 7 for day in weekdays),
        any_day=parts[2][0] in "*?",
        any_weekday=parts[4][0] in "*?",
    )


def _numbers(part: str, field: str, low: int, high: int, names: tuple[str, ...]) -> set[int]:
    numbers: set[int] = set()
    for piece in part.split(","):
        span, slash, step = piece.partition("/")
        first, dash, last = span.partition("-")
        try:
            start = low if first in ("*", "?") else _number(first, low, names)
            is_single = not dash and not slash and first not in ("*", "?")
            end = _number(last, low, names) if dash else start if is_single else high
            by = int(step) if slash else 1
        except ValueError:
            raise ValueError(f"schedule: {piece!r} is no {field}") from None
        if not (low <= start <= end <= high and by > 0):
            raise ValueError(f"schedule: {piece!r} is no {field} from {low} to {high}")
        numbers.update(range(start, end + 1, by))
    return numbers


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    name = text.lower()
    return names.index(name) + low if name in names else int(text)

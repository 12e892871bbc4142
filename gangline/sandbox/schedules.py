"""When CronJobs are due: cron's five fields or `@hourly` and its like, in a time zone. `@every` is not read."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FOREIGN: Final = re.compile(r"#|\bLW?\b|\dL", re.IGNORECASE)
"""What CronSim reads and Kubernetes does not: last days, and weekdays by their number in the month."""
_SUNDAY_AGAIN: Final = re.compile(r"(?<![/\d])0*7\b")
_STEPS: Final = re.compile(r"(?<![\w-])(\*(?!/0*1\b)|\w+)/")
"""Steps through all days, or from one to the last: for Kubernetes no `*`, and the last weekday is the 6th."""


def zone(name: str | None) -> tzinfo:
    """Return the time zone of a schedule, UTC for none; raises ValueError."""
    try:
        return UTC if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"unknown time zone {name}") from error


def next_after(schedule: str, moment: datetime) -> datetime | None:
    """Find the first match after a moment, in the moment's time zone; None if there is none. Raises ValueError."""
    return next(_matches(schedule, moment), None)


def latest_before(schedule: str, moment: datetime, since: datetime) -> datetime | None:
    """Find the last match up to a moment, the moment included, that is after `since`. Raises ValueError."""
    found = next(_matches(schedule, moment + timedelta(microseconds=1), backwards=True), None)
    return found if found is not None and found > since else None


def _matches(schedule: str, moment: datetime, *, backwards: bool = False) -> Iterator[datetime]:
    fields = _MACROS.get(schedule.strip(), schedule).replace("?", "*").split()
    if len(fields) != 5:
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    if _FOREIGN.search(schedule):
        raise ValueError("numbers, names, ranges, steps and lists alone are read")
    if _SUNDAY_AGAIN.search(fields[4]):
        raise ValueError(f"end of range (7) above maximum (6): {fields[4]}")
    minute, hour, day, month, weekday = fields
    day, weekday = _with_ends(day, 1, 31), _with_ends(weekday, 0, 6)
    try:
        CronSim(f"{minute} {hour} {day} * {weekday}", moment)
        CronSim(f"* * * {month} *", moment)
    except CronSimError as error:
        raise ValueError(str(error)) from error
    try:
        return CronSim(f"{minute} {hour} {day} {month} {weekday}", moment, reverse=backwards)
    except CronSimError:  # days that these months do not have
        return iter(())


def _with_ends(field: str, first: int, last: int) -> str:
    return _STEPS.sub(lambda found: f"{first if found[1] == '*' else found[1]}-{last}/", field)

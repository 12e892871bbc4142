from datetime import UTC, datetime, timedelta, timezone

import pytest

from gangline.contract.timestamps import microtime, timestamp

UTC_NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (UTC_NOW, "2026-11-30T10:00:00.000000Z"),
        (UTC_NOW.replace(microsecond=42), "2026-11-30T10:00:00.000042Z"),
        (UTC_NOW.astimezone(timezone(timedelta(hours=-5))), "2026-11-30T10:00:00.000000Z"),
    ],
    ids=["whole-seconds", "microseconds", "another-zone"],
)
def test_microtime(time: datetime, text: str) -> None:
    assert microtime(time) == text


def test_a_timestamp_has_whole_seconds() -> None:
    assert timestamp(datetime(2026, 11, 30, 12, 0, 0, 999_999, timezone(timedelta(hours=2)))) == "2026-11-30T10:00:00Z"

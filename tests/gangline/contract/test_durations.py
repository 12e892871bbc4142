"""Durations as kubectl shows them."""

import pytest

from gangline.contract.durations import human_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (47 * 3600, "47h"),
        (49 * 3600, "2d1h"),
        (10 * 86400, "10d"),
        (800 * 86400, "2y70d"),
        (4000 * 86400, "10y"),
        (-5, "<invalid>"),
    ],
    ids=str,
)
def test_ages_read_as_in_kubectl(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text

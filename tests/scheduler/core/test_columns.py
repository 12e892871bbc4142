"""Columns keep a line for each resource that a row lists, and for no other."""

from scheduler.core.arrays import Row
from scheduler.core.columns import Columns


def test_resources_that_nobody_lists_any_more_cost_no_room() -> None:
    columns = Columns(2)
    columns.write(Row(0), {"cpu": 4}, {})
    for number in range(1000):
        columns.write(Row(1), {"cpu": 8, f"vendor.example/device-{number}": 1}, {})

    assert columns.line_count == 4
    assert columns.line_of("vendor.example/device-998") is None
    assert columns.describe(Row(1)) == {"cpu": (8, 8), "vendor.example/device-999": (1, 1)}


def test_a_line_that_is_used_again_has_nothing_left_on_it() -> None:
    columns = Columns(2)
    columns.write(Row(0), {"a": 4}, {"a": 1})
    columns.clear(Row(0))
    columns.write(Row(1), {"b": 7}, {})

    assert (columns.line_of("a"), columns.line_of("b")) == (None, 0)
    assert (columns.describe(Row(0)), columns.describe(Row(1))) == ({}, {"b": (7, 7)})


def test_a_line_lives_as_long_as_one_row_lists_it() -> None:
    columns = Columns(2)
    columns.write(Row(0), {"a": 4}, {})
    columns.write(Row(1), {"a": 5}, {})
    columns.clear(Row(0))

    assert columns.describe(Row(1)) == {"a": (5, 5)}
    columns.write(Row(1), {}, {})
    assert columns.line_of("a") is None

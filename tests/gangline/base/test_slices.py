"""Slices hold everything once, in order, and none is too long."""

from hypothesis import given
from hypothesis import strategies as st

from gangline.base.slices import slices


@given(st.lists(st.integers()), st.integers(1, 5))
def test_slices_are_the_whole(items: list[int], size: int) -> None:
    cut = list(slices(items, size))

    assert [item for part in cut for item in part] == items
    assert all(1 <= len(part) <= size for part in cut)

"""Work in slices, so that what lasts long can be done a piece at a time."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def slices(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut items into pieces of this size; the last may be shorter."""
    return (items[start : start + size] for start in range(0, len(items), size))

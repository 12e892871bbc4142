"""Label selectors in one line."""

import pytest

from gangline.contract.label_query import label_selector_of
from gangline.contract.selectors import label_selector_matches

LABELS: tuple[dict[str, str], ...] = ({}, {"a": "1"}, {"a": "2"}, {"a": "", "b": "x"})


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("a", [1, 2, 3]),
        ("!a", [0]),
        ("a=1", [1]),
        ("a == 1", [1]),
        ("a=", [3]),
        ("a!=1", [0, 2, 3]),
        ("a in (1, 2)", [1, 2]),
        ("a notin (1,2)", [0, 3]),
        (" a , b = x ", [3]),
        ("a,!b", [1, 2]),
    ],
)
def test_what_it_selects(text: str, selected: list[int]) -> None:
    selector = label_selector_of(text)

    assert selector is not None
    assert [index for index, labels in enumerate(LABELS) if label_selector_matches(selector, labels)] == selected


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_selects_everything(text: str) -> None:
    assert label_selector_of(text) is None


@pytest.mark.parametrize("text", ["a in", "a=b c", "a>1", "in (", "=", "a in (b"])
def test_what_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="unable to parse requirement"):
        label_selector_of(text)

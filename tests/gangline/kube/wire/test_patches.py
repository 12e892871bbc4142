"""Merge patches: nothing but what changed, and applying one gives what was wanted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.kube.wire.patches import merge_patch

KEYS = st.sampled_from(["a", "b", "c"])
SCALARS = st.integers(0, 3) | st.text(max_size=2) | st.booleans() | st.lists(st.integers(0, 2), max_size=2)
OBJECTS = st.recursive(
    st.dictionaries(KEYS, SCALARS, max_size=3),
    lambda inner: st.dictionaries(KEYS, SCALARS | inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="nothing"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="changed"),
        pytest.param({}, {"a": {}}, {"a": {}}, id="added"),
        pytest.param({"a": 1}, {}, {"a": None}, id="removed"),
        pytest.param({"a": 1}, {"a": None}, {"a": None}, id="null-is-removal"),
        pytest.param({"a": None}, {}, {}, id="null-was-nothing"),
        pytest.param({"s": {"x": 1, "y": 2}}, {"s": {"x": 1, "y": 3}}, {"s": {"y": 3}}, id="nested"),
        pytest.param({"l": [1, 2]}, {"l": [1, 3]}, {"l": [1, 3]}, id="lists-are-replaced"),
        pytest.param({"s": {"x": 1}}, {"s": 5}, {"s": 5}, id="object-becomes-scalar"),
    ],
)
def test_merge_patch(before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_patch(before, after) == patch


@given(before=OBJECTS, after=OBJECTS)
def test_applying_the_patch_gives_what_was_wanted(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert applied(before, merge_patch(before, after)) == after


def applied(target: Any, patch: Any) -> Any:
    """Return the target after a merge patch, by the pseudocode of RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = applied(result.get(key), value)
    return result

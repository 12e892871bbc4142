import pytest

from gangline.contract.meta import is_older


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        pytest.param("9", "10", True, id="numbers, not texts"),
        pytest.param("10", "10", False, id="the same"),
        pytest.param("11", "10", False, id="newer"),
        pytest.param("1" * 5000, "2" * 5000, True, id="longer than any integer that is read"),
        pytest.param("a", "b", False, id="no numbers"),
        pytest.param("1", "b", False, id="one is no number"),
        pytest.param("", "1", False, id="unknown"),
        pytest.param("1", "", False, id="against an unknown one"),
    ],
)
def test_versions_compare_as_numbers_or_not_at_all(version: str, than: str, *, older: bool) -> None:
    assert is_older(version, than) is older

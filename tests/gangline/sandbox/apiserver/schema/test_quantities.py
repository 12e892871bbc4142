"""Quantities as the API server writes them back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.sandbox.apiserver.schema import quantities


@pytest.mark.parametrize(
    ("given_as", "canonical"),
    [
        ("1000m", "1"),
        (0.5, "500m"),
        (4, "4"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1500Ki", "1500Ki"),
        ("100k", "100k"),
        ("1e3", "1e3"),
        ("12e6", "12e6"),
        ("0", "0"),
        ("-1500m", "-1500m"),
        ("0.1n", "1n"),
        ("1E", "1E"),
        ("3.3Ki", "3379200m"),
        ("99999999999999999999", "9223372036854775807"),
    ],
)
def test_canonical_forms(given_as: str | float, canonical: str) -> None:
    assert quantities.canonical(given_as) == canonical


@pytest.mark.parametrize("text", ["", "four", "1 ", "1x", "1Kii", "--1", "1e", "0x1", "∞", "1e999"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        quantities.canonical(text)


@given(
    number=st.integers(-(10**6), 10**6),
    places=st.integers(0, 3),
    suffix=st.sampled_from(["n", "u", "m", "", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2"]),
)
def test_the_canonical_form_has_the_same_value_and_stays_as_it_is(number: int, places: int, suffix: str) -> None:
    text = f"{number}{'.' + '5' * places if places else ''}{suffix}"
    canonical = quantities.canonical(text)

    assert quantities.nano_units(canonical) == quantities.nano_units(text)
    if not (suffix.endswith("i") and canonical[-1].isdigit()):  # 62.5Ki is 64000, which is read as decimal: 64k
        assert quantities.canonical(canonical) == canonical
    assert quantities.nano_units(text) >= -(10**25)

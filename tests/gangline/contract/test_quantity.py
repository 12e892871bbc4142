from decimal import ROUND_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.contract.quantity import (
    INT64_MAX,
    PATTERN,
    QuantityError,
    format_amount,
    format_bytes,
    format_cpu,
    parse_milli,
    parse_units,
)

FACTORS = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
    "e3": Decimal(10**3),
    "E-2": Decimal("1e-2"),
    "e+0": Decimal(1),
}


@pytest.mark.parametrize(
    ("quantity", "units", "milli"),
    [
        pytest.param("0", 0, 0, id="zero"),
        pytest.param("4", 4, 4000, id="plain"),
        pytest.param(4, 4, 4000, id="integer in JSON"),
        pytest.param(1.5, 2, 1500, id="float in JSON"),
        pytest.param(1e15, 10**15, 10**18, id="large float"),
        pytest.param("500m", 1, 500, id="milli, rounded up to a unit"),
        pytest.param("1500u", 1, 2, id="micro, rounded up to a milli"),
        pytest.param("1n", 1, 1, id="nano, rounded up"),
        pytest.param("1.", 1, 1000, id="point at the end"),
        pytest.param(".5", 1, 500, id="point at the start"),
        pytest.param("+3", 3, 3000, id="plus"),
        pytest.param("007", 7, 7000, id="leading zeros"),
        pytest.param("-1.5", -2, -1500, id="negative, away from zero"),
        pytest.param("1E", 10**18, None, id="E alone is exa"),
        pytest.param("1E3", 1000, 10**6, id="E with digits is an exponent"),
        pytest.param("1e-1", 1, 100, id="negative exponent"),
        pytest.param("0.1Gi", 107374183, 107374182400, id="binary fraction, rounded up"),
        pytest.param("9223372036854775807", INT64_MAX, None, id="largest of int64"),
        pytest.param("-9223372036854775807", -INT64_MAX, None, id="smallest"),
        pytest.param("0.0000000000000000000000001", 1, 1, id="smaller than nano"),
    ],
)
def test_reads_exactly_and_rounds_up(quantity: str | float, units: int, milli: int | None) -> None:
    assert parse_units(quantity) == units
    if milli is not None:
        assert parse_milli(quantity) == milli


@pytest.mark.parametrize(
    "quantity",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "four",
        ".",
        "+",
        "-",
        "1e",
        "e3",
        "1e1.5",
        "1K",
        "1ki",
        "1mi",
        "1Mi3",
        "1_000",
        "1,5",
        "0x10",
        "٣",
        "nan",
        "inf",
        "-Infinity",
        float("nan"),
        float("inf"),
        float("-inf"),
        "--1",
        "1..2",
        "1" * 65,
        pytest.param("2" * 1_000_000, id="a million digits"),
        "1e65",
        "1e999999999",
        "1e-999999999",
        "1e" + "9" * 60,
        1e300,
        "9223372036854775808",
        "8Ei",
        "10E",
        2**63,
        10**5000,
        -(2**63),
    ],
    ids=lambda quantity: (repr(quantity) if isinstance(quantity, str | float) else hex(quantity))[:24],
)
def test_refuses_with_the_value_and_the_way_out(quantity: str | float) -> None:
    with pytest.raises(QuantityError, match=r"(?s)^quantity .*: write ") as caught:
        parse_units(quantity)

    assert len(str(caught.value)) < 250


def test_milli_overflows_where_units_do_not() -> None:
    assert parse_units("9223372036854775807") == INT64_MAX
    with pytest.raises(QuantityError, match="does not fit in 64 bits"):
        parse_milli("9223372036854775807")


@given(
    mantissa=st.decimals(min_value=-(10**6), max_value=10**6, places=6),
    suffix=st.sampled_from(sorted(FACTORS)),
)
def test_agrees_with_decimal_arithmetic(mantissa: Decimal, suffix: str) -> None:
    text = f"{mantissa:f}{suffix}"
    expected = int((mantissa * FACTORS[suffix]).to_integral_value(ROUND_UP))

    if abs(expected) > INT64_MAX:
        with pytest.raises(QuantityError):
            parse_units(text)
    else:
        assert parse_units(text) == expected


@given(st.from_regex(PATTERN.removesuffix("$") + r"\Z"))
def test_the_schema_pattern_admits_only_what_parses_or_is_too_large(text: str) -> None:
    try:
        parse_units(text)
    except QuantityError as error:
        assert "bits" in str(error) or "exponent" in str(error) or len(text) > 64  # noqa: PT017


@pytest.mark.parametrize(
    ("resource_name", "amount", "text"),
    [
        pytest.param("cpu", 4000, "4", id="cores"),
        pytest.param("cpu", 1500, "1500m", id="milli-cores"),
        pytest.param("cpu", 0, "0", id="no cpu"),
        pytest.param("memory", 2**31, "2Gi", id="binary"),
        pytest.param("memory", 500 * 2**20, "500Mi", id="smaller binary"),
        pytest.param("memory", 500 * 10**6, "500M", id="decimal"),
        pytest.param("memory", 16384516 * 1024, "15.63Gi", id="not short and exact"),
        pytest.param("memory", 123, "123", id="bytes"),
        pytest.param("memory", 0, "0", id="no memory"),
        pytest.param("memory", -(2**31), "-2Gi", id="overcommitted"),
        pytest.param("ephemeral-storage", 2**30, "1Gi", id="ephemeral storage"),
        pytest.param("hugepages-2Mi", 2**22, "4Mi", id="huge pages"),
        pytest.param("nvidia.com/gpu", 1024, "1024", id="devices are counted"),
        pytest.param("pods", 110, "110", id="pods"),
    ],
)
def test_writes_amounts_as_users_do(resource_name: str, amount: int, text: str) -> None:
    assert format_amount(resource_name, amount) == text


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_what_is_written_reads_back(amount: int) -> None:
    assert parse_milli(format_cpu(amount)) == amount
    assert parse_units(format_bytes(amount)) == pytest.approx(amount, rel=0.005)

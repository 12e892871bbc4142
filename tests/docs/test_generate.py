from enum import StrEnum

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge

from docs.generate import described, metrics_table


class Reason(StrEnum):
    LATE = "Late"
    """It came
    late."""
    LOST = "Lost"
    """It never came."""


class Silent(StrEnum):
    LATE = "Late"


def test_a_metric_has_a_row_also_before_it_has_a_series() -> None:
    def declare(registry: CollectorRegistry) -> None:
        Gauge("depth", "How deep.", registry=registry)
        Counter("binds", "How many.", ("outcome", "kind"), registry=registry)

    assert metrics_table(declare).splitlines()[2:] == [
        "| `binds_total` | counter | `outcome`, `kind` | How many. |",
        "| `depth` | gauge |  | How deep. |",
    ]


def test_a_value_is_described_by_what_follows_it() -> None:
    assert list(described(Reason)) == [("`Late`", "It came late."), ("`Lost`", "It never came.")]


def test_a_value_without_a_description_is_named() -> None:
    with pytest.raises(SystemExit, match="Silent needs a docstring after LATE"):
        list(described(Silent))

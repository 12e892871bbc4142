"""All rows and reports: importing this registers them."""

from tests.conformance import (
    api,
    capacity,
    failing,
    on_a_cluster,
    order,
    quorum,
    reports_accounting,
    reports_binds,
    reports_gangs,
    reports_status,
    scenarios,
    status,
)
from tests.conformance.rows import KNOWN, ON_A_CLUSTER_TOO, REPORTS, ROWS, Report, Row

__all__ = [
    "ALL",
    "ON_A_CLUSTER_TOO",
    "REPORTS",
    "ROWS",
    "api",
    "capacity",
    "failing",
    "on_a_cluster",
    "order",
    "quorum",
    "reports_accounting",
    "reports_binds",
    "reports_gangs",
    "reports_status",
    "scenarios",
    "status",
]

_ORDER = {id_: place for place, id_ in enumerate(KNOWN)}
ALL: list[Row | Report] = [*sorted(ROWS.values(), key=lambda one: _ORDER.get(one.id, -1)), *REPORTS.values()]

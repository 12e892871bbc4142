"""The Grafana dashboard, from a list of its panels; `make generate` writes it to manifests/components/monitoring."""

import json
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

WIDTH: Final = 24
HEIGHT: Final = 8
SCHEDULER: Final = "gangline_scheduler"
CONTROLLER: Final = "gangline_controller"
EITHER: Final = "gangline_(scheduler|controller)_"
DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


class Panel(Struct, frozen=True, kw_only=True):
    """One picture: queries by legend (a template of labels), in this unit."""

    title: str
    queries: dict[str, str]
    unit: str = "short"
    note: str = ""
    stacked: bool = False
    single: bool = False
    """A number instead of a curve."""
    width: int = 8


def rate(metric: str, by: str = "", where: str = "") -> str:
    """Return the query of a counter's rate per second, summed by a label."""
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({metric}{where}[$__rate_interval]))"


def quantiles(histogram: str) -> dict[str, str]:
    """Return the queries of the median and the 99th percentile of a histogram."""
    buckets = rate(f"{histogram}_bucket", by="le")
    return {name: f"histogram_quantile({q}, {buckets})" for name, q in (("median", 0.5), ("99 %", 0.99))}


def by_name(metric: str, by: str) -> str:
    """Select a metric of either service, at its worst by labels."""
    return f'max by ({by}) ({{__name__=~"{EITHER}{metric}"}})'


def queue_wait() -> str:
    """Return the query of the 99th percentile of how long the oldest event of a step has waited."""
    return f"histogram_quantile(0.99, {rate(f'{SCHEDULER}_event_queue_wait_seconds_bucket', by='class, le')})"


def lag() -> str:
    """Return the query of both services' 99th percentile of the loop lag."""
    return (
        "histogram_quantile(0.99, sum by (pod, le) "
        f'(rate({{__name__=~"{EITHER}loop_lag_seconds_bucket"}}[$__rate_interval])))'
    )


ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "Now": (
        Panel(title="Schedulers ready", queries={"": f"sum({SCHEDULER}_ready)"}, single=True, width=4),
        Panel(title="Controllers ready", queries={"": f"sum({CONTROLLER}_ready)"}, single=True, width=4),
        Panel(title="Gangs that fit nowhere", queries={"": f'sum({SCHEDULER}_gangs{{state="parked"}})'}, single=True, width=4),
        Panel(title="Incomplete gangs", queries={"": f'sum({SCHEDULER}_gangs{{state="incomplete"}})'}, single=True, width=4),
        Panel(
            title="Longest wait of a complete gang",
            queries={"": f'max({SCHEDULER}_longest_wait_seconds{{state!="incomplete"}})'},
            unit="s",
            single=True,
            width=4,
        ),
        Panel(
            title="Differences from the API server",
            queries={"": f"sum({SCHEDULER}_cache_problems) + sum({CONTROLLER}_cache_problems)"},
            note="Anything but 0 is a bug of Gangline.",
            single=True,
            width=4,
        ),
    ),
    "Gangs": (
        Panel(title="Gangs by state", queries={"{{state}}": f"sum by (state) ({SCHEDULER}_gangs)"}, stacked=True),
        Panel(title="PodGroups by phase", queries={"{{phase}}": f"sum by (phase) ({CONTROLLER}_pod_groups)"}, stacked=True),
        Panel(title="What is cached", queries={"{{what}}": f"sum by (what) ({SCHEDULER}_cache_size)"}),
    ),
    "Why gangs wait": (
        Panel(
            title="Waiting gangs by reason",
            queries={"{{reason}}": f"sum by (reason) ({SCHEDULER}_waiting_gangs)"},
            note="The reasons are explained in docs/reasons.md.",
            stacked=True,
        ),
        Panel(
            title="Longest wait by state",
            queries={"{{state}}": f"max by (state) ({SCHEDULER}_longest_wait_seconds)"},
            unit="s",
        ),
        Panel(title="Schedule timeouts", queries={"per second": rate(f"{CONTROLLER}_schedule_timeouts_total")}, unit="ops"),
    ),
    "Latency": (
        Panel(title="Wait until placed", queries=quantiles(f"{SCHEDULER}_gang_wait_seconds"), unit="s"),
        Panel(title="Placed until all are bound", queries=quantiles(f"{SCHEDULER}_gang_bound_seconds"), unit="s"),
        Panel(title="Status of PodGroups behind by", queries=quantiles(f"{CONTROLLER}_status_lag_seconds"), unit="s"),
        Panel(title="One step", queries=quantiles(f"{SCHEDULER}_step_seconds"), unit="s"),
        Panel(title="One bind", queries=quantiles(f"{SCHEDULER}_bind_seconds"), unit="s"),
        Panel(title="One reconcile", queries=quantiles(f"{CONTROLLER}_reconcile_seconds"), unit="s"),
    ),
    "Work": (
        Panel(
            title="Members decided",
            queries={"{{outcome}}": rate(f"{SCHEDULER}_decided_members_total", by="outcome")},
            unit="ops",
        ),
        Panel(title="Binds by result", queries={"{{result}}": rate(f"{SCHEDULER}_binds_total", by="result")}, unit="ops"),
        Panel(title="Reconciles by result", queries={"{{result}}": rate(f"{CONTROLLER}_reconciles_total", by="result")}, unit="ops"),
        Panel(
            title="Requests of the scheduler",
            queries={"{{verb}} {{resource}}": rate(f"{SCHEDULER}_api_requests_total", by="verb, resource")},
            unit="reqps",
        ),
        Panel(
            title="Failed requests",
            queries={
                "scheduler {{code}} {{resource}}": rate(f"{SCHEDULER}_api_requests_total", by="code, resource", where='{code!~"2.."}'),
                "controller {{code}} {{resource}}": rate(f"{CONTROLLER}_api_requests_total", by="code, resource", where='{code!~"2.."}'),
            },
            note="Without an answer the code is Unreachable or Interrupted.",
            unit="reqps",
        ),
        Panel(
            title="Events lost",
            queries={"scheduler": rate(f"{SCHEDULER}_events_dropped_total"), "controller": rate(f"{CONTROLLER}_events_dropped_total")},
            unit="ops",
        ),
    ),
    "Health": (
        Panel(title="Silence of the watches", queries={"{{pod}} {{kind}}": by_name("watch_staleness_seconds", "pod, kind")}, unit="s"),
        Panel(title="Oldest event when applied, 99 %", queries={"{{class}}": queue_wait()}, unit="s"),
        Panel(title="Oldest change not reconciled", queries={"": f"max({CONTROLLER}_queue_oldest_age_seconds)"}, unit="s"),
        Panel(title="Loop lag, 99 %", queries={"{{pod}}": lag()}, unit="s"),
        Panel(
            title="CPU",
            queries={"{{pod}}": 'sum by (pod) (rate(process_cpu_seconds_total{pod=~"$pod"}[$__rate_interval]))'},
            note="Cores in use.",
        ),
        Panel(title="Memory", queries={"{{pod}}": 'sum by (pod) (process_resident_memory_bytes{pod=~"$pod"})'}, unit="bytes"),
    ),
}  # fmt: skip


def rendered() -> str:
    """Return the dashboard as JSON."""
    dashboard = {
        "uid": "gangline",
        "title": "Gangline",
        "tags": ["gangline"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_datasource(), _pods()]},
        "panels": list(_panels()),
    }
    return json.dumps(dashboard, indent=2) + "\n"


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _pods() -> dict[str, Any]:
    """Pods of both services: process metrics bear no name of ours."""
    query = f'label_values({{__name__=~"{EITHER}ready"}}, pod)'
    return {
        "name": "pod",
        "label": "Pod",
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": "pods"},
        "definition": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for heading, row in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": heading,
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1},
            "panels": [],
        }
        top, left = top + 1, 0
        height = HEIGHT // 2 if row[0].single else HEIGHT
        for panel in row:
            number += 1
            if left + panel.width > WIDTH:
                top, left = top + height, 0
            yield _panel(panel, number, {"x": left, "y": top, "w": panel.width, "h": height})
            left += panel.width
        top += height


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    custom = {"fillOpacity": 20, "stacking": {"mode": "normal"}} if panel.stacked else {}
    return {
        "id": number,
        "type": "stat" if panel.single else "timeseries",
        "title": panel.title,
        "description": panel.note,
        "datasource": DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": custom}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": DATASOURCE, "expr": query, "legendFormat": legend}
            for index, (legend, query) in enumerate(panel.queries.items())
        ],
    }

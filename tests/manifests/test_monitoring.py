"""Alerts fire as their tests say, and neither they nor the dashboard ask for a metric, label or value that is not there."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from typing import Any, Final

import pytest
import yaml
from prometheus_client import CollectorRegistry

import controller.metrics
import scheduler.metrics
from docs import dashboard
from gangline.service.metrics import new_registry
from tests.support.kustomize import MANIFESTS, ROOT
from tests.support.tools import promtool

MONITORING: Final = MANIFESTS / "components/monitoring"
TESTS: Final = Path(__file__).with_name("alerts.yaml")
OF_PROMETHEUS: Final = {"pod", "le", "__name__"}
NAME: Final = re.compile(r"\b((?:gangline|process)_[a-z_]+)\b")
PATTERN: Final = re.compile(r'__name__=~"gangline_\(scheduler\|controller\)_([a-z_]+)"')

Rule = dict[str, Any]


def rules() -> dict[str, Any]:
    spec: dict[str, Any] = yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))["spec"]
    return spec


ALERTS: Final[list[Rule]] = [rule for group in rules()["groups"] for rule in group["rules"]]
PANELS: Final = [panel for panel in json.loads(dashboard.rendered())["panels"] if panel["type"] != "row"]
QUERIES: Final = [
    *((rule["alert"], rule["expr"]) for rule in ALERTS),
    *((f"{panel['title']} {target['refId']}", target["expr"]) for panel in PANELS for target in panel["targets"]),
]


def declared() -> dict[str, dict[str, set[str]]]:
    """Values of each label of each series, by the name under which it is scraped, before anything has happened."""
    registries: list[CollectorRegistry] = [new_registry(), CollectorRegistry()]
    scheduler.metrics.Metrics(registries[0])
    controller.metrics.Metrics(registries[1])
    found: dict[str, dict[str, set[str]]] = {}
    for registry in registries:
        for collector in registry._collector_to_names:
            labels = getattr(collector, "_labelnames", ())
            for family in collector.collect():
                suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
                for suffix in suffixes:
                    values: dict[str, set[str]] = {label: set() for label in labels}
                    for sample in family.samples:
                        for label in labels:
                            values[label].add(sample.labels[label])
                    found[family.name + suffix] = values
    return found


def metrics_of(query: str) -> Iterator[str]:
    """Yield the names of the metrics that a query asks for."""
    for suffix in PATTERN.findall(query):
        yield from (f"gangline_{service}_{suffix}" for service in ("scheduler", "controller"))
    yield from NAME.findall(PATTERN.sub("", query))


def check(arguments: list[str | Path], directory: Path) -> None:
    done = subprocess.run([promtool(), *arguments], check=False, capture_output=True, text=True, cwd=directory)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_fires_when_it_should(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules()))
    copy(TESTS, tmp_path)

    check(["check", "rules", "--lint-fatal", "rules.yaml"], tmp_path)
    check(["test", "rules", TESTS.name], tmp_path)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_that_never_fires_fails_its_test(alert: Rule, tmp_path: Path) -> None:
    broken = {**rules(), "groups": [{"name": "g", "rules": [rule for rule in ALERTS if rule is not alert]}]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(broken))
    copy(TESTS, tmp_path)

    with pytest.raises(AssertionError, match=alert["alert"]):
        check(["test", "rules", TESTS.name], tmp_path)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_it_is_and_has_a_runbook(alert: Rule) -> None:
    runbook = ROOT / alert["annotations"]["runbook"]

    assert alert["annotations"].keys() == {"summary", "description", "runbook"}
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert runbook.stem == alert["alert"]
    assert runbook.exists()
    headings = re.findall(r"^## (.*)$", runbook.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == ["Meaning", "Impact", "Diagnose", "Mitigate"]


def test_there_is_no_runbook_without_an_alert() -> None:
    pages = {path.stem for path in (ROOT / "docs/runbooks").glob("*.md")} - {"README"}

    assert pages == {alert["alert"] for alert in ALERTS}


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[title for title, _ in QUERIES])
def test_a_query_asks_for_what_is_there(title: str, query: str) -> None:
    known = declared()
    names = list(metrics_of(query))
    labels = {label for name in names for label in known.get(name, {})}
    grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
    matched = re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', query)

    assert names
    assert [name for name in names if name not in known] == []
    assert grouped | {label for label, _, _ in matched} <= labels | OF_PROMETHEUS
    for label, _, values in matched:
        closed = {value for name in names for value in known[name].get(label, ())}
        if label not in OF_PROMETHEUS and closed:
            assert set(values.split("|")) <= closed, f"{title}: {label} is never one of these"


def test_prometheus_understands_every_panel(tmp_path: Path) -> None:
    records = [
        {"record": f"panel:{index}", "expr": query.replace("$__rate_interval", "5m")}
        for index, (_, query) in enumerate(QUERIES)
    ]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": records}]}))

    check(["check", "rules", "panels.yaml"], tmp_path)


def test_the_panels_cover_no_other_and_fill_no_more_than_the_width() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(dashboard.rendered())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells
    assert max(x for x, _ in taken) < dashboard.WIDTH

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

from gangline.service.metrics import BeforeScrape, RequestMetrics, loop_lag_histogram, new_registry, start_at_zero


def samples(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == name
    }


def test_a_new_registry_measures_the_process_and_shares_nothing() -> None:
    registry = new_registry()
    loop_lag_histogram(registry, "gangline_new")

    assert samples(registry, "process_open_fds")[()] > 0
    assert samples(registry, "python_gc_collections_total")
    assert samples(registry, "gangline_new_loop_lag_seconds_count") == {(): 0.0}
    assert samples(REGISTRY, "gangline_new_loop_lag_seconds_count") == {}


def test_requests_are_counted_by_verb_resource_and_code_and_timed_by_verb() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry, "gangline_scheduler")

    metrics.observe("bind", "pods", "201", 0.2)
    metrics.observe("bind", "pods", "201", 0.3)
    metrics.observe("bind", "pods", "0", 0.5)

    assert samples(registry, "gangline_scheduler_api_requests_total") == {
        ("bind", "pods", "201"): 2.0,
        ("bind", "pods", "0"): 1.0,
    }
    assert samples(registry, "gangline_scheduler_api_request_seconds_sum") == {("bind",): 1.0}


def test_closed_labels_exist_before_anything_happened() -> None:
    registry = CollectorRegistry()
    counter = Counter("bound_total", "Bound.", ("outcome", "kind"), registry=registry)

    start_at_zero(counter, outcome=["bound", "refused"], kind=["first", "repair"])

    assert samples(registry, "bound_total") == {
        (outcome, kind): 0.0 for outcome in ("bound", "refused") for kind in ("first", "repair")
    }


def test_gauges_that_are_read_together_are_refreshed_once_for_each_scrape() -> None:
    registry = CollectorRegistry()
    before = BeforeScrape(registry)
    gauges = [Gauge(name, "One of two.", registry=registry) for name in ("first", "second")]

    def count() -> None:
        for gauge in gauges:
            gauge.inc()

    before.refresh = count

    assert [samples(registry, name)[()] for name in ("first", "second")] == [1.0, 2.0]

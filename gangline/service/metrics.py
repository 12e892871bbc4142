"""A registry of our own, and what every service measures of itself and of its requests.

Names are `<prefix>_<what>_<unit>[_total]` with the service's prefix (`gangline_scheduler`), base units, and labels from
closed sets; the prometheus-client global registry is never used.
"""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from itertools import product
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, GCCollector, Histogram, ProcessCollector
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

REQUEST_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LAG_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


def new_registry() -> CollectorRegistry:
    """Return a registry that already measures the process and its garbage collector."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def start_at_zero(metric: MetricWrapperBase, **values: Iterable[str]) -> None:
    """Create the series of every combination of closed label values, so that each exists before its first event."""
    for combination in product(*values.values()):
        metric.labels(**dict(zip(values, combination, strict=True)))


def loop_lag_histogram(registry: CollectorRegistry, prefix: str) -> Histogram:
    """Declare the histogram that `loop_lag.watch_loop_lag` fills."""
    return Histogram(
        f"{prefix}_loop_lag_seconds",
        "How much later than asked the event loop woke a sleeper.",
        registry=registry,
        buckets=LAG_SECONDS,
    )


class BeforeScrape(Collector):
    """Calls `refresh` at the beginning of each scrape: for gauges that are read together, in one pass over the data.

    A registry collects in the order of registration, so this is made before the gauges that it refreshes.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.refresh: Callable[[], None] = lambda: None
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """Refresh, and measure nothing."""
        self.refresh()
        return ()

    def describe(self) -> Iterable[Metric]:
        """Measure nothing."""
        return ()


class RequestMetrics:
    """Counts and times requests to the API server; satisfies `gangline.kube`'s RequestObserver."""

    def __init__(self, registry: CollectorRegistry, prefix: str) -> None:
        self._requests = Counter(
            f"{prefix}_api_requests_total",
            "Requests to the API server; code is the HTTP status, or what went wrong (Unreachable, Interrupted) where no answer came.",
            ("verb", "resource", "code"),
            registry=registry,
        )
        self._seconds = Histogram(
            f"{prefix}_api_request_seconds",
            "Time from sending a request to the API server to its answer.",
            ("verb",),
            registry=registry,
            buckets=REQUEST_SECONDS,
        )
        # One child per combination that occurs, a closed set: looking it up by labels costs three times as much.
        self._count_of = lru_cache(maxsize=None)(self._requests.labels)
        self._seconds_of = lru_cache(maxsize=None)(self._seconds.labels)

    def observe(self, verb: str, resource: str, code: str, seconds: float) -> None:
        """Count one request; `code` is the HTTP status, or the name of the error where no answer came."""
        self._count_of(verb, resource, code).inc()
        self._seconds_of(verb).observe(seconds)


class WatchMetrics:
    """What the watches deliver, by kind of object."""

    def __init__(self, registry: CollectorRegistry, prefix: str, kinds: Collection[str]) -> None:
        self.staleness = Gauge(
            f"{prefix}_watch_staleness_seconds",
            "Time since the watch of a kind last showed life (a change or a bookmark).",
            ("kind",),
            registry=registry,
        )
        self.events = Counter(
            f"{prefix}_watch_events_total",
            "Changes of objects that the watches delivered.",
            ("kind",),
            registry=registry,
        )
        self.unreadable = Counter(
            f"{prefix}_unreadable_objects_total",
            "Versions of objects that could not be decoded.",
            ("kind",),
            registry=registry,
        )
        for metric in (self.staleness, self.events, self.unreadable):
            start_at_zero(metric, kind=kinds)


class EventMetrics:
    """Counts Kubernetes Events; satisfies `gangline.kube`'s EventObserver."""

    def __init__(self, registry: CollectorRegistry, prefix: str) -> None:
        self._written = Counter(
            f"{prefix}_events_written_total", "Kubernetes Events that the API server has taken.", registry=registry
        )
        self._dropped = Counter(
            f"{prefix}_events_dropped_total",
            "Kubernetes Events that were lost: too many at once, refused, or given up.",
            registry=registry,
        )

    def written(self) -> None:
        """Count one that was written."""
        self._written.inc()

    def dropped(self) -> None:
        """Count one that was lost."""
        self._dropped.inc()

"""Everything that the controller measures; docs/metrics.md is generated from here."""

from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gangline.contract.podgroup import Phase
from gangline.service.metrics import (
    REQUEST_SECONDS,
    EventMetrics,
    RequestMetrics,
    WatchMetrics,
    loop_lag_histogram,
    start_at_zero,
)

PREFIX: Final = "gangline_controller"
LAG_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
NO_PHASE: Final = "none"
OTHER_PHASE: Final = "other"
PHASE_LABELS: Final = (NO_PHASE, OTHER_PHASE, *Phase)


class Kind(StrEnum):
    """Kinds that the controller watches."""

    POD = "Pod"
    POD_GROUP = "PodGroup"


class Outcome(StrEnum):
    """What became of one reconcile."""

    GONE = "Gone"
    NOT_OURS = "NotOurs"
    UNREADABLE = "Unreadable"
    GIVEN_WAY = "GivenWay"
    UNCHANGED = "Unchanged"
    WRITTEN = "Written"
    CONFLICT = "Conflict"
    LOST = "Lost"
    REFUSED = "Refused"
    UNANSWERED = "Unanswered"
    BROKEN = "Broken"


class Metrics:
    """The metric objects, in `registry`; gauges are given their functions by `app`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.requests = RequestMetrics(registry, PREFIX)
        self.loop_lag = loop_lag_histogram(registry, PREFIX)
        self.reconciles = self._counter("reconciles", "Reconciles of PodGroups by what became of them.", "result")
        self.reconcile_seconds = self._histogram(
            "reconcile_seconds", "Time of one reconcile, with its write.", REQUEST_SECONDS
        )
        self.status_lag = self._histogram(
            "status_lag_seconds",
            "From the first change of a PodGroup or its pods to the end of its reconcile.",
            LAG_SECONDS,
        )
        self.watches = WatchMetrics(registry, PREFIX, tuple(Kind))
        self.pruned_fields = self._counter("pruned_fields", "Status fields that the CRD in the cluster does not have.")
        self.foreign_writers = self._counter("foreign_writers", "Times that we gave way to another writer of a status.")
        self.schedule_timeouts = self._counter(
            "schedule_timeouts", "Times that scheduling a PodGroup took longer than its scheduleTimeoutSeconds."
        )
        self.pod_groups = self._gauge("pod_groups", "PodGroups by phase.", "phase")
        self.members = self._gauge("members", "Pods that name a PodGroup.")
        self.given_way = self._gauge(
            "given_way_pod_groups", "PodGroups whose status is left to another writer at this time."
        )
        self.queue_depth = self._gauge("queue_depth", "PodGroups that wait to be reconciled, or for a deadline.")
        self.queue_oldest_age = self._gauge(
            "queue_oldest_age_seconds", "Age of the oldest change that is not reconciled."
        )
        self.cache_problems = self._gauge(
            "cache_problems",
            "Differences between the index and fresh lists when they were last compared; anything but 0 is a bug.",
        )
        self.ready = self._gauge("ready", "1 while /readyz finds nothing wrong.")
        self.lease_held = self._gauge("lease_held", "1 while we hold the lease, or need none.")
        self.events = EventMetrics(registry, PREFIX)
        start_at_zero(self.reconciles, result=Outcome)

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", description, labels, registry=self.registry)

    def _gauge(self, name: str, description: str, *labels: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", description, labels, registry=self.registry)

    def _histogram(self, name: str, description: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"{PREFIX}_{name}", description, registry=self.registry, buckets=buckets)


def phase_label(phase: str | None) -> str:
    """Return the phase as a label of a closed set."""
    if not phase:
        return NO_PHASE
    return phase if phase in set(Phase) else OTHER_PHASE

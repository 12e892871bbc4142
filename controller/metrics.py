"""Everything that the controller measures; names in docs/metrics.md."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gangline.contract.podgroup import Phase
from gangline.service.metrics import REQUEST_SECONDS, start_at_zero

PREFIX: Final = "gangline_controller"
LAG_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
NO_PHASE: Final = "none"
OTHER_PHASE: Final = "other"


class Kind(StrEnum):
    """Kinds that the controller watches."""

    POD = "Pod"
    POD_GROUP = "PodGroup"


class Outcome(StrEnum):
    """What became of one reconcile; those below UNCHANGED come from a write."""

    GONE = "Gone"
    NOT_OURS = "NotOurs"
    GIVEN_WAY = "GivenWay"
    UNCHANGED = "Unchanged"
    WRITTEN = "Written"
    CONFLICT = "Conflict"
    LOST = "Lost"
    REFUSED = "Refused"
    UNANSWERED = "Unanswered"
    BROKEN = "Broken"


class Metrics:
    """The metric objects, in a registry of their own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self.reconciles = self._counter("reconciles", "Reconciles of PodGroups by what became of them.", "result")
        start_at_zero(self.reconciles, result=Outcome)
        self.reconcile_seconds = self._histogram(
            "reconcile_seconds", "Time of one reconcile, with its write.", REQUEST_SECONDS
        )
        self.status_lag = self._histogram(
            "status_lag_seconds",
            "From the first change of a PodGroup or its pods to the end of its reconcile.",
            LAG_SECONDS,
        )
        self.observations = self._counter("observations", "Changes that the watches told, by kind.", "kind")
        start_at_zero(self.observations, kind=Kind)
        self.unreadable = self._counter("unreadable_objects", "Versions of objects that did not decode.", "kind")
        start_at_zero(self.unreadable, kind=Kind)
        self.pruned_fields = self._counter("pruned_fields", "Status fields that the CRD in the cluster does not have.")
        self.foreign_writers = self._counter("foreign_writers", "Times that we gave way to another writer of a status.")
        self.schedule_timeouts = self._counter(
            "schedule_timeouts", "Times that scheduling a PodGroup took longer than its scheduleTimeoutSeconds."
        )

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Add a gauge that is read when it is scraped."""
        self._gauge(name, description).set_function(value)

    def watch_each(self, name: str, description: str, label: str, values: Mapping[str, Callable[[], float]]) -> None:
        """Add a gauge with one label of a closed set, read when it is scraped."""
        gauge = self._gauge(name, description, label)
        for value, read in values.items():
            gauge.labels(value).set_function(read)

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", description, labels, registry=self._registry)

    def _gauge(self, name: str, description: str, *labels: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", description, labels, registry=self._registry)

    def _histogram(self, name: str, description: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"{PREFIX}_{name}", description, registry=self._registry, buckets=buckets)


def phase_label(phase: str | None) -> str:
    """Return the phase as a label of a closed set."""
    if not phase:
        return NO_PHASE
    return phase if phase in set(Phase) else OTHER_PHASE

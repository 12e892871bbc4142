"""Every metric of the scheduler. Labels come from closed sets; `docs/metrics.md` is generated from here."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gangline.service.metrics import (
    BeforeScrape,
    EventMetrics,
    RequestMetrics,
    WatchMetrics,
    loop_lag_histogram,
    start_at_zero,
)
from scheduler.core.events import ConditionOutcome, Kind, Refusal
from scheduler.core.reasons import Reason
from scheduler.core.triage import WAITING_STATES, GangState

PREFIX = "gangline_scheduler"
STEP_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
LATENCY_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
GANG_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
EVENT_CLASSES = ("room", "rules", "waiting")
DECISIONS = ("placed", "unplaced")
CACHED = ("pods", "nodes", "groups", "gangs", "classes", "intents", "holds")


class Metrics:
    """The metric objects, on a registry of their own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.before_scrape = BeforeScrape(registry)
        self.requests = RequestMetrics(registry, PREFIX)
        self.loop_lag = loop_lag_histogram(registry, PREFIX)
        self.watches = WatchMetrics(registry, PREFIX, tuple(Kind))
        self._declare_queue(registry)
        self._declare_decisions(registry)
        self._declare_writes(registry)

    def _declare_queue(self, registry: CollectorRegistry) -> None:
        self.queue_depth = Gauge(
            f"{PREFIX}_event_queue_depth",
            "Objects whose newest version has not been applied yet.",
            ("class",),
            registry=registry,
        )
        self.queue_wait = Histogram(
            f"{PREFIX}_event_queue_wait_seconds",
            "How long the oldest of the objects that one step applied had waited for it.",
            ("class",),
            registry=registry,
            buckets=LATENCY_SECONDS,
        )
        for metric in (self.queue_depth, self.queue_wait):
            start_at_zero(metric, **{"class": EVENT_CLASSES})

    def _declare_decisions(self, registry: CollectorRegistry) -> None:
        self.step_seconds = Histogram(
            f"{PREFIX}_step_seconds",
            "Time of one step: events applied and gangs decided.",
            registry=registry,
            buckets=STEP_SECONDS,
        )
        self.decisions = Counter(
            f"{PREFIX}_decisions_total", "Gangs decided, by outcome.", ("outcome",), registry=registry
        )
        self.decided_members = Counter(
            f"{PREFIX}_decided_members_total",
            "Members in the decided gangs, by outcome.",
            ("outcome",),
            registry=registry,
        )
        self.gang_wait = Histogram(
            f"{PREFIX}_gang_wait_seconds",
            "Time from a gang's being complete to the decision that placed it.",
            registry=registry,
            buckets=GANG_SECONDS,
        )
        self.backlog = Gauge(f"{PREFIX}_gangs", "Gangs by state.", ("state",), registry=registry)
        self.waiting = Gauge(
            f"{PREFIX}_waiting_gangs", "Gangs with waiting members, by what these say.", ("reason",), registry=registry
        )
        self.longest_wait = Gauge(
            f"{PREFIX}_longest_wait_seconds",
            "How long the gang that waits longest in a state has waited; 0 where none waits.",
            ("state",),
            registry=registry,
        )
        self.cached = Gauge(f"{PREFIX}_cache_size", "What the cache holds.", ("what",), registry=registry)
        self.cache_problems = Gauge(
            f"{PREFIX}_cache_problems",
            "Differences between the cache and fresh lists when they were last compared; anything but 0 is a bug.",
            registry=registry,
        )
        start_at_zero(self.decisions, outcome=DECISIONS)
        start_at_zero(self.decided_members, outcome=DECISIONS)
        start_at_zero(self.backlog, state=GangState)
        start_at_zero(self.waiting, reason=Reason)
        start_at_zero(self.longest_wait, state=WAITING_STATES)
        start_at_zero(self.cached, what=CACHED)

    def _declare_writes(self, registry: CollectorRegistry) -> None:
        refusals = ", ".join(refusal.value.lower() for refusal in Refusal)
        self.binds = Counter(
            f"{PREFIX}_binds_total",
            f"Binds by result: bound, unknown, or refused as {refusals}.",
            ("result",),
            registry=registry,
        )
        self.bind_seconds = Histogram(
            f"{PREFIX}_bind_seconds", "Time of one bind request.", registry=registry, buckets=LATENCY_SECONDS
        )
        self.binds_in_flight = Gauge(
            f"{PREFIX}_binds_in_flight", "Workers that are binding or reading a pod now.", registry=registry
        )
        self.gang_bound = Histogram(
            f"{PREFIX}_gang_bound_seconds",
            "Time from handing a gang's plan to the binder until all of it is bound.",
            registry=registry,
            buckets=GANG_SECONDS,
        )
        self.conditions = Counter(
            f"{PREFIX}_conditions_total", "Writes of pod conditions, by outcome.", ("outcome",), registry=registry
        )
        self.events = EventMetrics(registry, PREFIX)
        self.ready = Gauge(f"{PREFIX}_ready", "1 while /readyz finds nothing wrong.", registry=registry)
        self.lease_held = Gauge(
            f"{PREFIX}_lease_held", "1 while this process may bind (lease held, or none asked for).", registry=registry
        )
        start_at_zero(self.binds, result=["bound", "unknown", *(refusal.value.lower() for refusal in Refusal)])
        start_at_zero(self.conditions, outcome=[outcome.value.lower() for outcome in ConditionOutcome])

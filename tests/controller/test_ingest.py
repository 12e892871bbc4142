"""What the watches tell, taken in by sinks that no object and no clock can upset."""

import itertools

from prometheus_client import CollectorRegistry

from controller.announcer import Announcer
from controller.core.index import Index
from controller.core.rivals import QUIET_S, REVERSALS, Rivals, Verdict
from controller.ingest import Ingest
from controller.metrics import Metrics
from gangline.contract.podgroup import PodGroupStatus
from gangline.kube.client import connect
from gangline.kube.recorder import EventRecorder
from gangline.kube.wire.changes import Observed, Progress, Synced, Unreadable
from tests.controller.builders import group
from tests.support.clock import ManualClock

UID = "ns-pg"


class Bench:
    """The sinks on a clock of the test's own; the time of day jumps a day at each look."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.clock = ManualClock()
        self.rivals = Rivals()
        client = connect(None, user_agent="test")
        self.ingest = Ingest(
            Index(["gangline"]),
            self.rivals,
            Announcer(EventRecorder(client, component="test", instance="test")),
            Metrics(self.registry),
            ask=lambda _: None,
            clock=self.clock,
            wall_time=itertools.count(step=86_400.0).__next__,
        )

    def tell_phase(self, phase: str, version: int) -> None:
        self.ingest.take_group(Observed(group(status=PodGroupStatus(phase=phase), version=str(version))))


def test_a_clock_that_is_set_hides_no_rival() -> None:
    bench = Bench()
    for version in range(0, 2 * REVERSALS, 2):
        bench.rivals.sends(UID, Verdict(phase="Running"))
        bench.rivals.wrote(UID, Verdict(phase="Running"), resource_version=str(version))
        bench.tell_phase("Scheduling", version + 1)
    assert bench.rivals.quiet_s(UID, bench.clock.now()) == QUIET_S


def test_changes_of_objects_are_counted_and_no_signs_of_life() -> None:
    bench = Bench()
    for change in (Observed(group()), Synced(), Progress("7"), Unreadable(group().metadata.key, UID, "8", "", "bad")):
        bench.ingest.take_group(change)

    counted = {
        name: bench.registry.get_sample_value(f"gangline_controller_{name}_total", {"kind": "PodGroup"})
        for name in ("watch_events", "unreadable_objects")
    }
    assert counted == {"watch_events": 2, "unreadable_objects": 1}

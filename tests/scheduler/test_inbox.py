"""What the inbox guarantees beyond its queue: nothing of a half-applied list is decided on, and the bell."""

import asyncio

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from gangline.base.clock import Clock
from gangline.contract.meta import ObjectMeta
from gangline.contract.node import Node
from gangline.contract.pod import Pod, PodSpec
from scheduler.core.events import Bound, Kind, KindSynced, NodeObserved, PodGone, PodObserved, PodUnreadable
from scheduler.inbox import Inbox, Urgency
from scheduler.metrics import Metrics
from tests.support.clock import ManualClock


def inbox_on(clock: Clock, registry: CollectorRegistry | None = None) -> Inbox:
    return Inbox(clock, Metrics(registry or CollectorRegistry()))


def observed(name: str, node: str = "") -> PodObserved:
    return PodObserved(pod=Pod(metadata=ObjectMeta(namespace="ns", name=name, uid=name), spec=PodSpec(node_name=node)))


def test_a_kind_is_synced_only_after_all_of_its_first_list() -> None:
    inbox = inbox_on(ManualClock())
    for number in range(20):
        inbox.observe(observed(f"waiting-{number}"))
        inbox.observe(observed(f"bound-{number}", node="n"))
    inbox.observe(KindSynced(kind=Kind.POD))

    taken = []
    while len(inbox):
        taken += inbox.take(3)

    assert taken[-1] == KindSynced(kind=Kind.POD)
    assert len(taken) == 41


def test_after_the_sync_what_gives_or_takes_room_goes_first() -> None:
    inbox = inbox_on(ManualClock())
    inbox.observe(KindSynced(kind=Kind.POD))
    inbox.take(10)

    inbox.observe(observed("waits"))
    inbox.observe(observed("sits", node="n"))
    inbox.observe(PodGone(namespace="ns", name="gone", uid="gone"))

    assert [inbox.depth(urgency) for urgency in Urgency] == [2, 0, 1]
    assert inbox.take(10) == [
        observed("sits", node="n"),
        PodGone(namespace="ns", name="gone", uid="gone"),
        observed("waits"),
    ]


def test_a_second_sync_of_a_kind_is_no_news() -> None:
    inbox = inbox_on(ManualClock())
    inbox.observe(KindSynced(kind=Kind.POD))
    inbox.take(10)

    inbox.observe(KindSynced(kind=Kind.POD))

    assert not len(inbox)


def test_a_newer_version_replaces_the_one_that_waits() -> None:
    inbox = inbox_on(ManualClock())
    inbox.observe(observed("a"))
    inbox.observe(observed("a", node="n"))

    assert inbox.take(10) == [observed("a", node="n")]


def test_results_go_first_and_are_never_merged() -> None:
    inbox = inbox_on(ManualClock())
    results = [Bound(uid="a", attempt=attempt, node="n") for attempt in (1, 2)]
    inbox.observe(NodeObserved(node=Node(metadata=ObjectMeta(name="n"))))
    for result in results:
        inbox.answer(result)

    assert inbox.take(10)[:2] == results


async def test_a_wait_ends_with_the_bell_or_at_its_time() -> None:
    clock = ManualClock()
    inbox = inbox_on(clock)

    await inbox.wait(clock.now())
    waiting = asyncio.create_task(inbox.wait(None))
    await asyncio.sleep(0)
    assert not waiting.done()
    inbox.observe(observed("a"))
    await waiting

    assert len(inbox) == 1


def test_objects_that_come_and_go_before_anybody_looks_leave_nothing() -> None:
    inbox = inbox_on(ManualClock())
    inbox.observe(KindSynced(kind=Kind.POD))
    inbox.observe(observed("stays"))
    for number in range(100):
        inbox.observe(observed(f"pod-{number}"))
        inbox.observe(PodGone(namespace="ns", name=f"pod-{number}", uid=f"pod-{number}"))

    assert len(inbox) == 2
    assert inbox.take(10) == [KindSynced(kind=Kind.POD), observed("stays")]

    inbox.observe(PodGone(namespace="ns", name="stays", uid="stays"))

    assert inbox.take(10) == [PodGone(namespace="ns", name="stays", uid="stays")]


def unreadable(name: str, message: str, uid: str | None = None) -> PodUnreadable:
    return PodUnreadable(namespace="ns", name=name, uid=uid or name, node="n", message=message)


def test_a_version_that_cannot_be_read_carries_the_good_one_that_it_replaces() -> None:
    inbox = inbox_on(ManualClock())
    good = observed("a", node="n")

    inbox.observe(good)
    inbox.observe(unreadable("a", "bad"))
    inbox.observe(unreadable("a", "worse"))

    assert inbox.take(10) == [replace(unreadable("a", "worse"), last=good.pod)]


def test_another_pod_of_the_name_is_no_earlier_version() -> None:
    inbox = inbox_on(ManualClock())

    inbox.observe(observed("a", node="n"))
    inbox.observe(unreadable("a", "bad", uid="new"))

    assert inbox.take(10) == [unreadable("a", "bad", uid="new")]


def test_how_long_the_oldest_had_waited_is_measured_when_it_is_taken() -> None:
    registry, clock = CollectorRegistry(), ManualClock()
    inbox = inbox_on(clock, registry)

    def measured(of: str) -> tuple[float | None, float | None]:
        name = "gangline_scheduler_event_queue_wait_seconds"
        samples = (registry.get_sample_value(f"{name}_{suffix}", {"class": of}) for suffix in ("count", "sum"))
        return next(samples), next(samples)

    inbox.observe(KindSynced(kind=Kind.POD))
    inbox.take(10)
    inbox.observe(observed("sits", node="n"))
    clock.advance(2.0)
    inbox.observe(observed("sits-too", node="n"))
    clock.advance(1.0)
    inbox.take(10)
    inbox.take(10)

    assert (measured("room"), measured("rules"), measured("waiting")) == ((1, 3.0), (0, 0), (1, 0))

"""The event queue of the scheduler with a bell: where watches and results meet the loop.

Until a kind has synced, all its events are of one class: its `KindSynced`, put last, is then taken last,
and nothing is decided on a list that is only half applied.
"""

import asyncio
from enum import IntEnum
from typing import assert_never

from msgspec.structs import replace

from gangline.base.clock import Clock
from gangline.base.event_queue import EventQueue
from gangline.contract.pod import FINISHED_PHASES, Pod
from scheduler.core.events import (
    BudgetGone,
    BudgetObserved,
    Event,
    Kind,
    KindSynced,
    NodeGone,
    NodeObserved,
    NodeUnreadable,
    Observation,
    PodGone,
    PodGroupGone,
    PodGroupObserved,
    PodGroupUnreadable,
    PodObserved,
    PodUnreadable,
    PriorityClassGone,
    PriorityClassObserved,
    Result,
    RowBudgetGiven,
)
from scheduler.metrics import Metrics

EntryKey = tuple[Kind, str, str]
_Gone = PodGone | NodeGone | PodGroupGone | PriorityClassGone | BudgetGone


class Urgency(IntEnum):
    """Classes of the event queue, most urgent first."""

    ROOM = 0
    RULES = 1
    WAITING = 2


class Inbox:
    """What has been told and not yet been applied."""

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        self._waits = {urgency: metrics.queue_wait.labels(urgency.name.lower()) for urgency in Urgency}
        self._queue: EventQueue[EntryKey, Event] = EventQueue()
        self._bell = asyncio.Event()
        self._synced: set[Kind] = set()
        self._is_read = False

    def observe(self, event: Observation) -> None:
        """Take in what a watch says; the newest version of an object replaces one that waits.

        Until the first `take` an object that has gone was never there: whoever stands by for months keeps no list of
        the dead.
        """
        key = _key(event)
        if not self._is_read and isinstance(event, _Gone):
            self._queue.discard(key)
            return
        if isinstance(event, KindSynced):
            if event.kind in self._synced:
                return
            self._synced.add(event.kind)
        urgency = _urgency(event) if key[0] in self._synced else Urgency.WAITING
        event = _keeping_last(event, self._queue.waiting(key))
        self._queue.put(key, event, urgency, self._clock.now())
        self._bell.set()

    def answer(self, result: Result | RowBudgetGiven) -> None:
        """Take in what our own shells say; it goes first and is never merged."""
        self._queue.put_result(result)
        self._bell.set()

    def take(self, limit: int) -> list[Event]:
        """Take about `limit` events, results first, then the more urgent; no class is left out."""
        self._is_read = True
        for urgency, age_s in self._queue.oldest_age(self._clock.now()).items():
            self._waits[Urgency(urgency)].observe(age_s)
        events = self._queue.take(limit)
        if not len(self._queue):
            self._bell.clear()
        return events

    async def wait(self, until: float | None) -> None:
        """Return when something has come or `until` (clock time) has come; always lets other tasks run once."""
        await asyncio.sleep(0)
        if self._bell.is_set():
            return
        timeout_s = None if until is None else max(0.0, until - self._clock.now())
        try:
            async with asyncio.timeout(timeout_s):
                await self._bell.wait()
        except TimeoutError:
            return

    def ring(self) -> None:
        """End a wait."""
        self._bell.set()

    def depth(self, urgency: Urgency) -> int:
        """Return how many entries wait in a class."""
        return self._queue.depths().get(urgency, 0)

    def __len__(self) -> int:
        return len(self._queue)


def _keeping_last(event: Observation, waiting: Event | None) -> Observation:
    """Let a version that cannot be read carry the good one that it replaces, which stays in force."""
    match event, waiting:
        case (PodUnreadable(), PodObserved(pod=pod)) if pod.metadata.uid == event.uid:
            return replace(event, last=pod)
        case (NodeUnreadable(), NodeObserved(node=node)) if node.metadata.uid == event.uid:
            return replace(event, last=node)
        case (PodGroupUnreadable(), PodGroupObserved(group=group)) if group.metadata.uid == event.uid:
            return replace(event, last=group)
        case (PodUnreadable(), PodUnreadable(last=last_pod)) if waiting.uid == event.uid:
            return replace(event, last=last_pod)
        case (NodeUnreadable(), NodeUnreadable(last=last_node)) if waiting.uid == event.uid:
            return replace(event, last=last_node)
        case (PodGroupUnreadable(), PodGroupUnreadable(last=last_group)) if waiting.uid == event.uid:
            return replace(event, last=last_group)
        case _:
            return event


def _urgency(event: Observation) -> Urgency:
    match event:
        case PodObserved(pod=pod):
            return Urgency.WAITING if _waits(pod) else Urgency.ROOM
        case PodGone() | PodUnreadable() | NodeObserved() | NodeGone() | NodeUnreadable():
            return Urgency.ROOM
        case KindSynced():
            return Urgency.WAITING
        case _:
            return Urgency.RULES


def _waits(pod: Pod) -> bool:
    return (
        not pod.spec.node_name and pod.metadata.deletion_timestamp is None and pod.status.phase not in FINISHED_PHASES
    )


def _key(event: Observation) -> EntryKey:
    match event:
        case KindSynced(kind=kind):
            return (kind, "", "")
        case PodObserved(pod=pod):
            return (Kind.POD, *pod.metadata.key)
        case PodGone() | PodUnreadable():
            return (Kind.POD, event.namespace, event.name)
        case NodeObserved(node=node):
            return (Kind.NODE, "", node.metadata.name)
        case NodeGone(name=name) | NodeUnreadable(name=name):
            return (Kind.NODE, "", name)
        case PodGroupObserved(group=group):
            return (Kind.POD_GROUP, *group.metadata.key)
        case PodGroupGone() | PodGroupUnreadable():
            return (Kind.POD_GROUP, event.namespace, event.name)
        case PriorityClassObserved(priority_class=priority_class):
            return (Kind.PRIORITY_CLASS, "", priority_class.metadata.name)
        case PriorityClassGone(name=name):
            return (Kind.PRIORITY_CLASS, "", name)
        case BudgetObserved(budget=budget):
            return (Kind.BUDGET, *budget.metadata.key)
        case BudgetGone():
            return (Kind.BUDGET, event.namespace, event.name)
        case _:
            assert_never(event)

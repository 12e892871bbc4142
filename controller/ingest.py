"""Takes what the watches tell into the index, and asks for the PodGroups that it touches to be reconciled."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, assert_never

import structlog

from controller.announcer import Announcer
from controller.core.index import Index
from controller.core.rivals import QUIET_S, Rivals, Verdict
from controller.metrics import Kind, Metrics
from gangline.base.clock import Clock
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import Client
from gangline.kube.wire.changes import Change, Observed, Progress, Removed, Synced, Unreadable
from gangline.kube.wire.resources import POD_GROUPS, PODS

log = structlog.get_logger()


class Ingest:
    """The sinks of both watches; never raises for what an object contains."""

    def __init__(
        self,
        index: Index,
        rivals: Rivals,
        announcer: Announcer,
        metrics: Metrics,
        *,
        ask: Callable[[Key], None],
        clock: Clock,
        wall_time: Callable[[], float],
    ) -> None:
        self._index = index
        self._rivals = rivals
        self._announcer = announcer
        self._metrics = metrics
        self._ask = ask
        self._clock = clock
        self._wall_time = wall_time
        self._unsynced = set(Kind)
        self.synced = asyncio.Event()
        """Set once all pods and all PodGroups have been told: before, counts would be too low."""

    def take_pod(self, change: Change[Pod]) -> None:
        """Take in one change of a pod."""
        self._note(Kind.POD, change)
        match change:
            case Observed(pod):
                self._touch(self._index.observe_pod(pod, self._wall_time()))
            case Removed(key, uid):
                self._touch(self._index.remove_pod(key, uid))
            case Synced():
                self._sync(Kind.POD)
            case Unreadable() | Progress():
                pass
            case _:
                assert_never(change)

    def take_group(self, change: Change[PodGroup]) -> None:
        """Take in one change of a PodGroup."""
        self._note(Kind.POD_GROUP, change)
        match change:
            case Observed(group):
                self._watch_rivals(group)
                self._touch(self._index.observe_group(group))
            case Removed(key, uid):
                self._rivals.forget(uid)
                self._announcer.forget(uid)
                self._touch(self._index.remove_group(key, uid))
            case Unreadable():
                self._touch(self._index.lose_group(change))
            case Synced():
                self._sync(Kind.POD_GROUP)
            case Progress():
                pass
            case _:
                assert_never(change)

    def _touch(self, touched: Iterable[Key]) -> None:
        for key in touched:
            self._ask(key)

    def _note(self, kind: Kind, change: Change[Any]) -> None:
        """Count a change, and warn of one that cannot be read."""
        if not isinstance(change, Synced | Progress):
            self._metrics.watches.events.labels(kind).inc()
        if isinstance(change, Unreadable):
            self._metrics.watches.unreadable.labels(kind).inc()
            log.warning(
                "object_unreadable", kind=kind.value, object=str(change.key), uid=change.uid, error=change.message
            )

    def _sync(self, kind: Kind) -> None:
        self._unsynced.discard(kind)
        if not self._unsynced:
            self.synced.set()

    def _watch_rivals(self, group: PodGroup) -> None:
        meta, version, now = group.metadata, group.metadata.resource_version, self._clock.now()
        if self._rivals.observed(meta.uid, Verdict.of(group.status), resource_version=version, now=now):
            self._metrics.foreign_writers.inc()
            log.warning("foreign_status_writer", group=str(meta.key), uid=meta.uid, quiet_s=QUIET_S)
            self._announcer.foreign_writer(group, QUIET_S)


async def differences(index: Index, client: Client, scheduler_names: Iterable[str], now: float) -> list[str]:
    """Compare the index with fresh lists, one sentence for each difference; objects that do not decode are left out.

    Raises ApiError.
    """
    fresh = Index(scheduler_names)
    groups, unreadable_groups, _ = await client.list_readable(POD_GROUPS, PodGroup)
    pods, unreadable_pods, _ = await client.list_readable(PODS, Pod)
    for group in groups:
        fresh.observe_group(group)
    for pod in pods:
        fresh.observe_pod(pod, now)
    return index.differences(fresh, except_uids={one.uid for one in (*unreadable_groups, *unreadable_pods)})

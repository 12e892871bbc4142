"""Turns what the reflectors deliver into events of the core, kind by kind."""

from collections import Counter
from collections.abc import Callable
from typing import Any, assert_never

import structlog

from gangline.contract.meta import Key
from gangline.contract.node import Node
from gangline.contract.pod import FINISHED_PHASES, Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget, PriorityClass
from gangline.contract.quantity import QuantityError
from gangline.contract.requests import allocatable
from gangline.kube.client import Client
from gangline.kube.reflector import Change, Observed, Progress, Reflector, Removed, Synced, Unreadable
from gangline.kube.wire.resources import NODES, POD_DISRUPTION_BUDGETS, POD_GROUPS, PODS, PRIORITY_CLASSES, Resource
from gangline.service.turns import collected
from scheduler.core import events
from scheduler.core.events import Kind, Observation
from scheduler.core.machine import Scheduler
from scheduler.metrics import Metrics

log = structlog.get_logger()

_SOURCES: dict[Kind, tuple[Resource, type[Any]]] = {
    Kind.POD: (PODS, Pod),
    Kind.NODE: (NODES, Node),
    Kind.POD_GROUP: (POD_GROUPS, PodGroup),
    Kind.PRIORITY_CLASS: (PRIORITY_CLASSES, PriorityClass),
    Kind.BUDGET: (POD_DISRUPTION_BUDGETS, PodDisruptionBudget),
}


class Ingest:
    """One reflector for each kind; `observe` takes the events, synchronously."""

    def __init__(
        self,
        client: Client,
        kinds: tuple[Kind, ...],
        observe: Callable[[Observation], None],
        metrics: Metrics,
        *,
        watch_seconds: tuple[int, int],
    ) -> None:
        self._observe = observe
        self._metrics = metrics
        self.reflectors: dict[Kind, Reflector[Any]] = {}
        for kind in kinds:
            resource, type_ = _SOURCES[kind]
            self.reflectors[kind] = Reflector(client, resource, type_, self._sink(kind), watch_seconds=watch_seconds)

    def _sink(self, kind: Kind) -> Callable[[Change[Any]], None]:
        delivered = self._metrics.watches.events.labels(kind)
        unreadable = self._metrics.watches.unreadable.labels(kind)

        def sink(change: Change[Any]) -> None:
            if not isinstance(change, Synced | Progress):
                delivered.inc()
            if isinstance(change, Unreadable):
                unreadable.inc()
                log.warning(
                    "object_unreadable", kind=kind.value, object=str(change.key), uid=change.uid, error=change.message
                )
            event = _event(kind, change)
            if event is not None:
                self._observe(event)

        return sink


def _event(kind: Kind, change: Change[Any]) -> Observation | None:
    match change:
        case Observed(object=object_):
            return _observed(kind, object_)
        case Removed(key=key, uid=uid):
            return _gone(kind, key, uid)
        case Unreadable():
            return _unreadable(kind, change)
        case Synced():
            return events.KindSynced(kind=kind)
        case Progress():
            return None
        case _:
            assert_never(change)


def _observed(kind: Kind, object_: Any) -> Observation:
    match kind:
        case Kind.POD:
            return events.PodObserved(pod=object_)
        case Kind.NODE:
            return events.NodeObserved(node=object_)
        case Kind.POD_GROUP:
            return events.PodGroupObserved(group=object_)
        case Kind.PRIORITY_CLASS:
            return events.PriorityClassObserved(priority_class=object_)
        case Kind.BUDGET:
            return events.BudgetObserved(budget=object_)
        case _:
            assert_never(kind)


def _gone(kind: Kind, key: Key, uid: str) -> Observation:
    match kind:
        case Kind.POD:
            return events.PodGone(namespace=key.namespace, name=key.name, uid=uid)
        case Kind.NODE:
            return events.NodeGone(name=key.name, uid=uid)
        case Kind.POD_GROUP:
            return events.PodGroupGone(namespace=key.namespace, name=key.name, uid=uid)
        case Kind.PRIORITY_CLASS:
            return events.PriorityClassGone(name=key.name)
        case Kind.BUDGET:
            return events.BudgetGone(namespace=key.namespace, name=key.name)
        case _:
            assert_never(kind)


def _unreadable(kind: Kind, change: Unreadable) -> Observation | None:
    """Pass on what accounting must know; a class or budget that does not decode just keeps its last good version."""
    namespace, name = change.key
    match kind:
        case Kind.POD:
            return events.PodUnreadable(
                namespace=namespace, name=name, uid=change.uid, node=change.node_name, message=change.message
            )
        case Kind.NODE:
            return events.NodeUnreadable(name=name, uid=change.uid, message=change.message)
        case Kind.POD_GROUP:
            return events.PodGroupUnreadable(namespace=namespace, name=name, uid=change.uid, message=change.message)
        case Kind.PRIORITY_CLASS | Kind.BUDGET:
            return None
        case _:
            assert_never(kind)


async def differences(scheduler: Scheduler, client: Client) -> list[str]:
    """Compare the cache with fresh lists, one sentence for each difference. Raises ApiError.

    What the cache has warned of and not taken in is left out: objects that do not decode, nodes with quantities that
    are not legal, pods with one UID.
    """
    pods, unreadable_pods, _ = await client.list_readable(PODS, Pod)
    nodes, unreadable_nodes, _ = await client.list_readable(NODES, Node)
    places = dict(await collected([_place_of(pod)] for pod in pods))
    uids = Counter(pod.metadata.uid for pod in pods)
    unmeasured = set(await collected([] if _is_measured(node) else [node.metadata.uid] for node in nodes))
    pieces = scheduler.differences(
        places,
        {node.metadata.name: node.metadata.uid for node in nodes if node.metadata.uid not in unmeasured},
        except_uids={one.uid for one in (*unreadable_pods, *unreadable_nodes)}
        | {uid for uid, number in uids.items() if number > 1}
        | unmeasured,
    )
    return await collected(pieces)


def _place_of(pod: Pod) -> tuple[str, tuple[str, bool]]:
    return pod.metadata.uid, (pod.spec.node_name or "", pod.status.phase in FINISHED_PHASES)


def _is_measured(node: Node) -> bool:
    try:
        allocatable(node)
    except QuantityError:
        return False
    return True

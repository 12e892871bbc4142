"""Any number of kubelets and controllers on one client: each kind watched once, each change waking whom it concerns."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from gangline.contract.meta import Key
from gangline.contract.policy import LabelSelector
from gangline.contract.selectors import label_selector_matches
from gangline.kube.client import Client
from gangline.kube.clock import utc_now
from gangline.kube.wire.resources import Resource
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.actions import Decision
from gangline.sandbox.reconciling.announcements import Announcer
from gangline.sandbox.reconciling.cache import Cache
from gangline.sandbox.reconciling.informer import AnyInformer, Informer
from gangline.sandbox.reconciling.reconciler import Decider, Reconciler
from gangline.sandbox.reconciling.world import Pace, World

T = TypeVar("T", bound=Identified)
Wake = Callable[[World, Any], Iterable[Key]]
"""Names whom a change of this object concerns; it is asked about the version before and the version now."""


class Loops:
    """Watches of kinds, and the loops that decide about them."""

    def __init__(self, client: Client, types: Iterable[type[Any]], pace: Pace) -> None:
        self._client = client
        self._pace = pace
        self.informers: Mapping[Resource, AnyInformer] = {
            RESOURCES[type_]: Informer(client, RESOURCES[type_], type_) for type_ in types
        }
        self._caches: Mapping[Resource, Cache[Any]] = {each.resource: each.cache for each in self.informers.values()}
        self._loops: dict[str, Reconciler[Key]] = {}
        self._announcers: dict[str, Announcer] = {}

    def informer(self, type_: type[T]) -> Informer[T]:
        """Return the watch of a kind, for those who listen themselves."""
        return self.informers[RESOURCES[type_]]

    def add(
        self,
        name: str,
        type_: type[T],
        decide: Callable[[T, World], Decision],
        wakes: Mapping[type[Any], Wake] | None = None,
        *,
        component: str,
        workers: int = 4,
    ) -> None:
        """Have every object of a kind decided about when it changes, and when another does that wakes it.

        Events about it come from this component.
        """
        announcer = self._announcers.setdefault(component, Announcer(self._client, component))
        decider = Decider(self._client, type_, decide, self._caches, pace=self._pace, tell=announcer.tell)
        loop = self._loops[name] = Reconciler(name, decider.reconcile, workers=workers)
        self._wake(loop, type_, lambda _world, thing: (thing.metadata.key,))
        for other, wake in (wakes or {}).items():
            self._wake(loop, other, wake)

    def _wake(self, loop: Reconciler[Key], type_: type[Any], wake: Wake) -> None:
        def listener(*versions: Any) -> None:
            world = World(self._caches, utc_now(), self._pace)
            for thing in versions:
                for key in wake(world, thing) if thing is not None else ():
                    loop.enqueue(key)

        self.informer(type_).listen(listener)

    async def run(self) -> None:
        """Watch and decide for ever."""
        synced = [each.synced for each in self.informers.values()]
        async with asyncio.TaskGroup() as group:
            for resource, informer in self.informers.items():
                group.create_task(informer.run(), name=f"watch-{resource.plural}")
            for component, announcer in self._announcers.items():
                group.create_task(announcer.run(), name=f"events-{component}")
            for name, loop in self._loops.items():
                group.create_task(loop.run(synced), name=name)


def owners(owner_type: type[T], selector_of: Callable[[T], LabelSelector | None] = lambda _owner: None) -> Wake:
    """Wake the controller that a child has or had, and those that could adopt a child without one."""

    def wake(world: World, child: Identified) -> Iterable[Key]:
        controller = child.metadata.controller
        if controller is not None:
            is_ours = controller.kind == RESOURCES[owner_type].kind
            return [Key(child.metadata.namespace, controller.name)] if is_ours else []
        return [
            owner.metadata.key
            for owner in world.all(owner_type).in_namespace(child.metadata.namespace)
            if label_selector_matches(selector_of(owner), child.metadata.labels)
        ]

    return wake

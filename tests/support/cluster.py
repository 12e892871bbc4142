"""A cluster for end-to-end tests: the chosen backend, both services, a live view of it all, and the judge at the end.

    async with running_cluster(nodes(1, cpu="9")) as cluster:
        await cluster.create(*gang("g", 3, requests={"cpu": 3}))
        await cluster.until(lambda: cluster.running("g") == 3, "the gang runs")

Leaving it cleanly waits until the judge has no complaint about the cluster at rest, and until both services
find nothing wrong with what they remember.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aiohttp
import msgspec
from msgspec import Struct

from gangline.contract.membership import Named, link_of
from gangline.contract.meta import Condition, Key, ObjectMeta
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import Client, connect
from gangline.kube.reflector import Reflector, kept_in
from gangline.kube.wire import resources
from gangline.kube.wire.resources import (
    EVENTS,
    NODES,
    POD_GROUPS,
    PODS,
    Resource,
)
from gangline.sandbox.apiserver.faults import Rule, RuleBook
from gangline.sandbox.kubelets.nodes import NodeGroup
from gangline.sandbox.reconciling.world import Pace
from tests.support import backends, judge
from tests.support.backends import Serving
from tests.support.recording import Line
from tests.support.services import DEADLINE_S, Process, Service, Task, eventually, running_process, start_task

NAMESPACE: Final = "default"
QUICK: Final = Pace(lost_node_s=0.2, job_backoff_s=0.2)

_BY_KIND: Final = {value.kind: value for value in vars(resources).values() if isinstance(value, Resource)}


class Reference(Struct, frozen=True):
    """The object that an Event speaks of."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class RecordedEvent(Struct, frozen=True, rename="camel"):
    """What tests read of an Event."""

    metadata: ObjectMeta
    regarding: Reference = Reference()
    type: str = ""
    reason: str = ""
    note: str = ""
    reporting_controller: str = ""


class Cluster:
    """What a test does to a cluster and sees of it."""

    def __init__(
        self,
        serving: Serving,
        client: Client,
        group: asyncio.TaskGroup,
        directory: Path,
        scheduler_names: tuple[str, ...],
    ) -> None:
        self.client = client
        self.scheduler_names = scheduler_names
        self.directory = directory
        self.kubeconfig = serving.kubeconfig
        self.url = serving.url
        self.pods: dict[Key, Pod] = {}
        self.nodes: dict[Key, Node] = {}
        self.groups: dict[Key, PodGroup] = {}
        self.events: dict[Key, RecordedEvent] = {}
        self.services: dict[str, Service] = {}
        self.history = judge.History(self.scheduler_names)
        self._changed = asyncio.Event()
        self._tasks: dict[str, Task] = {}
        self._group = group
        self._serving = serving

    def watching(self) -> list[Reflector[Any]]:
        """The watches behind the view, to be run."""
        return [
            Reflector(self.client, PODS, Pod, kept_in(self.pods, self._changed.set)),
            Reflector(self.client, NODES, Node, kept_in(self.nodes, self._changed.set)),
            Reflector(self.client, POD_GROUPS, PodGroup, kept_in(self.groups, self._changed.set)),
            Reflector(self.client, EVENTS, RecordedEvent, kept_in(self.events, self._changed.set)),
        ]

    def of(self, name: str) -> list[Pod]:
        """The pods of this PodGroup, ReplicaSet, Deployment or Job, or whose names begin so; those that go left out."""
        return [
            pod
            for _, pod in sorted(self.pods.items())
            if pod.metadata.deletion_timestamp is None
            and (
                link_of(pod) == Named(name)
                or (pod.metadata.labels or {}).get("app") == name
                or pod.metadata.name.startswith(f"{name}-")
                or pod.metadata.name == name
            )
        ]

    def bound(self, name: str) -> int:
        """How many of those pods have a node."""
        return sum(bool(pod.spec.node_name) for pod in self.of(name))

    def waiting(self, name: str) -> int:
        """How many of those pods have none."""
        return sum(not pod.spec.node_name for pod in self.of(name))

    def in_phase(self, name: str, phase: str) -> int:
        """How many of those pods are in this phase."""
        return sum(pod.status.phase == phase for pod in self.of(name))

    def running(self, name: str) -> int:
        """How many of those pods run."""
        return self.in_phase(name, "Running")

    def reasons(self, name: str) -> list[str]:
        """What each of those pods that waits says: the reason of its condition, "" where nobody has said."""
        return [(said.reason or "") if said else "" for said in map(waits_because, self._waiting(name))]

    def messages(self, name: str) -> list[str]:
        """The messages of those conditions."""
        return [(said.message or "") if said else "" for said in map(waits_because, self._waiting(name))]

    def _waiting(self, name: str) -> list[Pod]:
        return [pod for pod in self.of(name) if not pod.spec.node_name]

    def group(self, name: str, namespace: str = NAMESPACE) -> PodGroup:
        """The PodGroup as last seen; one that nobody has seen is empty."""
        return self.groups.get(Key(namespace, name), PodGroup())

    def phase(self, name: str) -> str | None:
        """The phase that a PodGroup shows."""
        return self.group(name).status.phase

    def said_of(self, kind: str, name: str, *, by: str = "") -> list[str]:
        """Reasons of the Events about an object, of one controller if it is named, sorted."""
        return sorted(
            event.reason
            for event in self.events.values()
            if (event.regarding.kind, event.regarding.name) == (kind, name) and by in {"", event.reporting_controller}
        )

    async def until(self, holds: Callable[[], bool], what: str, within_s: float = DEADLINE_S) -> None:
        """Wait until something holds of the view; fail with what was seen last."""
        try:
            async with asyncio.timeout(within_s):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {within_s} s: {what}\n{self.picture()}") from None

    def picture(self) -> str:
        """The cluster in words, for a test that fails."""
        lines = [f"node {key.name}: {node.status.allocatable}" for key, node in sorted(self.nodes.items())[:10]]
        for key, group in sorted(self.groups.items())[:20]:
            status = group.status
            figures = (status.scheduled, status.running, status.succeeded, status.failed)
            lines.append(f"podgroup {key}: minMember {group.spec.min_member} {status.phase} {figures}")
        for key, pod in sorted(self.pods.items())[:60]:
            said = waits_because(pod)
            why = f"{said.reason}: {said.message}" if said else ""
            lines.append(f"pod {key}: {pod.status.phase} on {pod.spec.node_name} {why}")
        return "\n".join(lines)

    async def create(self, *bodies: dict[str, Any], namespace: str = NAMESPACE) -> None:
        """Create objects, one after the other."""
        for body in bodies:
            await self.client.create(_BY_KIND[body["kind"]], namespace, body)

    async def delete(self, kind: str, name: str, *, grace_period_s: int | None = None) -> None:
        """Delete an object and, in the background, what it owns."""
        await self.client.delete(
            _BY_KIND[kind], Key(NAMESPACE, name), grace_period_s=grace_period_s, propagation="Background"
        )

    async def patch(self, kind: str, name: str, patch: dict[str, Any], **more: Any) -> None:
        """Change an object by a merge patch."""
        await self.client.patch(_BY_KIND[kind], Key(NAMESPACE, name), patch, **more)

    async def add_nodes(self, *groups: NodeGroup) -> None:
        """Bring up nodes."""
        await backends.bring_up(self.client, groups)

    async def faults(self, *rules: Rule, seed: int = 7) -> None:
        """Let these faults happen from now on, instead of those before."""
        await self.admin("PUT", "faults", RuleBook(rules=rules, seed=seed))

    async def struck(self) -> list[int]:
        """How often each rule has struck."""
        answer = msgspec.json.decode(await self.admin("GET", "faults"))
        return [rule["struck"] for rule in answer["rules"]]

    async def log(self, after: int = 0) -> Sequence[Line]:
        """Every change after a revision, in order."""
        return await self._serving.log(after)

    async def admin(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request to the sandbox's own endpoints."""
        data = None if body is None else msgspec.json.encode(body)
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"{self.url}/sandbox/{path}", data=data) as response,
        ):
            answer = await response.read()
            assert response.status < 300, answer
            return answer

    async def start(self, name: str, **settings: Any) -> Service:
        """Start a service in this process and wait until it is ready."""
        task = start_task(self._group, name, settings.pop("kubeconfig", self.kubeconfig), **settings)
        self._tasks[name], self.services[name] = task, task.service
        await task.service.until_ready()
        return task.service

    async def stop(self, name: str) -> None:
        """Stop a service of this process as SIGTERM does."""
        del self.services[name]
        await self._tasks.pop(name).end()

    async def stop_all(self) -> None:
        """Stop every service of this process."""
        for name in list(self._tasks):
            await self.stop(name)

    @asynccontextmanager
    async def process(self, name: str, **settings: Any) -> AsyncIterator[Process]:
        """Run a service as a process of its own."""
        kubeconfig = settings.pop("kubeconfig", self.kubeconfig)
        async with running_process(name, kubeconfig, self.directory, **settings) as process:
            yield process

    async def judged(self, within_s: float = DEADLINE_S) -> None:
        """Wait until nothing is wrong with the cluster at rest; fail with what is."""
        found: list[str] = []

        async def is_clean() -> bool:
            found[:] = await self._complaints()
            return not found

        try:
            await eventually(is_clean, "the judge is content", within_s)
        except AssertionError as error:
            raise AssertionError("\n".join([str(error), *found, self.picture()])) from None

    async def see(self) -> None:
        """Wait until the view shows the pods and PodGroups that are there, where nobody changes them any more."""
        kinds: tuple[tuple[Resource, type[Pod | PodGroup], Mapping[Key, Pod | PodGroup]], ...] = (
            (PODS, Pod, self.pods),
            (POD_GROUPS, PodGroup, self.groups),
        )

        async def is_seen() -> bool:
            for resource, type_, seen in kinds:
                there, _ = await self.client.list(resource, type_)
                if _versions(there) != _versions(seen.values()):
                    return False
            return True

        await eventually(is_seen, "the view shows what is there")

    async def catch_up(self) -> None:
        """Let the history see everything that was committed since it last looked."""
        for line in await self.log(after=self.history.revision):
            self.history.apply_line(line)

    async def _complaints(self) -> list[str]:
        await self.catch_up()
        history = self.history
        violations = [
            *history.violations,
            *judge.violations(history.cluster(), self.scheduler_names, history.excused),
        ]
        if "controller" not in self.services:
            violations = [one for one in violations if one.rule not in judge.RULES_OF_THE_CONTROLLER]
        if "scheduler" not in self.services:
            violations = [one for one in violations if one.rule not in judge.RULES_OF_THE_SCHEDULER]
        found = [f"{one.rule} {one.subject}: {one.message}" for one in violations]
        for service in list(self.services.values()):
            found += [f"{service.name}: {problem}" for problem in await service.problems("/debug/validate")]
        return found


def _versions(objects: Iterable[Pod | PodGroup]) -> set[tuple[Key, str]]:
    return {(one.metadata.key, one.metadata.resource_version) for one in objects}


def waits_because(pod: Pod) -> Condition | None:
    """The condition by which a pod says why it waits, None where it has none."""
    conditions = pod.status.conditions or ()
    return next((one for one in conditions if one.type == "PodScheduled" and one.status == "False"), None)


@asynccontextmanager
async def running_cluster(
    *node_groups: NodeGroup,
    services: tuple[str, ...] = ("scheduler", "controller"),
    pace: Pace = QUICK,
    scheduler_names: tuple[str, ...] = judge.SCHEDULER_NAMES,
    **settings: Any,
) -> AsyncIterator[Cluster]:
    """A cluster with these nodes, our CRD, and services in this process; `settings` are the scheduler's."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="gangline-e2e-")))
        serving = await stack.enter_async_context(backends.chosen().serve(directory / "kubeconfig", pace))
        client = await stack.enter_async_context(connect(str(serving.kubeconfig), user_agent="test"))
        await backends.bring_up(client, node_groups)
        async with asyncio.TaskGroup() as group:
            cluster = Cluster(serving, client, group, directory, scheduler_names)
            watches = [group.create_task(one.run(), name="view") for one in cluster.watching()]
            for name in services:
                more = settings if name == "scheduler" else {}
                await cluster.start(name, scheduler_name=scheduler_names, **more)
            yield cluster
            await cluster.judged()
            await cluster.stop_all()
            for watch in watches:
                watch.cancel()

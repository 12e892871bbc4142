"""A storm over both services as processes, judged change by change and at rest, and what their metrics say of it."""

import os
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

import pytest
from prometheus_client import CollectorRegistry

import controller.metrics
import scheduler.metrics
from controller.core.rivals import REVERSALS
from gangline.contract.meta import Key
from gangline.kube.client import JSON_PATCH
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS
from gangline.sandbox.apiserver.faults import Refuse, Rule
from scheduler.settings import Settings
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import gang, nodes, pod_group
from tests.support.services import Process, Samples, eventually
from tests.support.storm import NODE_CPU, Storm, fault_rules

pytestmark = pytest.mark.sandbox

CHANGES: Final = int(os.environ.get("STORM_CHANGES", "2000"))
"""`STORM_CHANGES=50000 STORM_SEED=7 pytest tests/e2e/test_storm.py` for a long one."""
SEED: Final = int(os.environ.get("STORM_SEED", "20261130"))
PARTS: Final = 10
CALM_S: Final = 300.0
A_BUG: Final = "anything but 0 is a bug"
A_MOMENT: Final = "what waits at the moment of the scrape, mostly nothing"
MAY_REST: Final = {
    "gangline_scheduler_cache_problems": A_BUG,
    "gangline_controller_cache_problems": A_BUG,
    "gangline_scheduler_event_queue_depth": A_MOMENT,
    "gangline_scheduler_binds_in_flight": A_MOMENT,
    "gangline_controller_queue_depth": A_MOMENT,
    "gangline_controller_queue_oldest_age_seconds": A_MOMENT,
}
STATUS_PROPERTIES: Final = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties"
NAMES: Final = ("scheduler", "controller")


class Services:
    """Both services as processes that can be killed and started again, and the most that each metric has shown."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stack = AsyncExitStack()
        self._processes: dict[str, Process] = {}
        self.most: Samples = {}

    async def __aenter__(self) -> Self:
        for name in NAMES:
            await self._start(name)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._cluster.services.clear()
        await self._stack.aclose()

    async def kill(self, name: str) -> None:
        """Crash a service, and start the next."""
        await self._processes[name].kill()
        await self._start(name)

    async def scrape(self) -> None:
        """Note what the metrics show."""
        for process in self._processes.values():
            for sample, value in (await process.service.samples()).items():
                self.most[sample] = max(value, self.most.get(sample, value))

    async def until_moved(self, name: str) -> None:
        """Wait until a metric shows something."""

        async def has_moved() -> bool:
            await self.scrape()
            return any(value > 0 for sample, value in self.most.items() if sample.partition("{")[0] == name)

        await eventually(has_moved, f"{name} moves")

    async def _start(self, name: str) -> None:
        process = await self._stack.enter_async_context(self._cluster.process(name))
        self._processes[name], self._cluster.services[name] = process, process.service
        try:
            await process.service.until_ready()
        except AssertionError as error:
            raise AssertionError(f"{error}\n{process.said()[-3000:]}") from None


@pytest.mark.timeout(900 + CHANGES / 2)
async def test_a_storm_leaves_no_gang_in_part_no_word_untrue_and_no_metric_unmoved() -> None:
    async with (
        running_cluster(nodes(20, cpu=NODE_CPU, memory="8Gi"), services=()) as cluster,
        Services(cluster) as services,
    ):
        storm = Storm(cluster, SEED)
        await cluster.faults(*fault_rules(), seed=SEED)
        for part in range(PARTS):
            await storm.blow(CHANGES // PARTS)
            await services.scrape()
            await cluster.catch_up()
            await strike(part, cluster, services)
        await cluster.faults()
        await cluster.judged(CALM_S)
        assert storm.changes.total() >= CHANGES
        assert cluster.history.most_half_started <= Settings().bind_concurrency

        await tour(cluster, services)
        assert unmoved(services.most) <= MAY_REST.keys()


async def strike(part: int, cluster: Cluster, services: Services) -> None:
    """Do to the services, now and then, what they must survive."""
    match part:
        case 2:
            await services.kill("scheduler")
        case 4:
            await cluster.admin("POST", "watches/drop")
            await cluster.admin("POST", "compact")
        case 6:
            await services.kill("controller")


async def tour(cluster: Cluster, services: Services) -> None:
    """Bring about what a storm does not: rivals, timeouts, events that are refused, a CRD that lacks a field."""
    await cluster.faults(Rule(verb="create", resource="events", fault=Refuse(403)))
    late = {"scheduleTimeoutSeconds": 1}
    await cluster.create(*gang("late", 2, spec=late, requests={"cpu": 100}), pod_group("contested", 2))
    await services.until_moved("gangline_controller_schedule_timeouts_total")
    await services.until_moved("gangline_controller_events_dropped_total")
    await services.until_moved("gangline_scheduler_events_dropped_total")
    await cluster.faults()

    for _ in range(REVERSALS):
        await cluster.until(lambda: cluster.phase("contested") == "Pending", "the controller has its way")
        await cluster.patch("PodGroup", "contested", {"status": {"phase": "Running"}}, subresource="status")
        await cluster.until(lambda: cluster.phase("contested") == "Running", "the rival has its way")
    await services.until_moved("gangline_controller_given_way_pod_groups")
    await services.until_moved("gangline_controller_events_written_total")
    await cluster.delete("PodGroup", "contested")

    key = Key("", "podgroups.scheduling.x-k8s.io")
    removal = [{"op": "remove", "path": f"{STATUS_PROPERTIES}/observedGeneration"}]
    await cluster.client.patch(CUSTOM_RESOURCE_DEFINITIONS, key, removal, content_type=JSON_PATCH)
    await cluster.create(pod_group("pruned", 2))
    await services.until_moved("gangline_controller_pruned_fields_total")


def unmoved(most: Samples) -> set[str]:
    """Declared metrics of which no sample ever was above 0."""
    moved = {name.partition("{")[0] for name, value in most.items() if value > 0}
    return {name for name in declared() if not {name, f"{name}_total", f"{name}_count"} & moved}


def declared() -> set[str]:
    """Every metric that the services declare."""
    found = set()
    for declare in (scheduler.metrics.Metrics, controller.metrics.Metrics):
        registry = CollectorRegistry()
        declare(registry)
        found |= {family.name for family in registry.collect()}
    return found

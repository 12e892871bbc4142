"""Many gangs at once on the sandbox, with the services as processes: are all bound, and what did it cost?"""

import asyncio
import gc
import os
import time
import tracemalloc
from pathlib import Path
from typing import Final

from msgspec import Struct

from gangline.contract.names import POD_GROUP_LABEL
from scheduler.core.events import Kind, KindSynced, NodeObserved, PodGroupObserved, PodObserved, SettingsGiven
from scheduler.core.machine import Scheduler
from tests.support.builders import group, node, pod
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import gang, nodes
from tests.support.services import Process

POD_CPU: Final = 1
AT_ONCE: Final = 16
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Cost(Struct, frozen=True):
    """What a process has used: CPU seconds since its start, bytes in memory now."""

    cpu_s: float
    memory_bytes: int


class Figures(Struct, frozen=True, kw_only=True):
    """One run. `most_half_started`: gangs that only binds in flight explained, at the worst moment."""

    pods: int
    gangs: int
    first_to_last_bind_s: float
    start_to_last_bind_s: float
    cpu_ms_per_pod: float
    memory_bytes_per_pod: float
    most_half_started: int
    half_started_at_rest: int

    @property
    def binds_per_s(self) -> float:
        """Pods by the time from the first bind to the last."""
        return self.pods / self.first_to_last_bind_s


async def bind_gangs(*, node_count: int, gang_count: int, gang_size: int, within_s: float) -> Figures:
    """Create all gangs, then start the scheduler: it finds as many pods as there are places."""
    pods = gang_count * gang_size
    cpu = -(-pods * POD_CPU // node_count)
    async with running_cluster(nodes(node_count, cpu=str(cpu)), services=("controller",)) as cluster:
        async with cluster.process("scheduler") as idle:
            await idle.service.until_ready()
            before = cost_of(idle.pid)
            assert await idle.terminate() == 0
        await _create(cluster, gang_count, gang_size)
        started = time.monotonic()
        async with cluster.process("scheduler") as process:
            first, last = await _bind_times(cluster, process, pods, within_s)
            await cluster.until(
                lambda: all(cluster.phase(f"gang-{number}") == "Running" for number in range(gang_count)),
                "all gangs run",
                within_s,
            )
            after = cost_of(process.pid)
            cluster.services["scheduler"] = process.service
            await cluster.judged()
            del cluster.services["scheduler"]
        return Figures(
            pods=pods,
            gangs=gang_count,
            first_to_last_bind_s=last - first,
            start_to_last_bind_s=last - started,
            cpu_ms_per_pod=1000 * (after.cpu_s - before.cpu_s) / pods,
            memory_bytes_per_pod=(after.memory_bytes - before.memory_bytes) / pods,
            most_half_started=cluster.history.most_half_started,
            half_started_at_rest=len(cluster.history.partial),
        )


async def _create(cluster: Cluster, gang_count: int, gang_size: int) -> None:
    places = asyncio.Semaphore(AT_ONCE)

    async def create(number: int) -> None:
        async with places:
            await cluster.create(*gang(f"gang-{number}", gang_size, requests={"cpu": POD_CPU}))

    async with asyncio.TaskGroup() as group_:
        for number in range(gang_count):
            group_.create_task(create(number), name=f"create gang {number}")


async def _bind_times(cluster: Cluster, process: Process, pods: int, within_s: float) -> tuple[float, float]:
    """When the first and the last pod was seen to be bound."""
    times: list[float] = []

    def note() -> int:
        bound = sum(bool(one.spec.node_name) for one in cluster.pods.values())
        if bound:
            times.append(time.monotonic())
        return bound

    try:
        await cluster.until(lambda: note() == pods, "all pods are bound", within_s)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{process.said()[-3000:]}") from None
    return times[0], times[-1]


def cost_of(pid: int) -> Cost:
    """Read what Linux knows of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Cost((int(fields[11]) + int(fields[12])) / _TICKS_PER_S, pages * os.sysconf("SC_PAGE_SIZE"))


def core_bytes_per_pod(count: int = 20_000) -> float:
    """Measure what the scheduler's core keeps per bound pod of a gang of ten, in bytes of Python's allocator."""
    scheduler = Scheduler()
    scheduler.handle([SettingsGiven(scheduler_names=("gangline",))], 0.0)
    scheduler.handle([NodeObserved(node=node(f"node-{n}", cpu=1000)) for n in range(count // 100)], 0.0)
    scheduler.handle([PodGroupObserved(group=group(f"gang-{n}", 10)) for n in range(count // 10)], 0.0)
    gc.collect()
    tracemalloc.start()
    try:
        for first in range(0, count, 1000):
            scheduler.handle([_observed(number, count) for number in range(first, first + 1000)], 0.0)
        scheduler.handle([KindSynced(kind=kind) for kind in Kind], 0.0)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return kept / count


def _observed(number: int, count: int) -> PodObserved:
    on = f"node-{number % (count // 100)}"
    labels = {POD_GROUP_LABEL: f"gang-{number // 10}"}
    return PodObserved(pod=pod(f"pod-{number}", labels=labels, node=on, phase="Running", version=str(number)))

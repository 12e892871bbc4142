"""The composition root of the controller: settings, client, loops, endpoints, and the order in which they stop."""

import asyncio
import sys
import time
from functools import partial
from typing import Any, Final

import structlog
from aiohttp.web import Request

from controller.announcer import Announcer
from controller.core.index import Index
from controller.core.patch import status_patch
from controller.core.rivals import Rivals
from controller.core.status import assess, is_ours
from controller.ingest import Ingest, differences
from controller.metrics import PHASE_LABELS, Kind, Metrics, phase_label
from controller.reconcile import Reconciler
from controller.settings import Settings, StatusOwner
from controller.writer import StatusWriter
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import CALLS_BESIDE_WRITES, Client, connect
from gangline.kube.clock import MonotonicClock
from gangline.kube.lease import LeaseHolder
from gangline.kube.recorder import EventRecorder
from gangline.kube.reflector import Reflector, obstacles
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.resources import POD_GROUPS, PODS
from gangline.service.http import HttpServer, page_of
from gangline.service.lifecycle import Loops, repeat, unless_stopped
from gangline.service.loop_lag import watch_loop_lag
from gangline.service.metrics import new_registry
from gangline.service.process import instance_name, run_process
from gangline.service.process_settings import lease_key
from gangline.service.turns import collected
from gangline.service.validation import Validation, lasting

PROGRAM: Final = "gangline-controller"
FLUSH_S: Final = 2.0
LAST_WRITES_S: Final = 5.0
"""How long events and the lease may take once the statuses are done."""

log = structlog.get_logger()


def main() -> int:
    """Run the controller until SIGTERM; return the exit code."""
    return run_process(
        Settings,
        serve,
        sys.argv[1:],
        program=PROGRAM,
        description="Keeps the status of each PodGroup true: phase, counts, owners, conditions.",
        last_writes_s=LAST_WRITES_S,
    )


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    """Run the controller until `stop`. Raises StartError when it cannot begin."""
    metrics = Metrics(new_registry())
    async with client_of(settings, metrics) as client:
        await Controller(settings, client, metrics).run(stop)


def client_of(settings: Settings, metrics: Metrics) -> Client:
    """Return a client with room for all status writes at once and for what must never wait for them, as the lease."""
    return connect(
        settings.kubeconfig or None,
        settings.context or None,
        user_agent=PROGRAM,
        observer=metrics.requests,
        concurrency=settings.workers + CALLS_BESIDE_WRITES,
    )


class Controller:
    """All parts of the process around one client; `run` lives until `stop`."""

    def __init__(self, settings: Settings, client: Client, metrics: Metrics) -> None:
        self._settings = settings
        self._client = client
        self._metrics = metrics
        self._clock = MonotonicClock()
        instance = instance_name()
        self._index = Index(settings.scheduler_name)
        self._rivals = Rivals()
        self._writer = StatusWriter(client, metrics)
        self._recorder = EventRecorder(
            client, component="gangline.io/controller", instance=instance, observer=metrics.events
        )
        announcer = Announcer(self._recorder)
        self._reconciler = Reconciler(
            self._index,
            self._rivals,
            self._writer,
            announcer,
            metrics,
            clock=self._clock,
            wall_time=time.time,
            coalesce_s=settings.coalesce_s,
        )
        self._ingest = Ingest(
            self._index, self._rivals, announcer, metrics, ask=self._ask, clock=self._clock, wall_time=time.time
        )
        watch_seconds = settings.watch_seconds
        self._reflectors: dict[Kind, Reflector[Any]] = {
            Kind.POD: Reflector(client, PODS, Pod, self._ingest.take_pod, watch_seconds=watch_seconds),
            Kind.POD_GROUP: Reflector(
                client, POD_GROUPS, PodGroup, self._ingest.take_group, watch_seconds=watch_seconds
            ),
        }
        key = lease_key(settings.lease, PROGRAM)
        self._lease = LeaseHolder(client, key, instance) if key is not None else None
        self._validation = Validation(self._compare, metrics.cache_problems, cannot=ApiError)
        self._server = self._endpoints()
        self._is_reconciling = False
        self._read_gauges()

    @property
    def http_port(self) -> int:
        """Where /healthz, /readyz, /metrics and /debug are served, while it runs."""
        return self._server.port

    async def run(self, stop: asyncio.Event) -> None:
        """Serve, watch and reconcile until `stop`; then finish the writes under way."""
        async with self._server, Loops(stop) as loops:
            loops.start("loop lag", watch_loop_lag(self._metrics.loop_lag))
            for kind, reflector in self._reflectors.items():
                loops.start(f"watch {kind}", reflector.run())
            loops.start("event recorder", self._recorder.run())
            if await unless_stopped(stop, self._until_ready()):
                await self._reconcile(loops, stop)
            await self._recorder.flush(FLUSH_S)
            if self._lease is not None:
                await self._lease.release()

    def _ask(self, key: Key) -> None:
        """Pass on what has changed; whoever stands by gathers nothing, and begins with all groups."""
        if self._is_reconciling:
            self._reconciler.ask(key)

    def _ask_all(self) -> None:
        for key in self._index.group_keys():
            self._ask(key)

    async def _try_all_fields(self) -> None:
        """Learn anew what the CRD drops: with one that has more fields, all groups get them."""
        if self._writer.try_all_fields():
            self._ask_all()

    async def _until_ready(self) -> None:
        await self._ingest.synced.wait()
        if self._lease is not None:
            await self._lease.acquire()

    async def _reconcile(self, loops: Loops, stop: asyncio.Event) -> None:
        groups, pods = self._index.sizes()
        log.info("started", groups=groups, pods=pods, workers=self._settings.workers)
        if self._lease is not None:
            loops.start("lease", self._lease.run())
        if self._settings.validate_s:
            loops.start("validate", repeat(self._settings.validate_s, self._validation.watch))
        loops.start("try all fields", repeat(self._settings.try_all_fields_s, self._try_all_fields))
        self._is_reconciling = self._settings.status_owner is StatusOwner.GANGLINE
        self._ask_all()
        workers = [
            loops.start(f"worker {number}", self._reconciler.work(stop)) for number in range(self._settings.workers)
        ]
        await stop.wait()
        self._reconciler.wake()
        _, late = await asyncio.wait(workers, timeout=self._settings.grace_s)
        if late:
            log.warning("not_finished_in_time", what="statuses", writes=len(late))

    def _endpoints(self) -> HttpServer:
        return HttpServer(
            self._settings.http_address,
            registry=self._metrics.registry,
            ready=self.problems,
            healthy=list,
            debug={"validate": self._validation.answer, "groups": self._describe_groups},
        )

    def problems(self) -> list[str]:
        """Say why the process is not ready: what it does not know, may not do, or leaves to another."""
        stale = obstacles(self._reflectors, self._settings.stale_s)
        lease = self._lease.obstacle if self._lease is not None else None
        own = [problem for problem in (lease, self._writer.problem) if problem is not None]
        return [*stale, *own, *self._client.denials()]

    async def _describe_groups(self, request: Request) -> object:
        """Answer /debug/groups: what PodGroups show, what would be written, and how many more there are."""
        page = page_of(request)
        keys = self._index.group_keys(page.namespace, page.name)
        pieces = (self._described(key) for key in keys[: page.limit])
        return {"total": len(keys), "groups": await collected(pieces)}

    def _described(self, key: Key) -> list[dict[str, Any]]:
        """Describe a PodGroup, unless it is gone meanwhile or cannot be read."""
        group = self._index.group(key)
        if group is None:
            return []
        meta, now = group.metadata, time.time()
        members = self._index.members(meta.key)
        assessment = assess(group, members, now)
        view = {
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
            "phase": group.status.phase,
            "pods": len(members),
            "ours": is_ours(members.values()),
            "pending_patch": status_patch(group.status, assessment.status, ignored=self._writer.pruned),
            "look_again_at": assessment.look_again_at,
            "given_way_s": self._rivals.quiet_s(meta.uid, self._clock.now()),
        }
        return [view]

    async def _compare(self) -> list[str]:
        """Return where the index and fresh lists differ. Raises ApiError."""
        return await lasting(self._differences)

    async def _differences(self) -> list[str]:
        return await differences(self._index, self._client, self._settings.scheduler_name, time.time())

    def _read_gauges(self) -> None:
        """Let each gauge be read when it is scraped."""
        metrics = self._metrics
        for phase in PHASE_LABELS:
            metrics.pod_groups.labels(phase).set_function(partial(self._groups_in, phase))
        metrics.members.set_function(lambda: self._index.sizes()[1])
        metrics.given_way.set_function(lambda: self._rivals.quiet_count(self._clock.now()))
        metrics.queue_depth.set_function(lambda: self._reconciler.depth)
        metrics.queue_oldest_age.set_function(self._reconciler.oldest_age_s)
        for kind, reflector in self._reflectors.items():
            metrics.watches.staleness.labels(kind).set_function(reflector.staleness_s)
        metrics.ready.set_function(lambda: not self.problems())
        metrics.lease_held.set_function(self._holds_lease)

    def _holds_lease(self) -> float:
        return float(self._lease is None or self._lease.held)

    def _groups_in(self, phase: str) -> float:
        return float(sum(number for shown, number in self._index.phases().items() if phase_label(shown) == phase))

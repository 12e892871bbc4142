"""The composition root of the scheduler: settings, client, loops, endpoints, and the order in which they stop."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import structlog
from aiohttp import web

from gangline.base.clock import Clock
from gangline.kube.client import CALLS_BESIDE_WRITES, Client, connect
from gangline.kube.clock import MonotonicClock
from gangline.kube.lease import LeaseHolder
from gangline.kube.recorder import EventRecorder
from gangline.kube.reflector import obstacles
from gangline.kube.wire.errors import ApiError
from gangline.service.http import HttpServer, page_of
from gangline.service.lifecycle import Loops, repeat, unless_stopped
from gangline.service.loop_lag import watch_loop_lag
from gangline.service.metrics import new_registry
from gangline.service.process import instance_name, run_process
from gangline.service.process_settings import lease_key
from gangline.service.turns import collected
from gangline.service.validation import Validation, lasting
from scheduler.binder import Binder
from scheduler.core.events import SettingsGiven
from scheduler.core.machine import Scheduler
from scheduler.core.reasons import Reason
from scheduler.inbox import Inbox, Urgency
from scheduler.ingest import Ingest, differences
from scheduler.loop import Executor, Loop
from scheduler.metrics import CACHED, Metrics
from scheduler.settings import Settings
from scheduler.statuswriter import StatusWriter

log = structlog.get_logger()

PROGRAM: Final = "gangline-scheduler"
LAST_WRITES_S: Final = 5.0
"""How long events and the lease may take once the binds are done."""


def main() -> int:
    """Run the scheduler until SIGTERM; return the exit code."""
    return run_process(
        Settings,
        serve,
        sys.argv[1:],
        program=PROGRAM,
        description="Places and binds whole gangs: the pods of one PodGroup start together or not at all.",
        last_writes_s=LAST_WRITES_S,
    )


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    """Run the scheduler until `stop`. Raises StartError when it cannot begin."""
    metrics = Metrics(new_registry())
    async with client_of(settings, metrics) as client:
        await Process(settings, client, metrics).run(stop)


def client_of(settings: Settings, metrics: Metrics) -> Client:
    """Return a client with room for all binds at once and for what must never wait for them, as the lease."""
    return connect(
        settings.kubeconfig or None,
        settings.context or None,
        user_agent=PROGRAM,
        observer=metrics.requests,
        concurrency=settings.bind_concurrency + CALLS_BESIDE_WRITES,
    )


def given(settings: Settings) -> SettingsGiven:
    """Return what the core is told of the settings."""
    return SettingsGiven(
        scheduler_names=settings.scheduler_name,
        scoring=settings.scoring,
        budgets_form_gangs=settings.budget_gangs,
    )


class Process:
    """All parts of the process around one client; `run` lives until `stop`."""

    def __init__(self, settings: Settings, client: Client, metrics: Metrics) -> None:
        self._settings = settings
        self._client = client
        self._metrics = metrics
        self._clock: Clock = MonotonicClock()
        self._given = given(settings)
        key = lease_key(settings.lease, PROGRAM)
        instance = instance_name()
        self._lease = LeaseHolder(client, key, instance) if key is not None else None
        self._scheduler = Scheduler()
        self._inbox = Inbox(self._clock, metrics)
        self._ingest = Ingest(
            client,
            self._given.kinds,
            self._inbox.observe,
            metrics,
            watch_seconds=settings.watch_seconds,
        )
        self._binder = Binder(
            client,
            self._inbox.answer,
            metrics,
            workers=settings.bind_concurrency,
            time_to_bind_s=self._time_to_bind_s,
            plan_overtaken=self._scheduler.overtaken.plan,
            bind_overtaken=self._scheduler.overtaken.bind,
        )
        self._recorder = EventRecorder(
            client,
            component=settings.scheduler_name[0],
            instance=instance,
            observer=metrics.events,
            rate=settings.event_rate,
            burst=max(1, int(settings.event_rate)),
        )
        self._status_writer = StatusWriter(
            client,
            self._recorder,
            self._inbox.answer,
            metrics,
            clock=self._clock,
            rate=settings.condition_rate,
            binds_wait=self._binder.is_busy,
        )
        self._loop = Loop(
            self._scheduler,
            self._inbox,
            Executor(self._binder, self._status_writer),
            metrics,
            clock=self._clock,
        )
        self._validation = Validation(self._compare, metrics.cache_problems, cannot=ApiError)
        self._server = self._endpoints()
        self._read_gauges()

    async def run(self, stop: asyncio.Event) -> None:
        """Serve and start every loop, wait for `stop`, then drain in the order of what others wait for."""
        async with self._server, Loops(stop) as loops:
            loops.start("loop lag", watch_loop_lag(self._metrics.loop_lag))
            for kind, reflector in self._ingest.reflectors.items():
                loops.start(f"watch {kind}", reflector.run())
            if self._lease is not None:
                if not await unless_stopped(stop, self._lease.acquire()):
                    return
                loops.start("lease", self._lease.run())
            for name, loop in (
                ("binder", self._binder.run()),
                ("status writer", self._status_writer.run()),
                ("event recorder", self._recorder.run()),
                ("scheduling loop", self._loop.run(self._given)),
            ):
                loops.start(name, loop)
            if self._settings.validate_s:
                loops.start("validate", repeat(self._settings.validate_s, self._validation.watch))
            log.info("started", scheduler_names=list(self._settings.scheduler_name))
            await stop.wait()
            await self._drain()

    async def _drain(self) -> None:
        self._loop.stop()
        deadline = self._clock.now() + self._settings.grace_s
        steps: tuple[tuple[str, Callable[[float], Awaitable[bool]]], ...] = (
            ("binds", self._binder.drain),
            ("conditions", self._status_writer.flush),
            ("events", self._recorder.flush),
        )
        late = [what for what, finish in steps if not await finish(max(0.1, deadline - self._clock.now()))]
        if late:
            log.warning("not_finished_in_time", what=late)
        if self._lease is not None and "binds" not in late:
            # A bind that hangs may land for as long as nobody else can hold the lease: then let it run out.
            await self._lease.release()
        log.info("stopped")

    def _endpoints(self) -> HttpServer:
        return HttpServer(
            self._settings.http_address,
            registry=self._metrics.registry,
            ready=self.problems,
            healthy=list,
            debug={"validate": self._validation.answer, "gangs": self._gangs},
        )

    def problems(self) -> list[str]:
        """Say why the process is not ready; empty when it is."""
        lease = self._lease.obstacle if self._lease is not None else None
        stale = obstacles(self._ingest.reflectors, self._settings.stale_s)
        return [*stale, *([lease] if lease is not None else []), *self._client.denials()]

    async def _gangs(self, request: web.Request) -> object:
        """Answer /debug/gangs: gangs with their states and live reasons, and how many more there are."""
        page = page_of(request)
        keys = self._scheduler.gang_keys(page.namespace, page.name)
        views = self._scheduler.describe(keys[: page.limit], self._clock.now())
        return {"total": len(keys), "scheduler": self._about(), "gangs": await collected(views)}

    def _about(self) -> dict[str, object]:
        """Say what an explanation of a gang must know of the process itself."""
        settings = self._settings
        names = list(settings.scheduler_name)
        return {"schedulerNames": names, "budgetGangs": settings.budget_gangs, "problems": self.problems()}

    async def _compare(self) -> list[str]:
        """Return where the cache differs from itself, and from fresh lists. Raises ApiError."""
        return [
            *await collected(self._scheduler.validate()),
            *await lasting(partial(differences, self._scheduler, self._client)),
        ]

    def _time_to_bind_s(self) -> float:
        """Say by when a bind must have landed: before another scheduler can begin, even if the lease is lost meanwhile."""
        return float("inf") if self._lease is None else self._lease.alone_s

    def _read_gauges(self) -> None:
        """Let each gauge be read when it is scraped."""
        metrics = self._metrics
        for kind, reflector in self._ingest.reflectors.items():
            metrics.watches.staleness.labels(kind).set_function(reflector.staleness_s)
        for urgency in Urgency:
            metrics.queue_depth.labels(urgency.name.lower()).set_function(partial(self._inbox.depth, urgency))
        metrics.before_scrape.refresh = self._refresh_gauges
        metrics.ready.set_function(lambda: not self.problems())
        metrics.lease_held.set_function(lambda: self._time_to_bind_s() > 0)

    def _refresh_gauges(self) -> None:
        """Set the gauges that take a pass over all gangs."""
        metrics, sizes, waits = self._metrics, self._scheduler.sizes(), self._scheduler.waits(self._clock.now())
        for what in CACHED:
            metrics.cached.labels(what).set(sizes.cached[what])
        for state, number in sizes.gangs.items():
            metrics.backlog.labels(state).set(number)
        for reason in Reason:
            metrics.waiting.labels(reason).set(waits.gangs.get(reason, 0))
        for state, wait_s in waits.longest_s.items():
            metrics.longest_wait.labels(state).set(wait_s)

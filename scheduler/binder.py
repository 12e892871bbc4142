"""Carries out `BindGang` and `ReadPod`: bounded, concurrent, exactly one result for each pod and attempt.

A fixed number of workers serves two lanes. The rest of a gang whose first bind is through goes before
gangs that have not begun, so at most as many gangs are partly bound as there are workers.
"""

import asyncio
from collections.abc import Callable
from enum import IntEnum
from itertools import count
from time import perf_counter
from typing import NamedTuple, assert_never

import structlog

from gangline.contract.meta import Key, ObjectMeta
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.kube.client import Client
from gangline.kube.wire import errors
from gangline.kube.wire.requests import WRITE_TIMEOUT_S
from gangline.kube.wire.resources import POD_GROUPS, PODS
from scheduler.core.events import Bound, PodRead, PodReadFailed, Refusal, Refused, Result, Unknown
from scheduler.core.instructions import Bind, BindGang, GroupVersion, ReadPod
from scheduler.metrics import Metrics

log = structlog.get_logger()


class _Lane(IntEnum):
    STARTED = 0
    FRESH = 1


class _Plan:
    """Binds of one instruction that have no answer yet."""

    def __init__(self, order: BindGang, step: int) -> None:
        self.gang = order.gang
        self.step = step
        self.unanswered = len(order.binds)
        self.is_all_bound = True
        self.started = perf_counter()
        self.has_warned = False


class _Open(NamedTuple):
    """A gang of which nothing is bound yet."""

    order: BindGang
    plan: _Plan


class _Send(NamedTuple):
    """One bind that need not wait for another."""

    bind: Bind
    plan: _Plan


class _Read(NamedTuple):
    """One pod to be read again."""

    read: ReadPod


_Job = _Open | _Send | _Read


class Binder:
    """Sends binds and reads; answers through `answer`, a synchronous callable.

    `time_to_bind_s` says how long a bind that begins now may take, 0 without the lease. `plan_overtaken` and
    `bind_overtaken` say why a plan that has waited, or a bind for this gang, should not be sent any more: the API
    server would bind a pod to a node that does not exist (201), and start a gang that has lost a member.
    """

    def __init__(
        self,
        client: Client,
        answer: Callable[[Result], None],
        metrics: Metrics,
        *,
        workers: int,
        time_to_bind_s: Callable[[], float],
        plan_overtaken: Callable[[BindGang], str | None],
        bind_overtaken: Callable[[Bind, str], str | None],
    ) -> None:
        self._client = client
        self._answer = answer
        self._metrics = metrics
        self._workers = workers
        self._time_to_bind_s = time_to_bind_s
        self._plan_overtaken = plan_overtaken
        self._bind_overtaken = bind_overtaken
        self._jobs: asyncio.PriorityQueue[tuple[_Lane, int, _Job]] = asyncio.PriorityQueue()
        self._sequence = count()
        self._closed = False

    def submit(self, instruction: BindGang | ReadPod, step: int) -> None:
        """Queue one instruction of this step; never blocks."""
        match instruction:
            case ReadPod():
                self._put(_Lane.STARTED, _Read(instruction))
            case BindGang(nothing_bound=False, binds=binds):
                plan = _Plan(instruction, step)
                for bind in binds:
                    self._put(_Lane.STARTED, _Send(bind, plan))
            case BindGang():
                self._put(_Lane.FRESH, _Open(instruction, _Plan(instruction, step)))
            case _:
                assert_never(instruction)

    def is_busy(self) -> bool:
        """Tell whether binds wait for a worker."""
        return not self._jobs.empty()

    async def run(self) -> None:
        """Serve for ever."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._workers):
                tasks.create_task(self._work(), name=f"binder-{number}")

    async def drain(self, deadline_s: float) -> bool:
        """Finish what has begun, refuse what has not; True when all was answered in time."""
        self._closed = True
        try:
            async with asyncio.timeout(deadline_s):
                await self._jobs.join()
        except TimeoutError:
            return False
        return True

    def _put(self, lane: _Lane, job: _Job) -> None:
        self._jobs.put_nowait((lane, next(self._sequence), job))

    async def _work(self) -> None:
        while True:
            _, _, job = await self._jobs.get()
            self._metrics.binds_in_flight.inc()
            try:
                await self._do(job)
            finally:
                self._metrics.binds_in_flight.dec()
                self._jobs.task_done()

    async def _do(self, job: _Job) -> None:
        match job:
            case _Open(order, plan):
                await self._open(order, plan)
            case _Send(bind, plan):
                self._settle(bind, await self._send(bind, plan.gang), plan)
            case _Read(read):
                self._answer(await self._read(read))
            case _:
                assert_never(job)

    async def _open(self, order: BindGang, plan: _Plan) -> None:
        """Do first what can fail first: the lease, the PodGroup's version, one bind alone."""
        first, *rest = order.binds
        obstacle = await self._obstacle(order)
        if obstacle is not None:
            for bind in order.binds:
                self._settle(bind, _refused(bind, *obstacle), plan)
            return
        result = await self._send(first, plan.gang)
        self._settle(first, result, plan)
        for bind in rest:
            if isinstance(result, Refused):
                message = f"the first bind of the gang was refused: {result.message}"
                self._settle(bind, _refused(bind, Refusal.DROPPED, message), plan)
            else:
                self._put(_Lane.STARTED, _Send(bind, plan))

    async def _obstacle(self, order: BindGang) -> tuple[Refusal, str] | None:
        if self._closed:
            return Refusal.DROPPED, "the scheduler is stopping"
        obstacle = await self._version_obstacle(order.confirm) if order.confirm is not None else None
        if obstacle is not None:
            return obstacle
        reason = self._plan_overtaken(order)
        return (Refusal.OVERTAKEN, reason) if reason is not None else None

    async def _version_obstacle(self, known: GroupVersion) -> tuple[Refusal, str] | None:
        try:
            group = await self._client.get(POD_GROUPS, Key(known.namespace, known.name), PodGroup)
        except errors.NotFound:
            return Refusal.STALE, "the PodGroup was deleted"
        except errors.ApiError as error:
            return Refusal.DROPPED, f"the PodGroup could not be read: {error}"
        return _difference(known, group.metadata)

    async def _send(self, bind: Bind, gang: str) -> Bound | Refused | Unknown:
        within_s = min(self._time_to_bind_s(), WRITE_TIMEOUT_S)
        if within_s <= 0:
            return _refused(bind, Refusal.DROPPED, "the lease is not held")
        reason = self._bind_overtaken(bind, gang)
        if reason is not None:
            return _refused(bind, Refusal.OVERTAKEN, reason)
        started = perf_counter()
        try:
            await self._client.bind(Key(bind.namespace, bind.name), bind.uid, bind.node, within_s=within_s)
        except errors.Conflict as error:
            return await self._resolve_conflict(bind, error)
        except errors.ApiError as error:
            return _outcome(bind, error)
        finally:
            self._metrics.bind_seconds.observe(perf_counter() - started)
        return Bound(uid=bind.uid, attempt=bind.attempt, node=bind.node)

    async def _resolve_conflict(self, bind: Bind, conflict: errors.Conflict) -> Bound | Refused | Unknown:
        """409 says that the pod has changed hands; only the pod itself says whose it is now."""
        try:
            pod = await self._client.get(PODS, Key(bind.namespace, bind.name), Pod)
        except errors.NotFound:
            return _refused(bind, Refusal.LOST, "the pod was deleted")
        except errors.ApiError as error:
            return Unknown(uid=bind.uid, attempt=bind.attempt, message=str(error))
        if pod.metadata.uid != bind.uid:
            return _refused(bind, Refusal.LOST, "another pod has taken the name")
        if pod.spec.node_name == bind.node:
            return Bound(uid=bind.uid, attempt=bind.attempt, node=bind.node)
        if pod.spec.node_name:
            return _refused(bind, Refusal.FOREIGN, f"the pod is bound to {pod.spec.node_name}")
        if pod.metadata.deletion_timestamp is not None:
            return _refused(bind, Refusal.LOST, "the pod is being deleted")
        return _refused(bind, Refusal.FORBIDDEN, str(conflict))

    async def _read(self, read: ReadPod) -> PodRead | PodReadFailed:
        try:
            pod = await self._client.get(PODS, Key(read.namespace, read.name), Pod)
        except errors.NotFound:
            return PodRead(uid=read.uid, attempt=read.attempt, node=None)
        except errors.ApiError as error:
            return PodReadFailed(uid=read.uid, attempt=read.attempt, message=str(error))
        if pod.metadata.uid != read.uid:
            return PodRead(uid=read.uid, attempt=read.attempt, node=None)
        return PodRead(uid=read.uid, attempt=read.attempt, node=pod.spec.node_name or "")

    def _settle(self, bind: Bind, result: Bound | Refused | Unknown, plan: _Plan) -> None:
        match result:
            case Bound():
                self._metrics.binds.labels("bound").inc()
            case Refused(refusal=Refusal.OVERTAKEN, message=message):
                self._metrics.binds.labels(Refusal.OVERTAKEN.value.lower()).inc()
                log.debug("bind_overtaken", gang=plan.gang, uid=bind.uid, step=plan.step, message=message)
            case Refused(refusal=refusal, message=message):
                self._metrics.binds.labels(refusal.value.lower()).inc()
                _warn("bind_refused", bind, plan, refusal=refusal.value, message=message)
            case Unknown(message=message):
                self._metrics.binds.labels("unknown").inc()
                _warn("bind_outcome_unknown", bind, plan, message=message)
            case _:
                assert_never(result)
        plan.unanswered -= 1
        plan.is_all_bound = plan.is_all_bound and isinstance(result, Bound)
        if not plan.unanswered and plan.is_all_bound:
            self._metrics.gang_bound.observe(perf_counter() - plan.started)
        self._answer(result)


def _warn(event: str, bind: Bind, plan: _Plan, **details: str) -> None:
    """Log the first trouble of a plan as a warning and what follows at debug: a large gang is one line."""
    say = log.debug if plan.has_warned else log.warning
    plan.has_warned = True
    pod = f"{bind.namespace}/{bind.name}"
    say(event, gang=plan.gang, pod=pod, uid=bind.uid, node=bind.node, step=plan.step, **details)


def _difference(known: GroupVersion, seen: ObjectMeta) -> tuple[Refusal, str] | None:
    """Tell whether a plan that was made with one version of a PodGroup still holds for another."""
    if seen.uid != known.uid:
        return Refusal.STALE, "the PodGroup was deleted and made again"
    if known.generation is not None and seen.generation is not None:
        if seen.generation == known.generation:
            return None
        return Refusal.STALE, f"the PodGroup is at generation {seen.generation}, planned with {known.generation}"
    if seen.resource_version == known.resource_version:
        return None
    return Refusal.STALE, f"the PodGroup is at version {seen.resource_version}, planned with {known.resource_version}"


def _refused(bind: Bind, refusal: Refusal, message: str) -> Refused:
    return Refused(uid=bind.uid, attempt=bind.attempt, refusal=refusal, message=message)


def _outcome(bind: Bind, error: errors.ApiError) -> Refused | Unknown:
    """Sort an answer (design §4.8): what cannot have been done is refused, what may have been is unknown."""
    match error:
        case errors.NotFound():
            return _refused(bind, Refusal.LOST, str(error))
        case (
            errors.TooManyRequests()
            | errors.ServerError()
            | errors.Interrupted()
            | errors.Unreachable()
            | errors.Undecodable()
        ):
            return Unknown(uid=bind.uid, attempt=bind.attempt, message=str(error))
        case errors.Forbidden() | errors.Invalid() | errors.BadRequest():
            return _refused(bind, Refusal.FORBIDDEN, str(error))
        case _:
            # Credentials, a redirect: nothing that another node would mend.
            return _refused(bind, Refusal.DROPPED, str(error))

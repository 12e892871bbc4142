"""Holds a Lease as a mutex: whoever does not hold it does nothing, whoever loses it stops."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import assert_never

import structlog

from gangline.base.clock import Clock
from gangline.base.fatal import FatalError
from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.clock import MonotonicClock, utc_now
from gangline.kube.wire import requests
from gangline.kube.wire.decode import decoded
from gangline.kube.wire.errors import ApiError, NotFound
from gangline.kube.wire.lease import Create, Lease, LeaseMachine, LeaseTiming, Lost, StandBy, Write
from gangline.kube.wire.requests import Request
from gangline.kube.wire.resources import LEASES

log = structlog.get_logger()


class LeaseLost(FatalError):  # noqa: N818 - a fact, as the interface names it
    """The lease was held and is not any more: whatever it protects must stop at once."""


class LeaseHolder:
    """One lease for one process. `identity` must be of this process alone, e.g. host name and a random part."""

    def __init__(
        self,
        client: Client,
        key: Key,
        identity: str,
        *,
        timing: LeaseTiming | None = None,
        clock: Clock | None = None,
        utc: Callable[[], datetime] = utc_now,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._key = key
        self._timing = timing or LeaseTiming()
        self._clock = clock or MonotonicClock()
        self._utc = utc
        self._wait = wait
        self._jitter = jitter
        self._machine = LeaseMachine(key, identity, self._timing)
        self._must_look = True
        self._calling = asyncio.Lock()
        self._released = False
        self.problem: str | None = None
        """Why the last try failed; None after a good one."""

    @property
    def held(self) -> bool:
        """Whether we hold the lease at this moment, by the clock and not by whoever runs."""
        return self._machine.held(self._clock.now())

    @property
    def alone_s(self) -> float:
        """For how long nobody else can hold the lease, even if we lose it now; 0 where we do not hold it.

        A write that ends by then meets none of the next holder's.
        """
        return max(self._machine.alone_until - self._clock.now(), 0.0) if self.held else 0.0

    @property
    def holder(self) -> str | None:
        """Who held the lease when we last saw it."""
        return self._machine.holder

    @property
    def obstacle(self) -> str | None:
        """Why we do not hold the lease, in words for /readyz; None while we do."""
        if self.held:
            return None
        problem = self.problem or "not asked for yet"
        return f"the lease is {problem}" if problem.startswith("held by ") else f"the lease is not held: {problem}"

    async def acquire(self) -> None:
        """Wait until the lease is ours."""
        while not self.held:
            await self._try(self._timing.call_s)
            if not self.held:
                await self._pause()

    async def run(self) -> None:
        """Renew until it is released. Raises LeaseLost when that has failed for too long, even if a call hangs."""
        while self.held and not self._released:
            await self._pause()
            await self._try(min(self._timing.call_s, self._time_left_s()))
        if not self._released:
            raise LeaseLost(f"lease {self._key}: not renewed in time; last problem: {self.problem}")

    async def release(self, deadline_s: float = 2.0) -> None:
        """Give the lease up for good, so that the next holder need not wait; failing costs the others only time."""
        self._released = True
        try:
            async with asyncio.timeout(deadline_s), self._calling:
                order = self._machine.release(self._utc())
                if order is not None:
                    await self._client.patch(LEASES, self._key, order.patch)
        except (ApiError, TimeoutError) as error:
            log.warning("lease_not_released", lease=str(self._key), error=str(error) or "no answer in time")

    async def _pause(self) -> None:
        pause_s = self._timing.retry_s * (1 + 0.2 * self._jitter())
        await self._wait(min(pause_s, self._time_left_s()) if self.held else pause_s)

    def _time_left_s(self) -> float:
        return max(self._machine.deadline - self._clock.now(), 0.0)

    async def _try(self, call_s: float) -> None:
        """Look at the lease and write it if it is to be ours; no failure ends the trying."""
        try:
            async with asyncio.timeout(call_s), self._calling:
                if not self._released:
                    await self._step()
        except TimeoutError:
            # A try that the lease's own end cuts short says less than the one before.
            if self.problem is None or call_s >= self._timing.call_s:
                self.problem = "no answer in time"
        except ApiError as error:
            self.problem = str(error)

    async def _step(self) -> None:
        if self._must_look or not self.held:
            self._machine.observed(await self._read(), self._clock.now())
        self._must_look = True
        sent_at = self._clock.now()
        order = self._machine.next(sent_at, self._utc())
        match order:
            case StandBy():
                self.problem = f"held by {self.holder}"
            case Lost(message):
                raise LeaseLost(f"lease {self._key}: {message}")
            case Create(body):
                await self._write(requests.create(LEASES, self._key.namespace, body), sent_at)
            case Write(patch):
                await self._write(requests.patch(LEASES, self._key, patch), sent_at)
            case _:
                assert_never(order)

    async def _read(self) -> Lease | None:
        try:
            return await self._client.get(LEASES, self._key, Lease)
        except NotFound:
            return None

    async def _write(self, request: Request, sent_at: float) -> None:
        lease = decoded(await self._client.send(request), Lease)
        self._machine.written(lease, sent_at)
        self._must_look = False
        self.problem = None

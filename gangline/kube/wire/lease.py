"""The lease machine: one holder at a time, without ever comparing two clocks.

    waiting ──absent, released, or unchanged for its own duration as we saw it──> acquire ──> held
    held ──every retry──> renew ──> held
    held ──somebody else's, or no renewal within the renew deadline──> lost

Others take the lease no sooner than `duration_s` after they saw our last renewal, and we stop `renew_deadline_s`
after we sent it; the second is shorter, so two never hold it. `renewTime` is compared for equality alone.
"""

from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from gangline.contract.meta import Key, ObjectMeta
from gangline.contract.timestamps import microtime

RELEASED_DURATION_S: Final = 1


class LeaseSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """`coordination.k8s.io/v1` LeaseSpec; times stay as they were written."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Struct, frozen=True, kw_only=True):
    """A lease."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec | None = None


class LeaseTiming(Struct, frozen=True, kw_only=True):
    """How long a lease lasts unrenewed, when we give it up, how often we try, how long one call may take."""

    duration_s: int = 15
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0
    call_s: float = 4.0

    def __post_init__(self) -> None:
        if (
            not 0 < self.retry_s < self.renew_deadline_s < self.duration_s
            or not 0 < self.call_s < self.renew_deadline_s
        ):
            raise ValueError(f"{self!r}: wanted retry_s < renew_deadline_s < duration_s and call_s < renew_deadline_s")


class Create(Struct, frozen=True):
    """Create the lease, held by us."""

    body: dict[str, Any]


class Write(Struct, frozen=True):
    """Patch the lease so that it is (still) held by us, on the condition of its resourceVersion."""

    patch: dict[str, Any]


class StandBy(Struct, frozen=True):
    """Somebody else holds it: look again later."""


class Lost(Struct, frozen=True):
    """We held it and may hold it no longer."""

    message: str


Order = Create | Write | StandBy | Lost


class LeaseMachine:
    """Decides what to do about one lease, for one identity that no other process uses."""

    def __init__(self, key: Key, identity: str, timing: LeaseTiming) -> None:
        self._key = key
        self._identity = identity
        self._timing = timing
        self._lease: Lease | None = None
        self._seen_at = 0.0
        self._renewed_at: float | None = None

    @property
    def holder(self) -> str | None:
        """Who held the lease when we last saw it; None for nobody."""
        return (self._lease.spec.holder_identity or None) if self._lease and self._lease.spec else None

    def held(self, now: float) -> bool:
        """Whether we hold it at this moment."""
        return now < self.deadline

    @property
    def deadline(self) -> float:
        """Until when we hold it unless it is renewed before; in the past where we do not."""
        return float("-inf") if self._renewed_at is None else self._renewed_at + self._timing.renew_deadline_s

    @property
    def alone_until(self) -> float:
        """Until when nobody else takes it, whatever becomes of us; in the past where we do not hold it."""
        return float("-inf") if self._renewed_at is None else self._renewed_at + self._timing.duration_s

    def observed(self, lease: Lease | None, now: float) -> None:
        """Take note of the lease as it was read; None if there is none."""
        if lease is None or self._lease is None or lease.spec != self._lease.spec:
            self._seen_at = now
        self._lease = lease

    def written(self, lease: Lease, sent_at: float) -> None:
        """Take note that our write was accepted; it counts from when it was sent."""
        self._lease = lease
        self._seen_at = self._renewed_at = sent_at

    def next(self, now: float, utc: datetime) -> Order:
        """Return what to do now."""
        if self._renewed_at is not None:
            if not self.held(now):
                return Lost(f"not renewed for {self._timing.renew_deadline_s} s")
            if self.holder not in {None, self._identity}:
                return Lost(f"held by {self.holder}")
        if self._lease is None:
            return Create(self._new(utc))
        if self.holder in {None, self._identity} or self._expired(now):
            return Write(self._patch(utc))
        return StandBy()

    def release(self, utc: datetime) -> Write | None:
        """Stop holding it, and return how to tell the others; None where it is not ours."""
        if self._renewed_at is None or self._lease is None or self.holder != self._identity:
            return None
        self._renewed_at = None
        spec = {"holderIdentity": "", "leaseDurationSeconds": RELEASED_DURATION_S, "renewTime": microtime(utc)}
        return Write({"metadata": self._condition(), "spec": spec})

    def _expired(self, now: float) -> bool:
        spec = (self._lease.spec if self._lease else None) or LeaseSpec()
        return now - self._seen_at >= (spec.lease_duration_seconds or self._timing.duration_s)

    def _new(self, utc: datetime) -> dict[str, Any]:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": self._key.namespace, "name": self._key.name},
            "spec": {**self._claim(utc), "acquireTime": microtime(utc), "leaseTransitions": 0},
        }

    def _patch(self, utc: datetime) -> dict[str, Any]:
        spec = self._claim(utc)
        if self.holder != self._identity:
            before = (self._lease.spec if self._lease else None) or LeaseSpec()
            spec |= {"acquireTime": microtime(utc), "leaseTransitions": (before.lease_transitions or 0) + 1}
        return {"metadata": self._condition(), "spec": spec}

    def _claim(self, utc: datetime) -> dict[str, Any]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._timing.duration_s,
            "renewTime": microtime(utc),
        }

    def _condition(self) -> dict[str, str]:
        return {"resourceVersion": self._lease.metadata.resource_version if self._lease else ""}

"""Kubernetes Events (events.k8s.io/v1): what is written, and how repeats become one series.

The fields are those that kube-scheduler's recorder writes. The same sentence about the same object within ten minutes
is a repeat: the Event that exists is counted up, at most every thirty seconds.
"""

import re
from datetime import datetime
from typing import Any, Final, Literal, Self

from msgspec import Struct

from gangline.base.backoff import Backoff
from gangline.base.key_queue import KeyQueue
from gangline.contract.meta import Key
from gangline.contract.timestamps import microtime
from gangline.kube.wire import requests
from gangline.kube.wire.errors import ApiError, NotFound
from gangline.kube.wire.requests import Request
from gangline.kube.wire.resources import EVENTS, NAMESPACES, NODES, POD_GROUPS, PODS

NOTE_LIMIT_BYTES: Final = 1024
NAME_LIMIT: Final = 253
SERIES_WINDOW_S: Final = 600.0
SERIES_INTERVAL_S: Final = 30.0
ATTEMPTS: Final = 5
MEMORY_LIMIT: Final = 4096
RETRY_BACKOFF: Final = Backoff(initial_s=0.5, limit_s=10.0)
NAMESPACE_OF_CLUSTER_SCOPED: Final = "default"

_ILLEGAL: Final = re.compile(r"[^a-z0-9.-]")

EventType = Literal["Normal", "Warning"]

_API_VERSIONS: Final = {resource.kind: resource.api_version for resource in (PODS, NODES, NAMESPACES, POD_GROUPS)}


class ObjectReference(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The object that an Event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""

    @classmethod
    def of(cls, kind: str, namespace: str, name: str, uid: str) -> Self:
        """Return a reference to a Pod, Node, Namespace or PodGroup, whose API versions are known here."""
        return cls(api_version=_API_VERSIONS.get(kind, ""), kind=kind, namespace=namespace, name=name, uid=uid)


class Occurrence(Struct, frozen=True, kw_only=True):
    """What happened to what; equal ones are repeats of each other. `name` is the Event's own, `""` for a made one."""

    regarding: ObjectReference
    type: EventType
    reason: str
    action: str
    note: str
    name: str


class _Series(Struct):
    name: str
    first: datetime
    last: datetime
    last_recorded_s: float
    count: int = 1
    sent_count: int = 0
    written_count: int = 0
    written_s: float = float("-inf")
    failures: int = 0

    @property
    def idle(self) -> bool:
        return self.written_count == self.count

    def over(self, now: float) -> bool:
        return self.idle and now - self.last_recorded_s > SERIES_WINDOW_S


class EventLog:
    """Counts occurrences and says which Event to write next; holds at most `limit` unwritten ones."""

    def __init__(self, *, component: str, instance: str, limit: int) -> None:
        self._component = component
        self._instance = instance
        self._limit = limit
        self._series: dict[Occurrence, _Series] = {}
        """The least recently recorded first."""
        self._queue: KeyQueue[Occurrence] = KeyQueue()
        self._names_made = 0

    def __len__(self) -> int:
        """Return how many Events wait to be written."""
        return len(self._queue)

    def record(self, occurrence: Occurrence, now: float, utc: datetime) -> bool:
        """Take note; False when there is no room for it."""
        series = self._series.pop(occurrence, None)
        if series is None or series.over(now):
            if len(self._queue) >= self._limit:
                return False
            self._forget_old(now)
            series = _Series(self._name(occurrence, utc), utc, utc, now)
        else:
            series.count += 1
            series.last, series.last_recorded_s = utc, now
        self._series[occurrence] = series
        self._queue.add(occurrence, series.written_s + SERIES_INTERVAL_S)
        return True

    def next_ready(self, now: float) -> float | None:
        """When the next write is due; None when there is none."""
        return self._queue.next_ready(now)

    def take(self, now: float) -> tuple[Occurrence, Request] | None:
        """Return the next write that is due, to be answered by `written` or `failed`."""
        while (occurrence := self._queue.take(now)) is not None:
            if (series := self._series.get(occurrence)) is not None:
                return occurrence, self._write_of(occurrence, series)
            # It was recorded again while the write that was then given up was under way.
            self._queue.done(occurrence)
        return None

    def _write_of(self, occurrence: Occurrence, series: _Series) -> Request:
        series.sent_count = series.count
        namespace = occurrence.regarding.namespace or NAMESPACE_OF_CLUSTER_SCOPED
        if series.written_count:
            return requests.patch(EVENTS, Key(namespace, series.name), {"series": _series_body(series)})
        return requests.create(EVENTS, namespace, self._event(occurrence, series, namespace))

    def written(self, occurrence: Occurrence, now: float) -> None:
        """Take note that the write was accepted."""
        series = self._series[occurrence]
        series.written_count, series.written_s, series.failures = series.sent_count, now, 0
        self._queue.done(occurrence)

    def failed(self, occurrence: Occurrence, error: ApiError, now: float, jitter: float) -> bool:
        """Take note that the write has failed; return False when the Event is given up."""
        series = self._series[occurrence]
        series.failures += 1
        lost = isinstance(error, NotFound) and series.written_count > 0
        if series.failures >= ATTEMPTS or not (error.transient or lost):
            del self._series[occurrence]
            self._queue.done(occurrence)
            return False
        if lost:
            series.written_count = 0
        delay_s = max(RETRY_BACKOFF.delay(series.failures, jitter), error.retry_after_s or 0.0)
        self._queue.add(occurrence, now + delay_s)
        self._queue.done(occurrence)
        return True

    def _forget_old(self, now: float) -> None:
        crowded = len(self._series) >= MEMORY_LIMIT
        for occurrence, series in self._series.items():
            if series.over(now) or (crowded and series.idle):
                del self._series[occurrence]
                return

    def _name(self, occurrence: Occurrence, utc: datetime) -> str:
        if occurrence.name:
            return occurrence.name
        self._names_made += 1
        suffix = f".{int(utc.timestamp() * 1e6):x}{self._names_made:04x}"
        return _legal_name(occurrence.regarding.name[: NAME_LIMIT - len(suffix)]) + suffix

    def _event(self, occurrence: Occurrence, series: _Series, namespace: str) -> dict[str, Any]:
        event = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"namespace": namespace, "name": series.name},
            "eventTime": microtime(series.first),
            "reportingController": self._component,
            "reportingInstance": self._instance,
            "action": occurrence.action,
            "reason": occurrence.reason,
            "regarding": occurrence.regarding,
            "note": _cut(occurrence.note),
            "type": occurrence.type,
        }
        if series.count > 1:
            event["series"] = _series_body(series)
        return event


def _legal_name(name: str) -> str:
    """Make a name legal that was put past validation, and one that was cut in the wrong place."""
    labels = (label.strip("-") for label in _ILLEGAL.sub("-", name.lower()).split("."))
    return ".".join(label for label in labels if label) or "unnamed"


def _series_body(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": microtime(series.last)}


def _cut(note: str) -> str:
    encoded = note.encode("utf-8", "replace")
    if len(encoded) <= NOTE_LIMIT_BYTES:
        return encoded.decode()
    return encoded[: NOTE_LIMIT_BYTES - 3].decode("utf-8", "ignore") + "..."

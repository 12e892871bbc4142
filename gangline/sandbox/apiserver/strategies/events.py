"""Events: what events.k8s.io/v1 demands, the looser rules of core/v1, what may never change, and when they go."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from gangline.contract.timestamps import timestamp
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import EVENTS
from gangline.sandbox.apiserver.schema import forms
from gangline.sandbox.apiserver.schema.metadata import key_problems
from gangline.sandbox.apiserver.store import Change, Object
from gangline.sandbox.apiserver.strategies.strategy import ClusterState, Strategy, Write

LIFE: Final = timedelta(hours=1)
_REQUIRED = ("reportingComponent", "reportingInstance", "action", "reason")
_LENGTHS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_DEPRECATED = ("firstTimestamp", "lastTimestamp", "count", "source")
_IMMUTABLE = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type"),
    *("eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)
_CLUSTER_EVENT_NAMESPACES = ("default", "kube-system")


def expire(state: ClusterState) -> None:
    """Remove the events that nobody has written for their LIFE (kube-apiserver `--event-ttl`)."""
    oldest = timestamp(state.now() - LIFE)
    for version in state.store.current(EVENTS.resource):
        if version.writer is not None and version.writer.time < oldest:
            state.store.commit(Change.DELETED, version.resource, version.key, version.object)


def _broken_rules(write: Write) -> Iterator[Cause]:
    event = forms.stored(write.new, write.kind)
    yield from _common_problems(event)
    if write.kind.group == EVENTS.group:
        return
    if write.old is None:
        yield from _strict_problems(event)
    else:
        old = forms.stored(write.old, write.kind)
        for field in _IMMUTABLE:
            if event.get(field) != old.get(field):
                yield Cause.invalid(field, event.get(field), "field is immutable")


def _common_problems(event: Object) -> Iterator[Cause]:
    namespace = event["metadata"]["namespace"]
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    if not event.get("eventTime"):
        if namespace not in ((involved,) if involved else ("", "default")):
            yield Cause.invalid("involvedObject.namespace", involved, "does not match event.namespace")
        return
    if not involved and namespace not in _CLUSTER_EVENT_NAMESPACES:
        yield Cause.invalid("involvedObject.namespace", involved, "does not match event.namespace")
    for field in _REQUIRED:
        if not event.get(field):
            yield Cause.required("reportingController" if field == _REQUIRED[0] else field)
        if field == _REQUIRED[0]:
            yield from key_problems(event.get(field) or "", "reportingController")
    for field, limit in _LENGTHS.items():
        if len(event.get(field) or "") > limit:
            yield Cause.invalid(field, "", f"can have at most {limit} characters")


def _strict_problems(event: Object) -> Iterator[Cause]:
    if not event.get("eventTime"):
        yield Cause.required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield Cause.invalid("type", "", f"has invalid value: {event.get('type') or ''}")
    for field in _DEPRECATED:
        if event.get(field):
            yield Cause.invalid(field, "", "needs to be unset")


STRATEGY = Strategy(validate=_broken_rules)

"""A model of an API server, its watches, and the shells that carry out what the scheduler orders.

Nothing happens by itself: each call moves one thing. Events of one object are delivered in their order, events of
different objects in any; an event may come twice. `situations` counts the rare things that happened.
"""

from collections import Counter, deque
from enum import Enum, auto
from typing import NamedTuple

from msgspec.structs import replace

from gangline.contract.meta import Condition
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from scheduler.core import events
from scheduler.core.events import (
    Bound,
    ConditionAnswered,
    ConditionOutcome,
    Event,
    PodRead,
    PodReadFailed,
    Refusal,
    Refused,
    Result,
    Unknown,
)
from scheduler.core.instructions import Announce, Bind, BindGang, Instruction, ReadPod, WriteCondition
from scheduler.core.overtaken import Overtaken
from tests.support.builders import EPOCH, at
from tests.support.script import gone, observed

Object = Pod | Node | PodGroup
ObjectName = tuple[str, str, str]


class Fault(Enum):
    """What goes wrong with one request."""

    NONE = auto()
    FORBIDDEN = auto()
    """Refused with 403 or 422."""
    LOST_REPLY = auto()
    """Done, and the reply never comes."""
    LOST_REQUEST = auto()
    """Not done, and nobody knows."""


class _Open(NamedTuple):
    gang: BindGang


class _Send(NamedTuple):
    bind: Bind
    gang: str


_Job = _Open | _Send | ReadPod | WriteCondition


class ClusterModel:
    """The truth, what of it has not been delivered yet, and what has been ordered and not been done yet."""

    def __init__(self, overtaken: Overtaken) -> None:
        self._overtaken = overtaken
        self.objects: dict[ObjectName, Object] = {}
        self.delivered: dict[ObjectName, Object] = {}
        self.pending: dict[ObjectName, deque[Event]] = {}
        self.last_event: dict[ObjectName, Event] = {}
        self.jobs: list[_Job] = []
        self.results: list[Result] = []
        self.situations: Counter[str] = Counter()
        self._version = 1000
        self._uids = 0

    def put(self, thing: Object) -> None:
        """Write a version of an object."""
        self._version += 1
        thing = replace(thing, metadata=replace(thing.metadata, resource_version=str(self._version)))
        name = object_name(thing)
        self.objects[name] = thing
        self.pending.setdefault(name, deque()).append(observed(thing))

    def create(self, thing: Object) -> None:
        """Write a new object, with a UID never used before, unless the name is taken."""
        if object_name(thing) in self.objects:
            return
        self._uids += 1
        uid = f"{thing.metadata.name}-{self._uids}"
        if isinstance(thing, Node) and self._charged(thing.metadata.name):
            self.situations["node created under the name of charged pods"] += 1
        self.put(replace(thing, metadata=replace(thing.metadata, uid=uid)))

    def delete(self, name: ObjectName) -> None:
        """Remove an object at once."""
        thing = self.objects.pop(name)
        self.pending.setdefault(name, deque()).append(gone(thing))
        if isinstance(thing, Pod) and self._is_in_flight(thing.metadata.uid):
            self.situations["pod deleted while its bind was on its way"] += 1
        if isinstance(thing, Node) and self._charged(thing.metadata.name):
            self.situations["node deleted while pods were charged to it"] += 1

    def delete_gracefully(self, name: ObjectName) -> None:
        """Set the deletionTimestamp of a pod that has a node; remove one that has none."""
        pod = self.objects[name]
        assert isinstance(pod, Pod)
        if not pod.spec.node_name:
            self.delete(name)
        elif pod.metadata.deletion_timestamp is None:
            self.put(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=at(0))))

    def pods(self) -> list[Pod]:
        """All pods there are."""
        return [thing for _, thing in sorted(self.objects.items()) if isinstance(thing, Pod)]

    def nodes(self) -> list[Node]:
        """All nodes there are."""
        return [thing for _, thing in sorted(self.objects.items()) if isinstance(thing, Node)]

    def groups(self) -> list[PodGroup]:
        """All PodGroups there are."""
        return [thing for _, thing in sorted(self.objects.items()) if isinstance(thing, PodGroup)]

    def _by_uid(self, uid: str) -> Pod | None:
        return next((pod for pod in self.pods() if pod.metadata.uid == uid), None)

    def _charged(self, node: str) -> bool:
        return any(pod.spec.node_name == node for pod in self.pods())

    def _is_in_flight(self, uid: str) -> bool:
        sends = [job.bind for job in self.jobs if isinstance(job, _Send)]
        opens = [bind for job in self.jobs if isinstance(job, _Open) for bind in job.gang.binds]
        return any(bind.uid == uid for bind in (*sends, *opens))

    def deliverable(self) -> list[ObjectName]:
        """Objects of which something has not been delivered."""
        return sorted(name for name, waiting in self.pending.items() if waiting)

    def deliver(self, name: ObjectName) -> Event:
        """Deliver the next event of an object."""
        event = self.pending[name].popleft()
        self.last_event[name] = event
        self._note_delivery(name, event)
        return event

    def deliver_newest(self, name: ObjectName) -> Event:
        """Deliver only the newest event of an object, as an event queue does that has been full."""
        while len(self.pending[name]) > 1:
            self.pending[name].popleft()
            self.situations["versions of an object were skipped"] += 1
        return self.deliver(name)

    def _note_delivery(self, name: ObjectName, event: Event) -> None:
        match event:
            case events.PodObserved(pod=pod):
                self._note_replacement(name, pod)
                self.delivered[name] = pod
            case events.NodeObserved(node=node):
                self.delivered[name] = node
            case events.PodGroupObserved(group=group):
                self.delivered[name] = group
            case _:
                self.delivered.pop(name, None)

    def _note_replacement(self, name: ObjectName, new: Pod) -> None:
        old = self.delivered.get(name)
        if old is not None and old.metadata.uid != new.metadata.uid:
            self.situations["pod re-created under its name without the removal being told"] += 1

    def repeat(self, name: ObjectName) -> Event:
        """Deliver the last delivered event of an object once more."""
        self.situations["an event came twice"] += 1
        return self.last_event[name]

    def relist(self, *, unknown_uids: int) -> list[Event]:
        """Lose the watches, list again: removals that were missed are made up, then all objects come again."""
        if unknown_uids:
            self.situations["relist while the outcome of a bind was unknown"] += 1
        self.pending.clear()
        missed = [thing for name, thing in sorted(self.delivered.items()) if not self._is_current(name, thing)]
        told = [gone(thing) for thing in missed] + [observed(thing) for _, thing in sorted(self.objects.items())]
        self.delivered = dict(self.objects)
        self.last_event = {name: observed(thing) for name, thing in self.objects.items()}
        return told

    def _is_current(self, name: ObjectName, thing: Object) -> bool:
        now = self.objects.get(name)
        return now is not None and now.metadata.uid == thing.metadata.uid

    def submit(self, instructions: tuple[Instruction, ...]) -> None:
        """Queue what the scheduler ordered; a bind drops a condition of the same pod that still waits."""
        for instruction in instructions:
            match instruction:
                case BindGang(nothing_bound=True):
                    self._drop_conditions(instruction)
                    self.jobs.append(_Open(instruction))
                case BindGang():
                    self._drop_conditions(instruction)
                    self.jobs += [_Send(bind, instruction.gang) for bind in instruction.binds]
                case ReadPod() | WriteCondition():
                    self.jobs.append(instruction)
                case Announce():
                    pass

    def _drop_conditions(self, gang: BindGang) -> None:
        uids = {bind.uid for bind in gang.binds}
        dropped = [job for job in self.jobs if isinstance(job, WriteCondition) and job.uid in uids]
        for job in dropped:
            self.jobs.remove(job)
            self.situations["a bind dropped a condition that waited"] += 1
            self.results.append(ConditionAnswered(uid=job.uid, attempt=job.attempt, outcome=ConditionOutcome.DROPPED))

    def bind_jobs(self) -> list[int]:
        """Where among the jobs the binds are."""
        return [index for index, job in enumerate(self.jobs) if isinstance(job, _Open | _Send)]

    def carry_out(self, index: int, fault: Fault) -> None:
        """Do one request of those that wait."""
        job = self.jobs.pop(index)
        match job:
            case _Open(gang):
                self._open(gang, fault)
            case _Send(bind, gang):
                self._settle(self._send(bind, gang, fault))
            case ReadPod():
                self._settle(self._read(job, fault))
            case WriteCondition():
                self._settle(self._write(job, fault))

    def _settle(self, result: Result) -> None:
        if isinstance(result, Refused):
            self.situations[f"refused: {result.refusal}"] += 1
        if self._by_uid(result.uid) is None:
            self.situations["an answer for a pod that has gone"] += 1
        self.results.append(result)

    def _open(self, gang: BindGang, fault: Fault) -> None:
        first, *rest = gang.binds
        known = gang.confirm
        if known is not None:
            group = self.objects.get(("PodGroup", known.namespace, known.name))
            seen = (group.metadata.uid, group.metadata.resource_version) if group is not None else None
            if seen != (known.uid, known.resource_version):
                self._refuse_all(gang.binds, Refusal.STALE)
                return
        if self._overtaken.plan(gang) is not None:
            self._refuse_all(gang.binds, Refusal.OVERTAKEN)
            return
        result = self._send(first, gang.gang, fault)
        self._settle(result)
        if isinstance(result, Refused):
            self._refuse_all(tuple(rest), Refusal.DROPPED)
        else:
            self.jobs += [_Send(bind, gang.gang) for bind in rest]

    def _refuse_all(self, binds: tuple[Bind, ...], refusal: Refusal) -> None:
        for bind in binds:
            self._settle(Refused(uid=bind.uid, attempt=bind.attempt, refusal=refusal, message="dropped"))

    def _send(self, bind: Bind, gang: str, fault: Fault) -> Bound | Refused | Unknown:
        if self._overtaken.bind(bind, gang) is not None:
            return _refusal(bind, Refusal.OVERTAKEN)
        unknown = Unknown(uid=bind.uid, attempt=bind.attempt, message="timeout")
        if fault is Fault.FORBIDDEN:
            return _refusal(bind, Refusal.FORBIDDEN)
        if fault is Fault.LOST_REQUEST:
            self.situations["a bind that was not done has an unknown outcome"] += 1
            return unknown
        pod = self._by_uid(bind.uid)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return _refusal(bind, Refusal.LOST)
        if pod.spec.node_name and pod.spec.node_name != bind.node:
            return _refusal(bind, Refusal.FOREIGN)
        if not pod.spec.node_name:
            self._bind(pod, bind.node)
        if fault is Fault.LOST_REPLY:
            self.situations["a bind that was done has an unknown outcome"] += 1
            return unknown
        return Bound(uid=bind.uid, attempt=bind.attempt, node=bind.node)

    def _bind(self, pod: Pod, node: str) -> None:
        others = tuple(one for one in pod.status.conditions or () if one.type != "PodScheduled")
        scheduled = Condition(type="PodScheduled", status="True")
        self.put(
            replace(
                pod,
                spec=replace(pod.spec, node_name=node),
                status=replace(pod.status, conditions=(*others, scheduled)),
            )
        )

    def bind_by_another(self, name: ObjectName, node: str) -> None:
        """Another scheduler binds a pod."""
        pod = self.objects[name]
        assert isinstance(pod, Pod)
        if not pod.spec.node_name and pod.metadata.deletion_timestamp is None and not pod.spec.scheduling_gates:
            self._bind(pod, node)

    def _read(self, read: ReadPod, fault: Fault) -> PodRead | PodReadFailed:
        if fault is not Fault.NONE:
            return PodReadFailed(uid=read.uid, attempt=read.attempt, message="timeout")
        pod = self._by_uid(read.uid)
        node = None if pod is None else pod.spec.node_name or ""
        return PodRead(uid=read.uid, attempt=read.attempt, node=node)

    def _write(self, write: WriteCondition, fault: Fault) -> ConditionAnswered:
        pod = self._by_uid(write.uid)
        outcome = ConditionOutcome.WRITTEN
        if pod is None:
            outcome = ConditionOutcome.LOST
        elif fault in (Fault.FORBIDDEN, Fault.LOST_REQUEST):
            outcome = ConditionOutcome.FAILED
        elif pod.metadata.resource_version != write.resource_version:
            outcome = ConditionOutcome.CONFLICT
        else:
            condition = Condition(type="PodScheduled", status="False", reason=write.reason, message=write.message)
            self.put(replace(pod, status=replace(pod.status, conditions=(condition,))))
            if fault is Fault.LOST_REPLY:
                outcome = ConditionOutcome.FAILED
        self.situations[f"condition: {outcome}"] += 1
        return ConditionAnswered(uid=write.uid, attempt=write.attempt, outcome=outcome)

    def in_flight(self) -> set[str]:
        """UIDs of the pods of which a bind waits to be sent or its answer to be taken in."""
        binds = [job.bind for job in self.jobs if isinstance(job, _Send)]
        binds += [bind for job in self.jobs if isinstance(job, _Open) for bind in job.gang.binds]
        answered = [result.uid for result in self.results if isinstance(result, Bound | Refused | Unknown)]
        return {*(bind.uid for bind in binds), *answered}

    def snapshot_events(self) -> list[Event]:
        """What a scheduler that starts now is told."""
        return [observed(thing) for _, thing in sorted(self.objects.items())]


def _refusal(bind: Bind, refusal: Refusal) -> Refused:
    return Refused(uid=bind.uid, attempt=bind.attempt, refusal=refusal, message=str(refusal))


def object_name(thing: Object) -> ObjectName:
    """Kind, namespace and name."""
    return (type(thing).__name__, thing.metadata.namespace, thing.metadata.name)


def age_s(thing: Object) -> float:
    """Creation of an object, in seconds since the builders' epoch."""
    created = thing.metadata.creation_timestamp
    return (created - EPOCH).total_seconds() if created is not None else 0.0

"""An outside judge: reads only what the API server says, and says what is wrong with it.

It imports nothing of ours but the contract. `violations` judges a cluster at rest; `History` judges every prefix of
a recorded watch, where a gang may be partly bound only for as long as its binds are in flight.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from gangline.contract.counting import Counts, count, current_run, facts_of
from gangline.contract.membership import Named, Shadow, link_of
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.quantity import QuantityError
from gangline.contract.requests import allocatable, pod_requests

T = TypeVar("T")
SCHEDULER_NAMES = ("gangline",)


class Violation(Struct, frozen=True):
    """One thing that must not be: which rule, on which object, with the numbers."""

    rule: str
    subject: str
    message: str


class Cluster(Struct, frozen=True):
    """Pods, nodes and PodGroups of one moment."""

    pods: tuple[Pod, ...]
    nodes: tuple[Node, ...]
    groups: tuple[PodGroup, ...]


def read(pods: Iterable[Any], nodes: Iterable[Any], groups: Iterable[Any]) -> Cluster:
    """Make a Cluster of JSON objects; what does not decode is left out, since no rule can be read off it."""
    return Cluster(_readable(pods, Pod), _readable(nodes, Node), _readable(groups, PodGroup))


def violations(cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> list[Violation]:
    """Judge a cluster at rest."""
    return [
        *partly_bound(cluster, scheduler_names),
        *overcommitted(cluster),
        *untrue_conditions(cluster, scheduler_names),
        *untrue_statuses(cluster, scheduler_names),
    ]


def partly_bound(cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> list[Violation]:
    """Gangs with some members bound, fewer than minMember, and enough waiting to fill it up."""
    found = []
    for subject, minimum, counts in gangs(cluster, scheduler_names):
        bound = counts.bound + counts.succeeded
        if counts.bound and bound < minimum:
            found.append(Violation("partly-bound", subject, f"{bound} of {minimum} bound, {counts.waiting} wait"))
    return found


def gangs(cluster: Cluster, scheduler_names: Sequence[str]) -> list[tuple[str, int, Counts]]:
    """Every gang that exists by object or by annotation: its name, its minMember, its counts of the current run."""
    members: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    minimums: dict[tuple[str, str], int] = {
        (group.metadata.namespace, group.metadata.name): group.spec.min_member or 1 for group in cluster.groups
    }
    for pod in cluster.pods:
        match link_of(pod):
            case Named(name=name):
                members[pod.metadata.namespace, name].append(pod)
            case Shadow(root=root, min_member=minimum):
                minimums[pod.metadata.namespace, f"shadow:{root}"] = minimum
                members[pod.metadata.namespace, f"shadow:{root}"].append(pod)
            case _:
                continue
    return [
        ("/".join(key), minimum, count(current_run([facts_of(pod, scheduler_names) for pod in members[key]])))
        for key, minimum in sorted(minimums.items())
    ]


def overcommitted(cluster: Cluster) -> list[Violation]:
    """Nodes whose unfinished pods ask for more than the node can give."""
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in cluster.pods:
        if not pod.spec.node_name or pod.status.phase in {"Succeeded", "Failed"}:
            continue
        try:
            requests = pod_requests(pod)
        except QuantityError:
            continue
        for resource, amount in requests.items():
            used[pod.spec.node_name][resource] += amount
    found = []
    for node in cluster.nodes:
        room = allocatable(node)
        for resource, amount in sorted(used[node.metadata.name].items()):
            if amount > room.get(resource, 0):
                found.append(
                    Violation(
                        "overcommitted", node.metadata.name, f"{resource}: {amount} used of {room.get(resource, 0)}"
                    )
                )
    return found


def untrue_conditions(cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> list[Violation]:
    """Bound pods that are said to be unschedulable, and pods of ours that wait without a reason."""
    found = []
    for pod in cluster.pods:
        if pod.metadata.deletion_timestamp is not None or pod.status.phase in {"Succeeded", "Failed"}:
            continue
        condition = next((one for one in pod.status.conditions or () if one.type == "PodScheduled"), None)
        if pod.spec.node_name:
            if condition is not None and condition.status == "False":
                found.append(
                    Violation(
                        "bound-but-unscheduled", str(pod.metadata.key), f"{condition.reason}: {condition.message}"
                    )
                )
        elif pod.spec.scheduler_name in scheduler_names and not (condition and condition.reason):
            found.append(Violation("waits-without-reason", str(pod.metadata.key), "no PodScheduled condition"))
    return found


def untrue_statuses(cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> list[Violation]:
    """PodGroups whose counts or phase differ from what their pods say."""
    by_name = {f"{group.metadata.namespace}/{group.metadata.name}": group for group in cluster.groups}
    found = []
    for subject, minimum, counts in gangs(cluster, scheduler_names):
        group = by_name.get(subject)
        if group is None:
            continue
        status = group.status
        said = (status.scheduled or 0, status.running or 0, status.succeeded or 0, status.failed or 0)
        true = (counts.scheduled, counts.running, counts.succeeded, counts.failed)
        if said != true:
            found.append(
                Violation(
                    "untrue-counts", subject, f"status has scheduled/running/succeeded/failed {said}, pods {true}"
                )
            )
        phases = _possible_phases(minimum, counts, status.phase)
        if status.phase not in phases:
            found.append(Violation("untrue-phase", subject, f"{status.phase}, should be one of {sorted(phases)}"))
    return found


def _possible_phases(minimum: int, counts: Counts, said: str | None) -> set[str]:
    """The phase by the table of design §5, read off the counts alone: what has ended may stay ended."""
    unfinished, running = counts.unfinished, counts.running
    succeeded, failed = counts.succeeded, counts.failed
    if said in {"Finished", "Failed"} and not unfinished:
        return {said}
    if failed and succeeded + unfinished < minimum and (not unfinished or running + succeeded + failed >= minimum):
        return {"Failed"}
    if succeeded + failed + unfinished < minimum:
        return {"Pending"}
    if succeeded >= minimum and not unfinished:
        return {"Finished"}
    return {"Running"} if running + succeeded >= minimum else {"Scheduling"}


class History:
    """Judges a recorded watch, change by change: how many gangs are partly bound at each prefix."""

    def __init__(self, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> None:
        self._names = scheduler_names
        self._pods: dict[str, dict[str, Pod]] = defaultdict(dict)
        self._minimums: dict[str, int] = {}
        self._partial: set[str] = set()
        self._bindings: dict[str, str] = {}
        self.most_partial = 0
        self.violations: list[Violation] = []

    @property
    def partial(self) -> frozenset[str]:
        """Gangs that are partly bound after the last change."""
        return frozenset(self._partial)

    def apply(self, kind: str, type_: str, object_: Any) -> None:
        """Take one change: kind "Pod" or "PodGroup", type ADDED, MODIFIED or DELETED, the object as JSON has it."""
        if kind == "PodGroup":
            self._apply_group(type_, object_)
        elif kind == "Pod":
            self._apply_pod(type_, object_)

    def _apply_group(self, type_: str, object_: Any) -> None:
        for group in _readable([object_], PodGroup):
            subject = str(group.metadata.key)
            if type_ == "DELETED":
                self._minimums.pop(subject, None)
            else:
                self._minimums[subject] = group.spec.min_member or 1
            self._weigh(subject)

    def _apply_pod(self, type_: str, object_: Any) -> None:
        for pod in _readable([object_], Pod):
            self._check_binding(pod)
            match link_of(pod):
                case Named(name=name):
                    subject = f"{pod.metadata.namespace}/{name}"
                case Shadow(root=root, min_member=minimum):
                    subject = f"{pod.metadata.namespace}/shadow:{root}"
                    self._minimums[subject] = minimum
                case _:
                    continue
            if type_ == "DELETED":
                self._pods[subject].pop(pod.metadata.uid, None)
            else:
                self._pods[subject][pod.metadata.uid] = pod
            self._weigh(subject)

    def _check_binding(self, pod: Pod) -> None:
        before = self._bindings.get(pod.metadata.uid, "")
        now = pod.spec.node_name or ""
        if before and now != before:
            self.violations.append(Violation("moved", str(pod.metadata.key), f"from {before} to {now or 'nowhere'}"))
        if now:
            self._bindings[pod.metadata.uid] = now

    def _weigh(self, subject: str) -> None:
        """A gang that falls below its quorum because members are lost was whole once: that is a repair, not a half start."""
        minimum = self._minimums.get(subject)
        facts = [facts_of(pod, self._names) for pod in self._pods[subject].values()]
        counts = count(current_run(facts))
        if minimum is not None and counts.bound and counts.bound + counts.succeeded < minimum:
            self._partial.add(subject)
        else:
            self._partial.discard(subject)
        self.most_partial = max(self.most_partial, len(self._partial))


def _readable(objects: Iterable[Any], type_: type[T]) -> tuple[T, ...]:
    found = []
    for object_ in objects:
        try:
            found.append(msgspec.convert(object_, type_))
        except msgspec.ValidationError:
            continue
    return tuple(found)

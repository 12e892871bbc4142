"""An outside judge: reads only what the API server says, and says what is wrong with it.

It imports nothing of ours but the contract. `violations` judges a cluster at rest; `History` judges every prefix of
a recorded watch, where a gang may be partly bound only for as long as its binds are in flight.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from gangline.contract.counting import Counts, MemberFacts, count, current_run, facts_of, is_finished, need, quorum
from gangline.contract.membership import Link, Named, Shadow, link_of, newest_min_member
from gangline.contract.meta import Condition, created_time
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.quantity import QuantityError
from gangline.contract.requests import allocatable, host_ports, pod_requests
from gangline.contract.selectors import node_selector_matches, untolerated

T = TypeVar("T")
SCHEDULER_NAMES = ("gangline",)
RULES_OF_THE_CONTROLLER: Final = frozenset({"untrue-counts", "untrue-phase"})
RULES_OF_THE_SCHEDULER: Final = frozenset(
    {"waits-without-reason", "untrue-reason", "divided-gang", "waits-though-it-fits"}
)

_BLOCKED: Final = frozenset({"GangIncomplete", "SchedulerMismatch", "PodGroupNotFound"})
_OWN_PROBLEM: Final = frozenset({"InvalidGangLink", "InvalidPod", "UnsupportedRequirement", "PodGroupInvalid"})
_PASSES: Final = frozenset({"HeldForGang", "BindFailed"})


class Violation(Struct, frozen=True):
    """One thing that must not be: which rule, on which object, with the numbers."""

    rule: str
    subject: str
    message: str


class Cluster(Struct, frozen=True):
    """Pods, nodes and PodGroups of one moment; `closed` are nodes that hold a pod which nobody can read."""

    pods: tuple[Pod, ...]
    nodes: tuple[Node, ...]
    groups: tuple[PodGroup, ...]
    closed: frozenset[str] = frozenset()


class Gang(Struct, frozen=True):
    """Pods that start together. A pod that belongs to no other is one alone; `exists`: its PodGroup does, if named."""

    subject: str
    minimum: int
    exists: bool
    pods: tuple[Pod, ...]
    run: tuple[MemberFacts, ...]

    @property
    def counts(self) -> Counts:
        """Counts of the current run."""
        return count(self.run)

    @property
    def need(self) -> int:
        """How many members must still be bound."""
        return need(self.minimum, self.counts)

    @property
    def waiting(self) -> list[Pod]:
        """Members of the run that have no node."""
        uids = {facts.uid for facts in self.run if not facts.node and not is_finished(facts)}
        return [pod for pod in self.pods if pod.metadata.uid in uids]


def read(pods: Iterable[Any], nodes: Iterable[Any], groups: Iterable[Any]) -> Cluster:
    """Make a Cluster of JSON objects; what does not decode is left out, since no rule can be read off it."""
    pods = list(pods)
    closed = frozenset(
        str(pod["spec"]["nodeName"])
        for pod in pods
        if not _readable([pod], Pod) and isinstance(pod.get("spec"), dict) and pod["spec"].get("nodeName")
    )
    return Cluster(_readable(pods, Pod), _readable(nodes, Node), _readable(groups, PodGroup), closed)


def violations(
    cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES, excused: Collection[str] = ()
) -> list[Violation]:
    """Judge a cluster at rest. `excused` are gangs that had their quorum once and lost it (`History.excused`)."""
    return [
        *partly_bound(cluster, scheduler_names, excused),
        *overcommitted(cluster),
        *untrue_conditions(cluster, scheduler_names),
        *untrue_reasons(cluster, scheduler_names),
        *waits_though_it_fits(cluster, scheduler_names),
        *untrue_statuses(cluster, scheduler_names),
    ]


def partly_bound(
    cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES, excused: Collection[str] = ()
) -> list[Violation]:
    """Gangs with some members bound, but fewer than minMember."""
    found = []
    for gang in gangs(cluster, scheduler_names):
        if gang.counts.bound and gang.need and gang.subject not in excused:
            bound = gang.counts.bound + gang.counts.succeeded
            message = f"{bound} of {gang.minimum} bound, {gang.counts.waiting} wait"
            found.append(Violation("partly-bound", gang.subject, message))
    return found


def gangs(cluster: Cluster, scheduler_names: Sequence[str]) -> list[Gang]:
    """Every gang that exists by object, by annotation, or as a pod alone."""
    members: dict[str, list[Pod]] = defaultdict(list)
    claims: dict[str, list[tuple[float, int]]] = defaultdict(list)
    minimums = {str(group.metadata.key): quorum(group.spec.min_member) for group in cluster.groups}
    for pod in cluster.pods:
        link = link_of(pod)
        subject = subject_of(link, pod)
        members[subject].append(pod)
        if isinstance(link, Shadow):
            claims[subject].append((created_time(pod.metadata), link.min_member))
    minimums |= {subject: newest_min_member(found) for subject, found in claims.items()}
    return [
        Gang(
            subject,
            minimums.get(subject, 1),
            subject in minimums or not subject_is_named(members[subject]),
            tuple(members[subject]),
            tuple(current_run([facts_of(pod, scheduler_names) for pod in members[subject]])),
        )
        for subject in sorted({*minimums, *members})
    ]


def subject_of(link: Link, pod: Pod) -> str:
    """Name the gang of a pod."""
    match link:
        case Named(name=name):
            return f"{pod.metadata.namespace}/{name}"
        case Shadow(root=root):
            return f"{pod.metadata.namespace}/shadow:{root}"
        case _:
            return f"{pod.metadata.namespace}/pod:{pod.metadata.name}"


def subject_is_named(pods: Sequence[Pod]) -> bool:
    """Tell whether pods name a PodGroup."""
    return bool(pods) and isinstance(link_of(pods[0]), Named)


def used_room(cluster: Cluster) -> dict[str, Counter[str]]:
    """What the unfinished pods of each node ask for."""
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in cluster.pods:
        if pod.spec.node_name and pod.status.phase not in {"Succeeded", "Failed"}:
            used[pod.spec.node_name].update(_requests(pod) or {})
    return used


def overcommitted(cluster: Cluster) -> list[Violation]:
    """Nodes whose unfinished pods ask for more than the node can give."""
    used, found = used_room(cluster), []
    for node in cluster.nodes:
        room = _room(node)
        for resource, amount in sorted(used[node.metadata.name].items()):
            if amount > room.get(resource, 0):
                message = f"{resource}: {amount} used of {room.get(resource, 0)}"
                found.append(Violation("overcommitted", node.metadata.name, message))
    return found


def untrue_conditions(cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> list[Violation]:
    """Bound pods that are said to be unschedulable, and pods of ours that wait without a reason."""
    found = []
    for pod in cluster.pods:
        if pod.metadata.deletion_timestamp is not None or pod.status.phase in {"Succeeded", "Failed"}:
            continue
        condition, subject = _scheduled(pod), str(pod.metadata.key)
        if pod.spec.node_name:
            if condition is not None and condition.status == "False":
                message = f"{condition.reason}: {condition.message}"
                found.append(Violation("bound-but-unscheduled", subject, message))
        elif pod.spec.scheduler_name in scheduler_names and not (condition and condition.reason):
            found.append(Violation("waits-without-reason", subject, "no PodScheduled condition"))
    return found


def untrue_reasons(cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> list[Violation]:
    """Gangs whose waiting members say something that is not so, or of which only some say Unschedulable (design §6)."""
    found = []
    for gang in gangs(cluster, scheduler_names):
        said = {_reason(pod) for pod in gang.waiting} - _OWN_PROBLEM - {""}
        allowed = _allowed_reasons(gang)
        if allowed is not None and said and not said <= allowed:
            message = f"members say {sorted(said)}, should be one of {sorted(allowed)}"
            found.append(Violation("untrue-reason", gang.subject, message))
        elif allowed is None and said & _BLOCKED:
            message = f"members say {sorted(said)}, but {gang.counts.waiting} wait and {gang.need} are needed"
            found.append(Violation("untrue-reason", gang.subject, message))
        elif len(said) > 1:
            found.append(Violation("divided-gang", gang.subject, f"members say {sorted(said)}"))
    return found


def _allowed_reasons(gang: Gang) -> set[str] | None:
    """Return the reasons that are true of a gang whose lack is not room; None where room or nothing is lacking."""
    if not gang.exists:
        return {"PodGroupNotFound"}
    placeable = [pod for pod in gang.waiting if _reason(pod) not in _OWN_PROBLEM]
    if not gang.counts.bound and len(placeable) < gang.need:
        return {"GangIncomplete", "SchedulerMismatch"}
    return None


def waits_though_it_fits(cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> list[Violation]:
    """Gangs that wait for room although there is enough.

    Sound, not complete: the members are laid out one by one, the largest first, and only on nodes that surely take
    them; what needs more than resources, labels, taints and cordons is not judged, nor is minResources.
    """
    found = []
    min_resources = {str(group.metadata.key) for group in cluster.groups if group.spec.min_resources}
    for gang in gangs(cluster, scheduler_names):
        waiting = [
            pod
            for pod in gang.waiting
            if _reason(pod) not in _OWN_PROBLEM and pod.spec.scheduler_name in scheduler_names
        ]
        started = gang.counts.bound > 0
        wanted = 1 if started else max(gang.need, 1)
        if not gang.exists or len(waiting) < wanted or any(_reason(pod) in _PASSES | _OWN_PROBLEM for pod in gang.pods):
            continue
        if gang.subject in min_resources and not started:
            continue
        if _fit(waiting, wanted, cluster):
            what = "one more member fits" if started else f"{wanted} members fit"
            found.append(Violation("waits-though-it-fits", gang.subject, f"{what}, {len(waiting)} wait"))
    return found


def _fit(waiting: Sequence[Pod], wanted: int, cluster: Cluster) -> bool:
    """Tell whether `wanted` of the pods find room together, each on the first node that takes it."""
    used = used_room(cluster)
    free = {
        node.metadata.name: Counter(_room(node)) for node in cluster.nodes if node.metadata.name not in cluster.closed
    }
    for name, room in free.items():
        room.subtract(used[name])
    placed = 0
    for pod in sorted(waiting, key=lambda pod: sorted((_requests(pod) or {}).items()), reverse=True):
        requests = _requests(pod)
        node = next((n for n in cluster.nodes if requests and _takes(n, pod, requests, free)), None)
        if node is not None and requests:
            free[node.metadata.name].subtract(requests)
            placed += 1
    return placed >= wanted


def _takes(node: Node, pod: Pod, requests: dict[str, int], free: dict[str, Counter[str]]) -> bool:
    spec = pod.spec
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required.node_selector_terms if affinity and affinity.required else None
    labels = node.metadata.labels or {}
    return (
        node.metadata.name in free
        and node.metadata.deletion_timestamp is None
        and not node.spec.unschedulable
        and not host_ports(pod)
        and untolerated(spec.tolerations, node.spec.taints) is None
        and all(labels.get(key) == value for key, value in (spec.node_selector or {}).items())
        and (required is None or node_selector_matches(required, labels, node.metadata.name))
        and all(free[node.metadata.name][resource] >= amount for resource, amount in requests.items())
    )


def untrue_statuses(cluster: Cluster, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> list[Violation]:
    """PodGroups whose counts or phase differ from what their pods say."""
    by_name = {str(group.metadata.key): group for group in cluster.groups}
    found = []
    for gang in gangs(cluster, scheduler_names):
        group, counts = by_name.get(gang.subject), gang.counts
        if group is None or not _has_status_of_ours(gang, scheduler_names):
            continue
        status = group.status
        said = (status.scheduled or 0, status.running or 0, status.succeeded or 0, status.failed or 0)
        true = (counts.scheduled, counts.running, counts.succeeded, counts.failed)
        if said != true:
            message = f"status has scheduled/running/succeeded/failed {said}, pods {true}"
            found.append(Violation("untrue-counts", gang.subject, message))
        phases = _possible_phases(gang.minimum, counts, status.phase)
        if status.phase not in phases:
            message = f"{status.phase}, should be one of {sorted(phases)}"
            found.append(Violation("untrue-phase", gang.subject, message))
    return found


def _has_status_of_ours(gang: Gang, scheduler_names: Sequence[str]) -> bool:
    return not gang.pods or any(pod.spec.scheduler_name in scheduler_names for pod in gang.pods)


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


class _Standing(Struct, frozen=True):
    """How far a gang is; `partial` when it has bound members and no quorum."""

    bound: int = 0
    unfinished: int = 0
    minimum: int = 0
    partial: bool = False

    def has_lost_against(self, before: "_Standing") -> bool:
        """Tell whether members have gone, or more are asked for."""
        return self.bound < before.bound or self.unfinished < before.unfinished or self.minimum > before.minimum


class History:
    """Judges a recorded watch, change by change: how many gangs are partly bound at each prefix.

    A gang is in `partial` while it has members bound and no quorum. It is in `half_started` if nothing but binds has
    brought it there, and in `excused` if something else has: a member was lost, relabelled or bound by another hand
    (a pod of `bound_by_others`, by UID), minMember was raised, or a node or member of a complete gang went away while
    its binds were in flight.
    """

    def __init__(self, scheduler_names: Sequence[str] = SCHEDULER_NAMES) -> None:
        self._names = scheduler_names
        self._objects: dict[str, dict[str, Any]] = defaultdict(dict)
        self._pods: dict[str, dict[str, Pod]] = defaultdict(dict)
        self._subjects: dict[str, str] = {}
        self._minimums: dict[str, int] = {}
        self._standings: dict[str, _Standing] = {}
        self._partial: set[str] = set()
        self._half_started: set[str] = set()
        self._shrunk: set[str] = set()
        self._bindings: dict[str, str] = {}
        self.bound_by_others: set[str] = set()
        self.revision = 0
        self.most_partial = 0
        self.most_half_started = 0
        self.violations: list[Violation] = []

    @property
    def partial(self) -> frozenset[str]:
        """Gangs that are partly bound after the last change."""
        return frozenset(self._partial)

    @property
    def half_started(self) -> frozenset[str]:
        """Those of them that only binds in flight can explain."""
        return frozenset(self._half_started)

    @property
    def excused(self) -> frozenset[str]:
        """Those of them that something else explains."""
        return frozenset(self._partial - self._half_started)

    def cluster(self) -> Cluster:
        """The cluster after the last change."""
        return read(*(list(self._objects[kind].values()) for kind in ("Pod", "Node", "PodGroup")))

    def apply_line(self, line: dict[str, Any]) -> None:
        """Take one line of the sandbox's version log."""
        kinds = {("", "pods"): "Pod", ("", "nodes"): "Node", ("scheduling.x-k8s.io", "podgroups"): "PodGroup"}
        self.revision = line["revision"]
        kind = kinds.get((line["group"], line["resource"]))
        if kind is None:
            return
        if line["type"] == "DELETED":
            self._objects[kind].pop(line["key"], None)
        else:
            self._objects[kind][line["key"]] = line["object"]
        self.apply(kind, line["type"], line["object"])

    def apply(self, kind: str, type_: str, object_: Any) -> None:
        """Take one change: kind as it is spelled, type ADDED, MODIFIED or DELETED, the object as JSON has it."""
        if kind == "PodGroup":
            self._apply_group(type_, object_)
        elif kind == "Pod":
            self._apply_pod(type_, object_)
        elif kind == "Node" and type_ == "DELETED":
            self._half_started.clear()
        self.most_partial = max(self.most_partial, len(self._partial))
        self.most_half_started = max(self.most_half_started, len(self._half_started))

    def _apply_group(self, type_: str, object_: Any) -> None:
        for group in _readable([object_], PodGroup):
            subject = str(group.metadata.key)
            if type_ == "DELETED":
                self._minimums.pop(subject, None)
            else:
                self._minimums[subject] = quorum(group.spec.min_member)
            self._weigh(subject)

    def _apply_pod(self, type_: str, object_: Any) -> None:
        for pod in _readable([object_], Pod):
            uid, subject = pod.metadata.uid, subject_of(link_of(pod), pod)
            was_bound = uid in self._bindings
            self._check_binding(pod)
            before = self._subjects.get(uid)
            if before is not None and (before != subject or type_ == "DELETED"):
                del self._pods[before][uid]
                del self._subjects[uid]
                self._weigh(before)
            if type_ != "DELETED":
                self._pods[subject][uid] = pod
                self._subjects[uid] = subject
                is_bind = before == subject and not was_bound and uid in self._bindings
                self._weigh(subject, by_bind=is_bind and uid not in self.bound_by_others)

    def _check_binding(self, pod: Pod) -> None:
        before = self._bindings.get(pod.metadata.uid, "")
        now = pod.spec.node_name or ""
        if before and now != before:
            self.violations.append(Violation("moved", str(pod.metadata.key), f"from {before} to {now or 'nowhere'}"))
        if now:
            self._bindings[pod.metadata.uid] = now

    def _weigh(self, subject: str, *, by_bind: bool = False) -> None:
        before = self._standings.get(subject, _Standing())
        now = self._standings[subject] = self._standing(subject)
        if now.unfinished >= now.minimum:
            self._shrunk.discard(subject)
        elif not before.bound and before.unfinished >= before.minimum > 0:
            self._shrunk.add(subject)
        if not now.partial:
            self._partial.discard(subject)
            self._half_started.discard(subject)
            return
        self._partial.add(subject)
        if not before.bound and by_bind and subject not in self._shrunk:
            self._half_started.add(subject)
        elif now.has_lost_against(before):
            self._half_started.discard(subject)

    def _standing(self, subject: str) -> _Standing:
        pods = self._pods[subject].values()
        counts = count(current_run([facts_of(pod, self._names) for pod in pods]))
        minimum = self._minimum(subject, pods)
        partial = minimum is not None and counts.bound > 0 and counts.bound + counts.succeeded < minimum
        return _Standing(counts.bound, counts.unfinished, minimum or 0, partial)

    def _minimum(self, subject: str, pods: Iterable[Pod]) -> int | None:
        claims = [
            (created_time(pod.metadata), link.min_member) for pod in pods if isinstance(link := link_of(pod), Shadow)
        ]
        return newest_min_member(claims) if claims else self._minimums.get(subject)


def _scheduled(pod: Pod) -> Condition | None:
    return next((one for one in pod.status.conditions or () if one.type == "PodScheduled"), None)


def _reason(pod: Pod) -> str:
    condition = _scheduled(pod)
    return (condition.reason or "") if condition is not None and condition.status == "False" else ""


def _requests(pod: Pod) -> dict[str, int] | None:
    try:
        return pod_requests(pod)
    except QuantityError:
        return None


def _room(node: Node) -> dict[str, int]:
    try:
        return allocatable(node)
    except QuantityError:
        return {}


def _readable(objects: Iterable[Any], type_: type[T]) -> tuple[T, ...]:
    found = []
    for object_ in objects:
        try:
            found.append(msgspec.convert(object_, type_))
        except msgspec.ValidationError:
            continue
    return tuple(found)

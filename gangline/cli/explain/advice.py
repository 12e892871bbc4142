"""Advice: the next step for each reason, as something to type where that is possible."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gangline.cli.explain.answer import State
from gangline.cli.explain.case import Case
from gangline.cli.explain.room import ROOM, NodesAlike
from gangline.contract.counting import is_finished
from gangline.contract.membership import GangKind
from gangline.contract.names import API_VERSION, POD_GROUP_LABEL, POD_TEMPLATE_HASH_LABEL
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.quantity import format_amount
from scheduler.core.model.member_class import MemberClass
from scheduler.core.reasons import NodeReason, Reason

ClassRoom = tuple[MemberClass, int, tuple[NodesAlike, ...]]
"""A member class, how many members of it wait, and how the nodes stand to them."""

_SCHEDULER: Final = "kubectl get pods -A -l app.kubernetes.io/name=gangline-scheduler"
_SHOWN: Final = 2


def advise(
    case: Case, reason: str, rooms: Sequence[ClassRoom], groups: Iterable[PodGroup], names: Sequence[str]
) -> tuple[str, ...]:
    """Say what to do next about a gang that gives this reason; `groups` are all of the cluster."""
    match reason:
        case Reason.UNSCHEDULABLE:
            return tuple(_room(case, rooms))
        case Reason.GANG_INCOMPLETE:
            return tuple(_incomplete(case))
        case Reason.POD_GROUP_NOT_FOUND:
            return tuple(_no_group(case, groups))
        case Reason.POD_GROUP_INVALID:
            return (f"correct it: `kubectl -n {case.key.namespace} edit pg {case.key.name}`",)
        case Reason.INVALID_GANG_LINK:
            return ("correct labels and annotations in the pod template, and let its owner make the pods anew",)
        case Reason.INVALID_POD:
            return ("correct the quantity in the pod template, and let its owner make the pods anew",)
        case Reason.UNSUPPORTED:
            return (
                (
                    "drop that requirement from the pod template (a preferred or ScheduleAnyway form is fine), "
                    "or leave these pods to another schedulerName"
                ),
            )
        case Reason.SCHEDULER_MISMATCH:
            return (
                (
                    f"set `schedulerName: {names[0]}` in the pod template of all members; it cannot be changed on pods "
                    "that exist, so let their owner make them anew"
                ),
            )
        case Reason.BIND_FAILED:
            return (
                (
                    "look at the API server's words above: an admission webhook, a quota or missing rights of the "
                    "scheduler; it tries again by itself, with a growing pause"
                ),
            )
        case Reason.HELD_FOR_GANG:
            return ("wait: room is held for 30 s at most after a member was lost, then this gang is tried again",)
        case _:
            return _by_state(case, reason, names)


def _by_state(case: Case, reason: str, names: Sequence[str]) -> tuple[str, ...]:
    namespace = case.key.namespace
    match reason:
        case State.NOT_SCHEDULED_YET:
            return (
                f"see whether a scheduler runs and is ready: `{_SCHEDULER}`",
                (
                    f"see whether it answers to these pods' schedulerName ({', '.join(sorted(names))}): "
                    "its option --scheduler-name"
                ),
            )
        case State.BINDING:
            return ("ask again in a few seconds",)
        case State.STARTING:
            starting = [pod.metadata.name for pod in case.pods if pod.spec.node_name and pod.status.phase == "Pending"]
            first = starting[0] if starting else case.key.name
            return (f"look at image pulls, volumes and probes: `kubectl -n {namespace} describe pod {first}`",)
        case State.NO_PODS:
            return (
                (
                    f"create pods with the label `{POD_GROUP_LABEL}: {case.key.name}` in namespace {namespace}, "
                    f"and `schedulerName: {names[0]}`"
                ),
            )
        case State.FAILED:
            failed = next((pod.metadata.name for pod in case.pods if pod.status.phase == "Failed"), case.key.name)
            return (
                f"look at why: `kubectl -n {namespace} logs {failed}` and `kubectl -n {namespace} describe pod {failed}`",
            )
        case State.GATED:
            return (
                "find who put the gate there (Kueue, a quota or a webhook of your own): only it should take it away",
            )
        case State.DELETING:
            return ("wait until it is gone; a finalizer may hold it: look at metadata.finalizers",)
        case _:
            return ()


def _room(case: Case, rooms: Sequence[ClassRoom]) -> Iterator[str]:
    for member_class, waiting, groups in rooms:
        yield from _of_class(member_class, min(waiting, max(1, case.need)), groups)
    startable = sum(min(waiting, _fitting(groups)) for _, waiting, groups in rooms)
    if case.key.kind is GangKind.POD_GROUP and len(rooms) == 1 and not case.counts.bound and 0 < startable < case.need:
        yield (
            f"or start with fewer: `kubectl -n {case.key.namespace} patch pg {case.key.name} --type merge "
            f'-p \'{{"spec":{{"minMember":{startable}}}}}\'`'
        )
    if case.group is not None and case.group.spec.min_resources and not case.counts.bound:
        yield (
            "or lower spec.minResources, if it asks for more than the members do: "
            f"`kubectl -n {case.key.namespace} edit pg {case.key.name}`"
        )


def _fitting(groups: Sequence[NodesAlike]) -> int:
    return sum(group.members for group in groups)


def _of_class(member_class: MemberClass, wanted: int, groups: Sequence[NodesAlike]) -> Iterator[str]:
    """Say what would make room for the members of one class that find none."""
    missing = wanted - _fitting(groups)
    if missing <= 0:
        return
    yield from _too_large(member_class, groups)
    for group in groups:
        yield from _of_nodes(member_class, group)
    asks = asked(member_class)
    if asks:
        yield f"make or add room for {missing} more: {asks} on one node for each"


def _too_large(member_class: MemberClass, groups: Sequence[NodesAlike]) -> Iterator[str]:
    """Name a resource that no node that may be used has enough of even when it is empty."""
    lacking = [node.lacks for group in groups for node in group.nodes if node.lacks]
    if not lacking or any(group.reason == ROOM for group in groups):
        return
    for resource, amount in member_class.requests:
        offered = [has for lacks in lacking for name, _, has in lacks if name == resource]
        if len(offered) < len(lacking) or max(offered) >= amount:
            continue
        largest = max(offered)
        if not largest:
            yield f"no usable node offers {resource} at all: add nodes that do, or start their device plugin"
        else:
            yield (
                f"no usable node is large enough even when empty: one member asks for {format_amount(resource, amount)} "
                f"{resource}, the largest node has {format_amount(resource, largest)}; ask for less or add larger nodes"
            )


def _of_nodes(member_class: MemberClass, group: NodesAlike) -> Iterator[str]:
    nodes = group.nodes[:_SHOWN]
    match group.reason:
        case NodeReason.UNSCHEDULABLE:
            names = " ".join(node.node for node in nodes)
            yield f"if the maintenance is over, give {len(group.nodes)} cordoned node(s) back: `kubectl uncordon {names}`"
        case NodeReason.TAINT:
            taint = nodes[0].detail
            yield (
                f"if they may use those nodes, tolerate {taint} in the pod template; or take the taint away: "
                f"`kubectl taint nodes {nodes[0].node} {_removal(taint)}`"
            )
        case NodeReason.NODE_AFFINITY:
            yield from _selector(member_class, group)
        case NodeReason.HOST_PORT:
            yield "host ports are taken: drop hostPort, or use a Service instead"
        case NodeReason.CLOSED:
            yield f"node {nodes[0].node} holds what cannot be read ({nodes[0].detail}): correct or delete that"
        case _ if nodes[0].lacks and len(group.nodes) > 1:
            yield from _scattered(member_class, group)
        case _:
            return


def _scattered(member_class: MemberClass, group: NodesAlike) -> Iterator[str]:
    """Say that there would be enough if it were in one piece, where some node is large enough to have it so."""
    requests = dict(member_class.requests)
    for resource in sorted({name for node in group.nodes for name, _, _ in node.lacks}):
        pieces = [free for node in group.nodes for name, free, _ in node.lacks if name == resource]
        amount = requests[resource]
        largest = max(offered for node in group.nodes for name, _, offered in node.lacks if name == resource)
        if resource != "pods" and sum(pieces) >= amount and largest >= amount:
            yield (
                f"{format_amount(resource, sum(pieces))} {resource} are free on {len(pieces)} nodes, but at most "
                f"{format_amount(resource, max(pieces))} in one piece, and a member needs "
                f"{format_amount(resource, amount)}: use smaller members, or drain one of the nodes"
            )


def _selector(member_class: MemberClass, group: NodesAlike) -> Iterator[str]:
    wanted = " ".join(f"{key}={value}" for key, value in member_class.rules.selector)
    if wanted:
        yield (
            f"{len(group.nodes)} node(s) lack the labels that the pods select: correct nodeSelector, or "
            f"`kubectl label node {group.nodes[0].node} {wanted}`"
        )
    else:
        yield f"{len(group.nodes)} node(s) do not match the required node affinity: correct it, or label nodes"


def _removal(taint: str) -> str:
    key, _, effect = taint.partition(":")
    return f"{key.partition('=')[0]}:{effect}-"


def _incomplete(case: Case) -> Iterator[str]:
    owners = sorted(set(map(_maker, case.pods)) - {("", "")})
    for kind, name in owners:
        yield _more_pods(case, kind, name)
    if case.gated:
        yield f"{len(case.gated)} members have scheduling gates: whoever put them there must take them away"
    if not owners:
        yield f"create the missing pods with the label `{POD_GROUP_LABEL}: {case.key.name}`"
    here = len(case.waiting) + case.counts.succeeded
    if case.key.kind is GangKind.POD_GROUP and not case.counts.bound and here:
        yield (
            f"or start with those that are here: `kubectl -n {case.key.namespace} patch pg {case.key.name} --type merge "
            f'-p \'{{"spec":{{"minMember":{here}}}}}\'`'
        )


def _maker(pod: Pod) -> tuple[str, str]:
    """Return (kind, name) of what a user scales to get more pods like this, a Deployment rather than its ReplicaSet."""
    owner = pod.metadata.controller
    if owner is None:
        return ("", "")
    template_hash = (pod.metadata.labels or {}).get(POD_TEMPLATE_HASH_LABEL)
    if owner.kind == "ReplicaSet" and template_hash and owner.name.endswith(f"-{template_hash}"):
        return ("Deployment", owner.name.removesuffix(f"-{template_hash}"))
    return (owner.kind, owner.name)


def _more_pods(case: Case, kind: str, name: str) -> str:
    namespace, minimum = case.key.namespace, case.min_member
    match kind:
        case "StatefulSet":
            return (
                f"re-create StatefulSet {name} with `podManagementPolicy: Parallel`: an ordered one makes its next pod "
                "only when the one before is ready, which a gang never lets happen"
            )
        case "Job":
            return f"raise parallelism (and completions) of Job {name} to {minimum} or more, or lower minMember"
        case "Deployment" | "ReplicaSet":
            return (
                f"if {kind} {name} asks for fewer: `kubectl -n {namespace} scale {kind.lower()}/{name} "
                f"--replicas {minimum}`; else see what stops it: `kubectl -n {namespace} describe {kind.lower()} {name}`"
            )
        case _:
            return f"see why {kind} {name} makes no more pods: `kubectl -n {namespace} describe {kind.lower()} {name}`"


def _no_group(case: Case, groups: Iterable[PodGroup]) -> Iterator[str]:
    namespace, name = case.key.namespace, case.key.name
    members = sum(not is_finished(member) for member in case.members)
    manifest = (
        f"{{apiVersion: {API_VERSION}, kind: PodGroup, metadata: {{name: {name}}}, spec: {{minMember: {members}}}}}"
    )
    yield f"create it, here for the {members} pods that name it: `echo '{manifest}' | kubectl -n {namespace} apply -f -`"
    here = [group.metadata.name for group in groups if group.metadata.namespace == namespace]
    elsewhere = [group.metadata.namespace for group in groups if group.metadata.name == name]
    close = difflib.get_close_matches(name, here, n=1)
    hint = f" (there is a PodGroup {close[0]})" if close else ""
    yield f"or correct the label {POD_GROUP_LABEL} in the pod template{hint}"
    if elsewhere:
        yield f"the PodGroup {name} of namespace {elsewhere[0]} does not count: a group and its pods share a namespace"


def asked(member_class: MemberClass) -> str:
    """Write what one member asks for: `3 cpu, 8Gi memory`."""
    amounts = [f"{format_amount(name, amount)} {name}" for name, amount in member_class.requests if name != "pods"]
    return ", ".join(amounts)

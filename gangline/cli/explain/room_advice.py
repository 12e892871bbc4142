"""Advice on room: what would let the members fit that find no node."""

from collections.abc import Iterator, Sequence
from typing import Final

from gangline.cli.explain.case import Case
from gangline.cli.explain.commands import patch
from gangline.cli.explain.room import ClassRoom, NodesAlike, asked
from gangline.cli.explain.standing import ROOM, NodeStanding
from gangline.contract.membership import GangKind
from gangline.contract.quantity import format_amount
from scheduler.core.model.member_class import MemberClass
from scheduler.core.reasons import NodeReason

_NAMED: Final = 5
_CONDITIONS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints that say how a node is, not whom it is for: nobody should tolerate them."""


def room_advice(case: Case, rooms: Sequence[ClassRoom]) -> Iterator[str]:
    """Say what would make room, the cheapest first."""
    said = False
    for member_class, waiting, groups in rooms:
        for step in _of_class(member_class, min(waiting, max(1, case.need)), groups):
            said = True
            yield step
    startable = sum(min(waiting, _fitting(groups)) for _, waiting, groups in rooms)
    either = "or " if said else ""
    if case.key.kind is GangKind.POD_GROUP and len(rooms) == 1 and not case.counts.bound and 0 < startable < case.need:
        fewer = patch(case.key.namespace, f"pg {case.key.name}", {"spec": {"minMember": startable}})
        yield f"{either}start with fewer: {fewer}"
    if case.group is not None and case.group.spec.min_resources and not case.counts.bound:
        drop = patch(case.key.namespace, f"pg {case.key.name}", {"spec": {"minResources": None}})
        yield f"{either}drop minResources, if the gang needs no more than its members ask for: {drop}"


def _fitting(groups: Sequence[NodesAlike]) -> int:
    return sum(group.members for group in groups)


def _of_class(member_class: MemberClass, wanted: int, groups: Sequence[NodesAlike]) -> Iterator[str]:
    """Say what would make room for the members of one class that find none."""
    missing = wanted - _fitting(groups)
    if missing <= 0:
        return
    yield from _too_large(member_class, groups)
    for group in groups:
        yield from _of_nodes(member_class, group, missing)
    asks = asked(member_class)
    if asks:
        yield f"make or add room for {missing} more, {asks} on one node for each; `{_nodes_command(member_class)}` has what is free"


def _nodes_command(member_class: MemberClass) -> str:
    """Write the command that shows the room for such members on each node."""
    words = ["gangline nodes"]
    for name, amount in member_class.requests:
        text = format_amount(name, amount)
        if name in ("cpu", "memory"):
            words.append(f"--{name} {text}")
        elif name != "pods":
            words.append(f"--request {name}={text}")
    words += [f"-l {key}={value}" for key, value in member_class.rules.selector]
    tolerated = {one.key for one in member_class.rules.tolerations if one.key and not one.key.startswith(_CONDITIONS)}
    words += [f"--toleration {key}" for key in sorted(tolerated)]
    return " ".join(words)


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


def _of_nodes(member_class: MemberClass, group: NodesAlike, missing: int) -> Iterator[str]:
    """Say how to get at these nodes; nothing of nodes that would not help."""
    match group.reason:
        case NodeReason.UNSCHEDULABLE if group.otherwise:
            names = _names(group.nodes, missing)
            yield f"if the maintenance is over, give cordoned nodes back ({_gain(group)}): `kubectl uncordon {names}`"
        case NodeReason.TAINT:
            yield from _taints(group, missing)
        case NodeReason.NODE_AFFINITY if group.otherwise:
            yield from _selector(member_class, group, missing)
        case NodeReason.HOST_PORT:
            yield "host ports are taken: drop hostPort, or use a Service instead"
        case NodeReason.CLOSED:
            first = group.nodes[0]
            yield f"node {first.node} holds what cannot be read ({first.detail}): correct or delete that"
        case _ if group.nodes[0].lacks and len(group.nodes) > 1:
            yield from _scattered(member_class, group)
        case _:
            return


def _names(nodes: Sequence[NodeStanding], missing: int) -> str:
    """Name the nodes that would take so many members, not more than can be read."""
    named: list[str] = []
    for node in nodes:
        if missing <= 0 or not node.otherwise or len(named) == _NAMED:
            break
        named.append(node.node)
        missing -= node.otherwise
    return " ".join(named)


def _gain(group: NodesAlike) -> str:
    return f"room for {group.otherwise} more"


def _taints(group: NodesAlike, missing: int) -> Iterator[str]:
    by_taint: dict[str, list[NodeStanding]] = {}
    for node in group.nodes:
        if node.otherwise:
            by_taint.setdefault(node.detail, []).append(node)
    for taint, nodes in by_taint.items():
        key, _, effect = taint.partition(":")
        key = key.partition("=")[0]
        names = _names(nodes, missing)
        if key.startswith(_CONDITIONS):
            yield f"find out why {names} cannot be used now ({taint}): `kubectl describe node {names}`"
            continue
        gain = f"room for {sum(node.otherwise for node in nodes)} more"
        yield (
            f"if they may use the nodes with {taint} ({gain}), add to the pod template "
            f"`tolerations: [{{key: {key}, operator: Exists, effect: {effect}}}]`; "
            f"or take the taint away: `kubectl taint nodes {names} {key}:{effect}-`"
        )


def _scattered(member_class: MemberClass, group: NodesAlike) -> Iterator[str]:
    """Say that there would be enough if it were in one piece, where some node is large enough to have it so."""
    requests = dict(member_class.requests)
    for resource in sorted({name for node in group.nodes for name, _, _ in node.lacks}):
        pieces = [free for node in group.nodes for name, free, _ in node.lacks if name == resource]
        amount = requests[resource]
        largest = max(offered for node in group.nodes for name, _, offered in node.lacks if name == resource)
        if resource != "pods" and sum(pieces) >= amount and largest >= amount:
            node = group.nodes[0].node
            yield (
                f"{format_amount(resource, sum(pieces))} {resource} are free on {len(pieces)} nodes, but at most "
                f"{format_amount(resource, max(pieces))} in one piece, and a member needs "
                f"{format_amount(resource, amount)}: use smaller members, or move small pods off the nearest node: "
                f"`kubectl get pods -A --field-selector spec.nodeName={node}`"
            )


def _selector(member_class: MemberClass, group: NodesAlike, missing: int) -> Iterator[str]:
    wanted = " ".join(f"{key}={value}" for key, value in member_class.rules.selector)
    count = len(group.nodes)
    if wanted:
        yield (
            f"{count} node(s) lack the labels that the pods select ({_gain(group)}): correct nodeSelector, or "
            f"`kubectl label node {_names(group.nodes, missing)} {wanted} --overwrite`"
        )
    else:
        yield (
            f"{count} node(s) do not match the required node affinity ({_gain(group)}): correct it, or label nodes; "
            "`kubectl get nodes --show-labels` has what they are"
        )

"""Why a pod waits and why a node does not fit: closed sets, with the words that users see."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from gangline.contract.quantity import format_amount


class Reason(StrEnum):
    """Reason of `PodScheduled=False`. Only UNSCHEDULABLE makes node autoscalers buy nodes (design §6)."""

    UNSCHEDULABLE = "Unschedulable"
    """More or other nodes would help: the gang does not fit on those there are. Free room, add nodes, or ask for less."""
    GANG_INCOMPLETE = "GangIncomplete"
    """Fewer members wait than `minMember` asks for. Create the missing pods, or lower `minMember`."""
    POD_GROUP_NOT_FOUND = "PodGroupNotFound"
    """The pod names a PodGroup that its namespace does not have. Create it, or correct the label."""
    POD_GROUP_INVALID = "PodGroupInvalid"
    """The PodGroup holds a value that cannot be used; the message names it. Correct the PodGroup."""
    INVALID_GANG_LINK = "InvalidGangLink"
    """The pod's labels or annotations contradict each other or do not parse. Correct the pod's template."""
    INVALID_POD = "InvalidPod"
    """The pod asks for a quantity that is not legal; the message names it. Correct the pod's template."""
    UNSUPPORTED = "UnsupportedRequirement"
    """The pod asks for something that this scheduler cannot check yet, and is not placed blindly. Drop the requirement."""
    SCHEDULER_MISMATCH = "SchedulerMismatch"
    """Members of the gang name another scheduler, so that too few are ours. Give all members the same `schedulerName`."""
    BIND_FAILED = "BindFailed"
    """The API server refused the binding; the message has its words. It is tried again with backoff."""
    HELD_FOR_GANG = "HeldForGang"
    """The room that there is is held for a lost member of a gang that goes first. Nothing to do: a hold ends by itself."""


class NodeReason(StrEnum):
    """Why a node was passed over, in kube-scheduler's words where it has them; lack of room is `insufficient`."""

    DELETING = "node(s) are being deleted"
    """The Node object has a deletionTimestamp."""
    NODE_NAME = "node(s) didn't match the requested node name"
    """The pod names another node in `spec.nodeName`."""
    UNSCHEDULABLE = "node(s) were unschedulable"
    """The node is cordoned and the pod does not tolerate that."""
    TAINT = "node(s) had untolerated taint(s)"
    """A NoSchedule or NoExecute taint of the node is not tolerated."""
    NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
    """The node's labels or name do not satisfy the node selector or the required node affinity."""
    HOST_PORT = "node(s) didn't have free ports for the requested pod ports"
    """A host port that the pod asks for is taken on the node."""
    CLOSED = "node(s) hold a pod that could not be read"
    """What a pod on the node uses is not known, so nothing is added to it until that pod is readable or gone."""
    UNSUPPORTED = "node(s) cannot be checked for what the pod asks"
    """The pod asks for something that this scheduler cannot check yet."""
    KEPT_APART = "node(s) refused this gang's pods a moment ago"
    """A binding of the gang to this node was refused; the node is avoided for a while."""


class Cause(StrEnum):
    """What can change a verdict: a parked gang is woken only by a cause that it waits for."""

    ROOM = "Room"
    """A node gained room: node added, allocatable raised, a pod finished, moved or gone, a hold ended."""
    NODE_RULES = "NodeRules"
    """A node's labels, taints or cordon changed."""
    MEMBERS = "Members"
    """The gang's own members or its PodGroup changed."""
    TIME = "Time"
    """A deadline of the gang's own: backoff, hold."""


_KINDS_NAMED: Final = 4
_AMOUNTS_NAMED: Final = 8
"""Whatever is as many as a user likes is named up to here and only counted beyond: each member stores the sentence."""


def listed(texts: Sequence[str], limit: int, others: str, *, joint: str = ", ") -> str:
    """Join texts; of those beyond the limit only the number is given, as that of `others` (a plural in -s)."""
    more = len(texts) - limit
    if more <= 0:
        return joint.join(texts)
    return f"{joint.join(texts[:limit])} and {more} other {others.removesuffix('s') if more == 1 else others}"


def insufficient(resource: str) -> str:
    """Why a node has no room, in kube-scheduler's words."""
    return "Too many pods" if resource == "pods" else f"Insufficient {resource}"


class ClassVerdict(Struct, frozen=True, kw_only=True):
    """How one member class of an unplaced gang stands.

    `node_reasons` counts nodes as kube-scheduler does: a node shows up once under the first rule that it breaks,
    or once under every resource that it lacks. `fits` is how many members of the class would find room if the rest
    of the gang were not there.
    """

    class_id: int
    node_reasons: tuple[tuple[str, int], ...]
    fits: int


class Missing(Struct, frozen=True):
    """Members of one class that find no room beside the rest; `each` says what one of them needs."""

    class_id: int
    count: int
    each: tuple[tuple[str, int], ...]


class Shortfall(Struct, frozen=True):
    """A resource of which the usable nodes have less than `minResources` asks for."""

    resource: str
    wanted: int
    have: int


class Unplaced(Struct, frozen=True, kw_only=True):
    """Why a gang was not placed, in numbers.

    `fitting` members of the `need` fit together; it is a proven maximum when `exact`, else the most that was found.
    `obstructed` says that the gang would fit but for rooms held for other gangs, pairs kept apart, or `minResources`:
    new nodes are not what is missing, and node autoscalers see room. A gang that was not placed can be helped
    by one of the causes in `wake`; where that is ROOM, only by room in one of `wake_resources`.
    """

    node_count: int
    need: int
    classes: tuple[ClassVerdict, ...]
    fitting: int
    exact: bool
    missing: tuple[Missing, ...]
    shortfall: tuple[Shortfall, ...]
    wake: frozenset[Cause]
    wake_resources: frozenset[str]
    rows_scanned: int
    obstructed: bool = False


def sentence(unplaced: Unplaced) -> str:
    """Say why the gang waits: first as kube-scheduler does, then how far the gang is from fitting, then what stops it."""
    parts = [_nodes(unplaced), _members(unplaced), _min_resources(unplaced), _obstruction(unplaced)]
    return " ".join(part for part in parts if part)


def _nodes(unplaced: Unplaced) -> str:
    if not unplaced.missing:
        return ""
    start = f"0/{unplaced.node_count} nodes are available"
    if not unplaced.node_count:
        return f"{start}: the cluster has none."
    return f"{start}: {next(counted for _, counted in _kinds(unplaced))}."


def _kinds(unplaced: Unplaced) -> dict[tuple[str, str], int]:
    """Count the missing members by what they need and why each node has no place for them; in their order."""
    verdicts = {verdict.class_id: verdict for verdict in unplaced.classes}
    kinds: dict[tuple[str, str], int] = {}
    for missing in unplaced.missing:
        kind = (_needs(missing), _counted(verdicts[missing.class_id]))
        kinds[kind] = kinds.get(kind, 0) + missing.count
    return kinds


def _counted(verdict: ClassVerdict) -> str:
    return listed([f"{count} {text}" for text, count in verdict.node_reasons], _AMOUNTS_NAMED, "reasons")


def _members(unplaced: Unplaced) -> str:
    if not unplaced.missing:
        return ""
    if unplaced.need == 1:
        needs = _needs(unplaced.missing[0])
        return f"It needs {needs}." if needs else ""
    fitting = f"{unplaced.fitting} of {unplaced.need} members fit"
    if not unplaced.exact:
        fitting = f"Room was found for {unplaced.fitting} of {unplaced.need} members"
    kinds = list(_kinds(unplaced).items())
    _, first = kinds[0][0]
    texts = [
        _more(count, needs, "" if counted == first else counted) for (needs, counted), count in kinds[:_KINDS_NAMED]
    ]
    others = sum(count for _, count in kinds[_KINDS_NAMED:])
    if others:
        texts.append(f"{others} more that ask for something else find no room")
    return f"{fitting}; {', '.join(texts)}."


def _more(count: int, needs: str, counted: str) -> str:
    if count == 1:
        text = f"1 more needs {needs}" if needs else "1 more finds no node"
    else:
        text = f"{count} more need {needs} each" if needs else f"{count} more find no node"
    return f"{text} ({counted})" if counted else text


def _needs(missing: Missing) -> str:
    amounts = _amounts(tuple(item for item in missing.each if item[0] != "pods"))
    slot = "a free pod slot" if "pods" in dict(missing.each) else ""
    return " and ".join(part for part in (amounts, slot) if part)


def _amounts(amounts: tuple[tuple[str, int], ...]) -> str:
    texts = [f"{format_amount(resource, amount)} {resource}" for resource, amount in amounts]
    return listed(texts, _AMOUNTS_NAMED, "resources", joint=" and ")


def _min_resources(unplaced: Unplaced) -> str:
    if not unplaced.shortfall:
        return ""
    asked = _amounts(tuple((each.resource, each.wanted) for each in unplaced.shortfall))
    have = _amounts(tuple((each.resource, each.have) for each in unplaced.shortfall))
    return f"minResources asks for {asked}, usable nodes have {have} free."


def _obstruction(unplaced: Unplaced) -> str:
    """Name what autoscalers do not see; they try pods one by one, on nodes that look free to them."""
    if not unplaced.obstructed:
        return ""
    if not unplaced.missing:
        return "Each member fits; node autoscalers will not act on this."
    texts = {text for verdict in unplaced.classes for text, _ in verdict.node_reasons}
    taken = (
        "what is held for other gangs or kept apart"
        if NodeReason.KEPT_APART in texts
        else "what is held for other gangs"
    )
    together = all(verdict.fits for verdict in unplaced.classes) and unplaced.need > 1
    start = "Each member fits alone but not together beside" if together else "There would be room but for"
    return f"{start} {taken}; node autoscalers will not act on this."

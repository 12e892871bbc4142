"""Why a pod waits and why a node does not fit: closed sets, with the words that users see."""

from enum import StrEnum


class Reason(StrEnum):
    """Reason of `PodScheduled=False`. Only UNSCHEDULABLE makes node autoscalers buy nodes (design §6)."""

    UNSCHEDULABLE = "Unschedulable"
    GANG_INCOMPLETE = "GangIncomplete"
    POD_GROUP_NOT_FOUND = "PodGroupNotFound"
    POD_GROUP_INVALID = "PodGroupInvalid"
    INVALID_GANG_LINK = "InvalidGangLink"
    INVALID_POD = "InvalidPod"
    UNSUPPORTED = "UnsupportedRequirement"
    SCHEDULER_MISMATCH = "SchedulerMismatch"
    BIND_FAILED = "BindFailed"
    HELD_FOR_GANG = "HeldForGang"


class NodeReason(StrEnum):
    """Why a node was passed over, in kube-scheduler's words where it has them; counted per plan."""

    NODE_NAME = "node(s) didn't match the requested node name"
    UNSCHEDULABLE = "node(s) were unschedulable"
    TAINT = "node(s) had untolerated taint(s)"
    NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
    HOST_PORT = "node(s) didn't have free ports for the requested pod ports"
    CLOSED = "node(s) hold a pod that could not be read"
    KEPT_APART = "node(s) refused this gang's pods a moment ago"


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

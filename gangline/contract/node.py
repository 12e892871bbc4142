"""Nodes, as a partial Struct: only what feasibility reads."""

from msgspec import Struct

from gangline.contract.meta import ApiObject, OrDefault
from gangline.contract.pod import Quantity


class Taint(Struct, frozen=True, kw_only=True, rename="camel"):
    """A taint on a node."""

    key: str = ""
    value: str | None = None
    effect: str = ""


class NodeSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an administrator wants of the node."""

    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None


class NodeStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the node has to give."""

    allocatable: dict[str, Quantity] | None = None


class Node(ApiObject, frozen=True, kw_only=True, rename="camel"):
    """A node."""

    spec: OrDefault[NodeSpec] = NodeSpec()
    status: OrDefault[NodeStatus] = NodeStatus()

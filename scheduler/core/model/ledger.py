"""Ledgers: what is charged to each node, in exact integers; the snapshot is derived from them."""

from collections import Counter

from msgspec import Struct

from gangline.contract.node import Node, Taint
from gangline.contract.requests import HostPort, allocatable
from scheduler.core.model.member_class import ClassId, MemberClass


class NodeFacts(Struct, frozen=True, kw_only=True):
    """What a Node object says that placement reads: amounts as in `contract.requests`, labels as they are."""

    uid: str = ""
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    deleting: bool = False
    allocatable: dict[str, int] = {}


def facts_of(node: Node) -> NodeFacts:
    """Read a Node object.

    Raises QuantityError when an allocatable quantity is not legal.
    """
    return NodeFacts(
        uid=node.metadata.uid,
        labels=node.metadata.labels or {},
        taints=node.spec.taints or (),
        unschedulable=bool(node.spec.unschedulable),
        deleting=node.metadata.deletion_timestamp is not None,
        allocatable=allocatable(node),
    )


class Ledger:
    """Charges of one node name: it exists from the first node or pod that names it.

    `node` is None until a Node object is seen. `closed` says why nothing may be placed here, None when something may.
    """

    __slots__ = ("_classes", "charges", "closed", "name", "node", "ports", "used")

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: NodeFacts | None = None
        self.closed: str | None = None
        self.used: dict[str, int] = {}
        self.ports: Counter[HostPort] = Counter()
        self.charges: dict[str, ClassId] = {}
        self._classes: dict[ClassId, MemberClass] = {}

    def charge(self, uid: str, class_id: ClassId, member_class: MemberClass) -> None:
        """Count the pod here, once; a pod whose class has changed is counted as it is now."""
        if self.charges.get(uid) == class_id:
            return
        self.release(uid)
        self.charges[uid] = class_id
        self._classes[class_id] = member_class
        for resource, amount in member_class.requests:
            self.used[resource] = self.used.get(resource, 0) + amount
        self.ports.update(member_class.host_ports)

    def release(self, uid: str) -> None:
        """Count the pod here no more; one that is not counted is no error."""
        class_id = self.charges.pop(uid, None)
        if class_id is None:
            return
        member_class = self._classes[class_id]
        for resource, amount in member_class.requests:
            self._lower(resource, amount)
        for port in member_class.host_ports:
            self.ports[port] -= 1
            if not self.ports[port]:
                del self.ports[port]
        if class_id not in self.charges.values():
            del self._classes[class_id]

    def _lower(self, resource: str, amount: int) -> None:
        rest = self.used[resource] - amount
        if rest:
            self.used[resource] = rest
        else:
            del self.used[resource]

    @property
    def is_idle(self) -> bool:
        """Whether nothing needs this ledger: no node, no charge, not closed."""
        return self.node is None and not self.charges and self.closed is None

    def validate(self) -> list[str]:
        """Tell what differs from a fresh sum over the charges, in words; empty when all is well."""
        fresh = Ledger(self.name)
        for uid, class_id in self.charges.items():
            fresh.charge(uid, class_id, self._classes[class_id])
        problems = []
        if fresh.used != self.used:
            problems.append(f"node {self.name}: used is {self.used}, its charges sum to {fresh.used}")
        if fresh.ports != self.ports:
            problems.append(f"node {self.name}: ports are {dict(self.ports)}, its charges hold {dict(fresh.ports)}")
        return problems

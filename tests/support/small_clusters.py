"""Tiny clusters and gangs for tests of placement: builders, and hypothesis strategies that keep brute force affordable."""

from collections.abc import Iterable, Sequence

from hypothesis import strategies as st
from msgspec import Struct

from gangline.contract.node import Taint
from gangline.contract.pod import Toleration
from gangline.contract.requests import HostPort
from scheduler.core.model.ledger import Ledger, NodeFacts
from scheduler.core.model.member_class import ClassId, ClassTable, MemberClass, NodeRules
from scheduler.core.placement import ClassDemand, Demand, Hold
from scheduler.core.snapshot import Snapshot

HARD = Taint(key="dedicated", value="batch", effect="NoSchedule")
SOFT = Taint(key="busy", effect="PreferNoSchedule")
TOLERATES_HARD = Toleration(key="dedicated", operator="Exists")


def member_class(
    *,
    cpu: int = 0,
    gpu: int = 0,
    selector: dict[str, str] | None = None,
    tolerations: tuple[Toleration, ...] = (),
    ports: Iterable[int] = (),
    unsupported: tuple[str, ...] = (),
) -> MemberClass:
    requests = {"cpu": cpu, "nvidia.com/gpu": gpu, "pods": 1}
    return MemberClass(
        requests=tuple(sorted((name, amount) for name, amount in requests.items() if amount)),
        rules=NodeRules(selector=tuple(sorted((selector or {}).items())), tolerations=tolerations),
        host_ports=tuple(HostPort("0.0.0.0", "TCP", port) for port in sorted(ports)),
        unsupported=unsupported,
    )


def ledger(
    name: str,
    *,
    cpu: int = 8000,
    gpu: int = 0,
    pods: int = 110,
    labels: dict[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    unschedulable: bool = False,
    deleting: bool = False,
    closed: str | None = None,
) -> Ledger:
    one = Ledger(name)
    allocatable = {"cpu": cpu, "pods": pods} | ({"nvidia.com/gpu": gpu} if gpu else {})
    one.node = NodeFacts(
        uid=f"uid-of-{name}",
        labels=labels or {},
        taints=taints,
        unschedulable=unschedulable,
        deleting=deleting,
        allocatable=allocatable,
    )
    one.closed = closed
    return one


class Cluster:
    """Ledgers, classes and the snapshot of them, as the cache keeps them."""

    def __init__(self, ledgers: Sequence[Ledger], *, capacity: int = 1) -> None:
        self.classes = ClassTable()
        self.ledgers = {one.name: one for one in ledgers}
        self.snapshot = Snapshot(self.classes, capacity)
        for one in ledgers:
            self.snapshot.write_row(one)

    def demand(self, *members: tuple[MemberClass, int], need: int | None = None) -> Demand:
        """All of these members, or `need` of them."""
        classes = tuple(ClassDemand(self.classes.acquire(one), count) for one, count in members)
        return Demand(classes, sum(each.count for each in classes) if need is None else need)

    def charge(self, node: str, one: MemberClass, *, uid: str) -> ClassId:
        class_id = self.classes.acquire(one)
        self.ledgers[node].charge(uid, class_id, one)
        self.snapshot.write_row(self.ledgers[node])
        return class_id


class Case(Struct, frozen=True):
    """A drawn cluster with pods on it and a gang that asks for room; plain values, so that they can be put in any order."""

    nodes: tuple[tuple[str, dict[str, object]], ...]
    pods: tuple[tuple[str, MemberClass], ...]
    gang: tuple[tuple[MemberClass, int], ...]
    need: int
    excluded: tuple[tuple[int, str], ...]
    holds: tuple[tuple[str, int], ...]

    def build(self, order: Sequence[int] | None = None) -> tuple[Cluster, Demand]:
        """Make the cluster with its nodes written in this order."""
        cluster = Cluster([])
        for place in range(len(self.nodes)) if order is None else order:
            name, facts = self.nodes[place]
            cluster.ledgers[name] = ledger(name, **facts)  # type: ignore[arg-type] # drawn keywords of ledger()
            cluster.snapshot.write_row(cluster.ledgers[name])
        for number, (node, one) in enumerate(self.pods):
            cluster.charge(node, one, uid=f"pod-{number}")
        demand = cluster.demand(*self.gang, need=self.need)
        ids = [each.class_id for each in demand.classes]
        return cluster, Demand(
            demand.classes,
            demand.need,
            excluded=tuple((ids[place], node) for place, node in self.excluded),
            holds=tuple(Hold(node, ids[place]) for node, place in self.holds),
        )


_classes = st.builds(
    member_class,
    cpu=st.integers(0, 4),
    gpu=st.integers(0, 2),
    selector=st.sampled_from([None, None, {"zone": "a"}]),
    tolerations=st.sampled_from([(), (TOLERATES_HARD,)]),
    ports=st.sampled_from([(), (), (80,), (80, 81)]),
)
_facts = st.fixed_dictionaries(
    {
        "cpu": st.integers(0, 10),
        "gpu": st.integers(0, 4),
        "pods": st.integers(1, 4),
        "labels": st.sampled_from([{"zone": "a"}, {"zone": "a"}, {"zone": "b"}, {}]),
        "taints": st.sampled_from([(), (), (), (SOFT,), (HARD,)]),
        "unschedulable": st.sampled_from([False] * 7 + [True]),
        "deleting": st.sampled_from([False] * 7 + [True]),
        "closed": st.sampled_from([None] * 7 + ["unreadable pod"]),
    }
)


@st.composite
def cases(draw: st.DrawFn, *, plain: bool = False) -> Case:
    """Up to 4 nodes and 5 members in up to 3 classes; `plain` has nothing held and nothing kept apart."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 4)))]
    nodes = tuple((name, draw(_facts)) for name in names)
    pods = tuple(draw(st.lists(st.tuples(st.sampled_from(names), _classes), max_size=2)))
    kinds = draw(st.lists(_classes, min_size=1, max_size=3, unique=True))
    gang = tuple((one, draw(st.integers(1, 5 if len(kinds) == 1 else 2))) for one in kinds)
    places = st.integers(0, len(kinds) - 1)
    return Case(
        nodes=nodes,
        pods=pods,
        gang=gang,
        need=draw(st.integers(1, sum(count for _, count in gang))),
        excluded=() if plain else tuple(draw(st.lists(st.tuples(places, st.sampled_from(names)), max_size=2))),
        holds=() if plain else tuple(draw(st.lists(st.tuples(st.sampled_from(names), places), max_size=2))),
    )

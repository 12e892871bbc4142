"""Table Q: who is tried first. Both pods wait; then a node comes that has room for one of them."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from msgspec import Struct

from gangline.contract.names import POD_GROUP_LABEL
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from tests.conformance.lanes import Lane
from tests.conformance.rows import on_a_cluster_too, row
from tests.support.builders import group, node, pod
from tests.support.manifests import Manifest, priority_class
from tests.support.script import Script

LOW, MID, HIGH = 10, 50, 100
NAMES: Final = {LOW: "row-low", HIGH: "row-high"}
CLASSES: Final = tuple(priority_class(name, value) for value, name in NAMES.items())
"""On a cluster priorities have names."""


def a(priority: int = HIGH, **more: Any) -> Pod:
    return pod("a", priority=priority, **{"namespace": "ns1", **more})


def b(priority: int = HIGH, **more: Any) -> Pod:
    return pod("b", priority=priority, **{"namespace": "ns2", **more})


def pg(name: str, created_s: float = 0, namespace: str = "ns1") -> PodGroup:
    return group(name, 1, namespace=namespace, created_s=created_s)


def first_of(pods: Sequence[Pod], groups: Sequence[PodGroup] = ()) -> str:
    """Who gets the room, whichever of them was seen first."""
    found = set()
    for order in (pods, pods[::-1]):
        script = Script(*groups, *order)
        script.observe(node("n1", cpu=1))
        found.update(script.bound_names)
    (first,) = found
    return first


class Contest(Struct, frozen=True):
    """Two pods, their groups, and which of the two gets the room."""

    first: str
    pods: tuple[Pod, Pod]
    groups: tuple[PodGroup, ...]

    def hold(self) -> None:
        """On the core."""
        assert first_of(self.pods, self.groups) == self.first

    async def play(self, lane: Lane) -> None:
        """On a cluster: what is older is created a second before."""
        things: list[Pod | PodGroup] = sorted([*self.groups, *self.pods], key=_created)
        for _, together in groupby(things, key=_created):
            for thing in together:
                await lane.cluster.create(_manifest(lane, thing), namespace=thing.metadata.namespace)
            await lane.until_later()
        for each in self.pods:
            await lane.cluster.until(
                lambda name=each.metadata.name: any(lane.cluster.reasons(lane.called(name))),  # type: ignore[misc]
                f"{each.metadata.name} of {lane.name} waits",
            )
        (second,) = {one.metadata.name for one in self.pods} - {self.first}
        await lane.room(cpu="1")
        await lane.runs(**{self.first: 1, second: 0})


def _created(thing: Pod | PodGroup) -> datetime:
    assert thing.metadata.creation_timestamp is not None
    return thing.metadata.creation_timestamp


def _manifest(lane: Lane, thing: Pod | PodGroup) -> Manifest:
    if isinstance(thing, PodGroup):
        return lane.group(thing.metadata.name, thing.spec.min_member)
    named = (thing.metadata.labels or {}).get(POD_GROUP_LABEL)
    return lane.pod(thing.metadata.name, named, priority=NAMES[thing.spec.priority or 0])


def contest(id_: str, given: str, first: str, pods: tuple[Pod, Pod], *groups: PodGroup) -> None:
    """Make a row of a contest."""
    one = Contest(first, pods, groups)
    row(id_, given, f"{first.upper()} first")(one.hold)
    on_a_cluster_too(id_)(one.play)


def contest_by_age(id_: str, given: str, with_its_pod: Contest, before_its_pod: Contest) -> None:
    """Make a row of two contests: A's group is older than B, and so is its pod in the first of them alone."""

    def hold() -> None:
        with_its_pod.hold()
        before_its_pod.hold()

    async def play(lane: Lane) -> None:
        await with_its_pod.play(lane)
        await before_its_pod.play(Lane(lane.cluster, f"{lane.name}-late"))

    row(
        id_,
        given,
        "A first, whenever A was created",
        "A first if A was there before B; else B first",
        "A group that was made long before its pods has not waited: it does not pass pods that have.",
    )(hold)
    on_a_cluster_too(id_)(play)


contest("Q1", "A low, no group; B high, no group", "b", (a(LOW), b()))
contest("Q2", "A high; B low", "a", (a(), b(LOW)))
contest("Q3", "both high; A since 1, B since 2", "a", (a(created_s=1), b(created_s=2)))
contest("Q4", "both high; A since 2, B since 1", "b", (a(created_s=2), b(created_s=1)))
contest("Q5", "A low, in pg1; B high, no group", "b", (a(LOW, group="pg1"), b()), pg("pg1"))
contest("Q6", "A high, in pg1; B low, no group", "a", (a(group="pg1"), b(LOW)), pg("pg1"))
contest_by_age(
    "Q7",
    "both high; A in pg1, created at 1; B no group, since 2",
    Contest("a", (a(created_s=1, group="pg1"), b(created_s=2)), (pg("pg1", 1),)),
    Contest("b", (a(created_s=3, group="pg1"), b(created_s=2)), (pg("pg1", 1),)),
)
contest(
    "Q8",
    "both high; A in pg1, created at 2; B no group, since 1",
    "b",
    (a(created_s=2, group="pg1"), b(created_s=1)),
    pg("pg1", 2),
)
contest(
    "Q9",
    "A low, in ns1/pg1 created at 1; B high, in ns2/pg2 created at 2",
    "b",
    (a(LOW, created_s=2, group="pg1"), b(created_s=2, group="pg2")),
    pg("pg1", 1),
    pg("pg2", 2, "ns2"),
)
contest(
    "Q10",
    "A high, in ns1/pg1; B low, names a group that ns2 does not have",
    "a",
    (a(group="pg1"), b(LOW, group="pg1")),
    pg("pg1", 1),
)
contest_by_age(
    "Q11",
    "both high; A in ns1/pg1 created at 1, B in ns2/pg2 created at 2",
    Contest("a", (a(created_s=1, group="pg1"), b(created_s=2, group="pg2")), (pg("pg1", 1), pg("pg2", 2, "ns2"))),
    Contest("b", (a(created_s=3, group="pg1"), b(created_s=2, group="pg2")), (pg("pg1", 1), pg("pg2", 2, "ns2"))),
)
contest(
    "Q12",
    "A low, in pg2 created at 2; B high, in pg1 created at 1",
    "b",
    (a(LOW, created_s=2, group="pg2"), b(created_s=2, group="pg1")),
    pg("pg2", 2),
    pg("pg1", 1, "ns2"),
)


@row(
    "Q15",
    "pg1 is 5 s older than pg2; pg1 fails, and later reaches its quorum",
    "pg1 first; pg2 after pg1 has failed; pg1 again after its quorum",
    "pg1 first; while it does not fit it holds nothing and pg2 gets the room",
    "A gang that does not fit stops nobody, so nobody is moved behind others for having failed, but for a moment where "
    "there is no time to try all.",
)
def failure_does_not_move() -> None:
    older, newer = group("pg1", 2, created_s=0), group("pg2", 1, created_s=5)
    members = [pod(f"pg1-{number}", group="pg1") for number in range(2)]
    script = Script(older, newer, *members, node("n1", cpu=1))
    assert script.binds == []
    script.observe(pod("pg2-0", group="pg2", created_s=5))
    assert script.bound_names == ["pg2-0"]

    script = Script(older, newer, *members, pod("pg2-0", group="pg2", created_s=5))
    script.observe(node("n1", cpu=2))
    assert script.bound_names == ["pg1-0", "pg1-1"]


@row(
    "Q17",
    "members of one group with high and low priority, and another group between them",
    "the group is split in the queue",
    "one priority, the lowest, and a warning",
    "A gang is one entry in the backlog.",
)
def mixed_priorities() -> None:
    mixed = [pod("mixed-high", group="mixed", priority=HIGH), pod("mixed-low", group="mixed", priority=LOW)]
    between = [pod(f"mid-{number}", group="mid", priority=MID) for number in range(2)]
    script = Script(group("mixed", 2), group("mid", 2), *mixed, *between)
    warned = script.announced
    script.observe(node("n1", cpu=3))
    assert script.bound_names == ["mid-0", "mid-1"]
    assert ("PodGroup", "mixed", "MixedPriorities") in [*warned, *script.announced]

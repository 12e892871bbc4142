"""Table Q: who is tried first. Both pods wait; then a node comes that has room for one of them."""

from collections.abc import Sequence
from typing import Any

from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from tests.conformance.rows import row
from tests.support.builders import group, node, pod
from tests.support.script import Script

LOW, MID, HIGH = 10, 50, 100


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


def expect(first: str, pods: Sequence[Pod], *groups: PodGroup) -> None:
    assert first_of(pods, groups) == first


@row("Q1", "A low, no group; B high, no group", "B first")
def higher() -> None:
    expect("b", [a(LOW), b()])


@row("Q2", "A high; B low", "A first")
def lower() -> None:
    expect("a", [a(), b(LOW)])


@row("Q3", "both high; A since 1, B since 2", "A first")
def earlier() -> None:
    expect("a", [a(created_s=1), b(created_s=2)])


@row("Q4", "both high; A since 2, B since 1", "B first")
def later() -> None:
    expect("b", [a(created_s=2), b(created_s=1)])


@row("Q5", "A low, in pg1; B high, no group", "B first")
def low_member() -> None:
    expect("b", [a(LOW, group="pg1"), b()], pg("pg1"))


@row("Q6", "A high, in pg1; B low, no group", "A first")
def high_member() -> None:
    expect("a", [a(group="pg1"), b(LOW)], pg("pg1"))


@row("Q7", "both high; A in pg1, created at 1; B no group, since 2", "A first")
def earlier_group() -> None:
    expect("a", [a(group="pg1"), b(created_s=2)], pg("pg1", 1))


@row("Q8", "both high; A in pg1, created at 2; B no group, since 1", "B first")
def later_group() -> None:
    expect("b", [a(group="pg1"), b(created_s=1)], pg("pg1", 2))


@row("Q9", "A low, in ns1/pg1 created at 1; B high, in ns2/pg2 created at 2", "B first")
def priority_beats_time() -> None:
    expect("b", [a(LOW, group="pg1"), b(group="pg2")], pg("pg1", 1), pg("pg2", 2, "ns2"))


@row("Q10", "A high, in ns1/pg1; B low, names a group that ns2 does not have", "A first")
def group_of_another_namespace() -> None:
    expect("a", [a(group="pg1"), b(LOW, group="pg1")], pg("pg1", 1))


@row("Q11", "both high; A in ns1/pg1 created at 1, B in ns2/pg2 created at 2", "A first")
def earlier_of_two_groups() -> None:
    expect("a", [a(group="pg1"), b(group="pg2")], pg("pg1", 1), pg("pg2", 2, "ns2"))


@row("Q12", "A low, in pg2 created at 2; B high, in pg1 created at 1", "B first")
def both_against_a() -> None:
    expect("b", [a(LOW, group="pg2"), b(group="pg1")], pg("pg2", 2), pg("pg1", 1, "ns2"))


@row(
    "Q15",
    "pg1 is 5 s older than pg2; pg1 fails, and later reaches its quorum",
    "pg1 first; pg2 after pg1 has failed; pg1 again after its quorum",
    "pg1 first, always; while it does not fit it holds nothing and pg2 gets the room",
    "A gang that does not fit stops nobody, so nobody needs to be moved behind others for having failed.",
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

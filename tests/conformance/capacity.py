"""Table R: is there enough in the cluster for minResources? Nodes a and b have 3 CPU each; the group asks for 4."""

from gangline.contract.pod import Pod
from tests.conformance.rows import row
from tests.support.builders import group, node, pod
from tests.support.script import Script

NODES = (node("a", cpu=3), node("b", cpu=3))
GROUP = group("pg1", 1, min_resources={"cpu": 4})
MEMBER = pod("pg1-0", group="pg1", cpu="100m")


def used(name: str, on: str, cpu: int, **more: str) -> Pod:
    return pod(name, node=on, cpu=cpu, phase="Running", **more)  # type: ignore[arg-type]  # only names are given


@row("R1", "another pod takes 2 on a: 1 and 3 are free", "enough")
def enough() -> None:
    assert Script(*NODES, GROUP, used("other", "a", 2), MEMBER).bound_names == ["pg1-0"]


@row("R2", "others take 2 on a and 1 on b: 1 and 2 are free", "not enough")
def not_enough() -> None:
    script = Script(*NODES, GROUP, used("one", "a", 2), used("two", "b", 1), MEMBER)
    assert script.binds == []
    assert "minResources" in script.conditions["pg1-0"][1]


@row("R3", "the group's own pod takes 2 on a, another 1 on b: counts as 3 and 2", "enough")
def own_pods_are_not_in_the_way() -> None:
    asked = group("pg1", 2, min_resources={"cpu": 4})
    script = Script(*NODES, asked, used("pg1-1", "a", 2, group="pg1"), used("other", "b", 1), MEMBER)
    assert script.bound_names == ["pg1-0"]


@row(
    "R4",
    "4 free on a, and b is over-committed by 1",
    "depends on the order of nodes",
    "enough, in any order: a node that is over-committed has nothing free",
    "The same cluster gives the same answer.",
)
def over_committed() -> None:
    for order in (("a", "b"), ("b", "a")):
        room = {"a": 4, "b": 3}
        script = Script(*(node(name, cpu=room[name]) for name in order), GROUP, used("other", "b", 4), MEMBER)
        assert script.bound_names == ["pg1-0"]

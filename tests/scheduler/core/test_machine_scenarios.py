"""Coscheduling's integration scenarios, by their numbers there, and defects that others have had."""

from collections import Counter

import pytest

from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from scheduler.core.events import Refusal
from tests.support.builders import group, job_pod, node, pod
from tests.support.script import Script, Watched, bound_results, kinds_synced, observed, refused

MID, HIGH = 100, 1000
NODE = node("n1", cpu=0, memory=300, pods=32)


def gang(name: str, count: int, memory: int, priority: int = MID) -> list[Pod]:
    names = [f"{name}-{number}" for number in range(count)]
    return [pod(one, group=name, cpu=None, memory=memory, priority=priority) for one in names]


def plain(count: int, memory: int, priority: int = MID) -> list[Pod]:
    return [pod(f"plain-{number}", cpu=None, memory=memory, priority=priority) for number in range(count)]


def least(memory: int) -> dict[str, str | int | float]:
    return {"memory": memory}


def carried_out(script: Script) -> set[str]:
    """Answer every bind until no more are ordered; names of all that were bound."""
    names: set[str] = set()
    while script.binds:
        names.update(script.bound_names)
        script.tell(*bound_results(script.binds))
    counts = Counter(name.split("-")[0] for name in names)
    return {f"{gang_name}:{count}" for gang_name, count in counts.items()}


@pytest.mark.parametrize(
    ("groups", "pods", "bound"),
    [
        ([group("g1", 3), group("g2", 4)], [*gang("g1", 3, 50), *gang("g2", 4, 100)], {"g1:3"}),
        ([group("g1", 4)], [*gang("g1", 3, 50), *plain(2, 100)], {"plain:2"}),
        ([group("g1", 3), group("g2", 3)], [*gang("g1", 3, 100), *gang("g2", 3, 50, HIGH)], {"g2:3"}),
        ([group("g1", 3)], [*gang("g1", 3, 50), *plain(3, 100, HIGH)], {"plain:3"}),
        (
            [group(f"g{n}", 3, min_resources=least(amount)) for n, amount in ((1, 150), (2, 400), (3, 400))],
            [*gang("g1", 3, 50), *gang("g2", 3, 130), *gang("g3", 3, 130)],
            {"g1:3"},
        ),
        (
            [group("g1", 3, min_resources=least(150)), group("g2", 4, min_resources=least(400))],
            [*gang("g1", 3, 50), *gang("g2", 4, 100)],
            {"g1:3"},
        ),
    ],
    ids=["D1", "D3", "D4", "D6", "D8", "D9"],
)
def test_scenarios_on_one_node(groups: list[PodGroup], pods: list[Pod], bound: set[str]) -> None:
    script = Script(*groups, *pods)
    script.observe(NODE)

    assert carried_out(script) == bound


def test_d10_a_gang_that_can_never_fit_does_not_keep_a_later_one_out() -> None:
    nodes = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate((6, 2, 2, 2))]
    big = [pod(f"g1-{number}", group="g1", cpu=4) for number in range(6)]
    script = Script(*nodes, group("g1", 6), *big, group("g2", 1), pod("g2-0", group="g2", cpu=2))

    assert script.bound_names == ["g2-0"]


def three_cpu_pods(count: int) -> list[Pod]:
    return [pod(f"p-{number}", group="g", cpu=3, memory="500Mi") for number in range(count)]


ROOM_FOR_THREE: list[Node] = [node(f"n{number}", cpu=4, memory="2Gi") for number in range(3)]


@pytest.mark.parametrize(("min_member", "bound"), [(3, 3), (4, 0)], ids=["D12", "D13"])
def test_room_for_three_of_six(min_member: int, bound: int) -> None:
    script = Script(*ROOM_FOR_THREE, group("g", min_member), *three_cpu_pods(6))

    assert len(script.binds) == bound


def test_d14_a_gang_that_grows_to_its_quorum_starts() -> None:
    script = Script(*ROOM_FOR_THREE, group("g", 3), *three_cpu_pods(2))
    assert script.binds == []

    script.observe(*three_cpu_pods(3)[2:], after_s=600)

    assert len(script.binds) == 3


def test_d17_the_last_wave_of_a_job_is_admitted() -> None:
    done = [job_pod(f"w-{n}", "j", group="g", phase="Succeeded", node="n0", finished_s=9) for n in range(6)]
    script = Script(*ROOM_FOR_THREE, group("g", 3), *done, job_pod("w-6", "j", group="g", created_s=9))

    assert script.bound_names == ["w-6"]


def test_d23_a_gang_of_two_never_starts_with_one() -> None:
    nodes = [node(f"n{number}", pods=1) for number in range(2)]
    script = Script(*nodes, pod("plain", node="n0"), group("g", 2), *[pod(f"g-{n}", group="g") for n in range(2)])
    assert script.binds == []

    script.remove(pod("plain", node="n0"))

    assert len(script.binds) == 2


def test_d29_a_deleted_member_that_is_made_again_runs_again() -> None:
    running = [pod(f"g-{n}", group="g", node="n1") for n in range(3)]
    script = Script(node("n1", cpu=3), group("g", 3), *running)
    script.remove(running[0])

    script.observe(pod("g-3", group="g", created_s=60))

    assert script.bound_names == ["g-3"]


def test_a_bind_that_fails_in_the_middle_of_a_gang_is_repaired_and_nothing_is_taken_back() -> None:
    script = Script(
        *[node(f"n{n}", cpu=1) for n in range(5)], group("g", 4), *[pod(f"g-{n}", group="g") for n in range(4)]
    )
    *done, failed = script.binds
    script.tell(*bound_results(done), refused(failed, Refusal.FORBIDDEN))

    script.observe(pod("other", created_s=500), after_s=2)

    assert failed.name in script.bound_names


def test_a_gang_at_the_head_that_can_never_fit_stops_nobody_and_is_not_tried_over_and_over() -> None:
    head = [pod(f"head-{n}", group="head", cpu=100, priority=HIGH) for n in range(2)]
    script = Script(node("n1", cpu=50), group("head", 2), *head)
    tries = 0
    for number in range(20):
        script.observe(pod(f"small-{number}", created_s=number), after_s=1)
        assert script.bound_names == [f"small-{number}"]
        tries += sum(not decision.placed for decision in script.step.decisions)

    assert tries == 0


def test_a_cold_start_with_many_waiting_gangs_decides_each_once() -> None:
    things: list[Watched] = [node("n1", cpu=0, pods=0)]
    for number in range(200):
        things += [group(f"g{number}", 2), *[pod(f"g{number}-{n}", group=f"g{number}") for n in range(2)]]
    script = Script(synced=False)
    script.tell(*(observed(thing) for thing in things))

    script.tell(*kinds_synced())

    assert len(script.step.decisions) == 200

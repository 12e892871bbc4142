"""What waiting pods say, and when it is written."""

import pytest

from gangline.contract.pod import Pod
from scheduler.core.events import ConditionOutcome
from scheduler.core.instructions import WriteCondition
from tests.support.builders import group, node, owner, pod
from tests.support.script import Script, bound_results


def members(count: int, *, first: int = 0, said: tuple[str, str] | None = None, version: str = "50") -> list[Pod]:
    numbers = range(first, first + count)
    return [pod(f"g-{number}", group="g", said=said, version=version) for number in numbers]


def writes(script: Script) -> list[WriteCondition]:
    return [order for order in script.step.instructions if isinstance(order, WriteCondition)]


def test_all_waiting_members_say_the_same_in_one_burst() -> None:
    script = Script(node("n1", cpu=6), group("g", 10), *members(10))

    assert len(set(script.conditions.values())) == 1
    reason, message = script.conditions["g-0"]
    assert reason == "Unschedulable"
    assert message.startswith("0/1 nodes are available: 1 Insufficient cpu")
    assert "6 of 10 members fit; 4 more need 1 cpu each" in message


def test_a_write_names_the_version_and_generation_it_is_for() -> None:
    script = Script(pod("p", version="77", generation=3))

    (write,) = writes(script)
    assert (write.resource_version, write.observed_generation, write.transition) == ("77", 3, True)


def test_a_pod_that_says_something_already_makes_no_transition() -> None:
    script = Script(pod("p", said=("SchedulingGated", "gone by now")))

    (write,) = writes(script)
    assert not write.transition


def test_incomplete_is_said_only_after_it_has_lasted() -> None:
    script = Script(node("n1"), group("g", 3), *members(2))
    script.wait(1.9)
    assert script.conditions == {}

    script.wait(0.2)

    assert script.conditions == dict.fromkeys(
        ("g-0", "g-1"),
        ("GangIncomplete", "gang team/g: 2 of 3 members that must start together are here; waiting for 1 more"),
    )
    assert script.announced[0] == ("PodGroup", "g", "GangIncomplete")


def test_incomplete_for_a_moment_is_never_said() -> None:
    script = Script(node("n1"), group("g", 3), *members(2))
    script.observe(*members(1, first=2), after_s=1)
    assert len(script.binds) == 3

    script.wait(60)

    assert script.conditions == {}


def test_a_missing_group_is_named_after_it_has_lasted() -> None:
    script = Script(node("n1"), *members(1))
    assert script.conditions == {}

    script.wait(2)

    reason, message = script.conditions["g-0"]
    assert reason == "PodGroupNotFound"
    assert "team/g" in message
    assert script.announced == [("Pod", "g-0", "PodGroupNotFound")]


def test_a_group_that_cannot_be_read_says_why() -> None:
    script = Script(node("n1"), group("g", 1, min_resources={"cpu": "lots"}), *members(1))

    assert script.reasons == {"g-0": "PodGroupInvalid"}
    assert "'lots'" in script.conditions["g-0"][1]


def test_two_names_are_an_invalid_link() -> None:
    confused = pod("p", group="a", annotations={"scheduling.k8s.io/group-name": "b"})

    assert Script(node("n1"), confused).reasons == {"p": "InvalidGangLink"}


def test_members_of_another_scheduler_are_named() -> None:
    other = pod("g-9", group="g", scheduler="other")
    script = Script(node("n1"), group("g", 2), *members(1), other)
    script.wait(2)

    assert script.reasons == {"g-0": "SchedulerMismatch"}
    assert "1 name another scheduler" in script.conditions["g-0"][1]


@pytest.mark.parametrize(
    ("kind", "cure"), [("StatefulSet", "podManagementPolicy: Parallel"), ("Job", "parallelism")], ids=str
)
def test_after_a_while_the_owner_is_told_what_to_change(kind: str, cure: str) -> None:
    script = Script(group("g", 3), pod("g-0", group="g", owned_by=owner(kind, "mine")))
    script.wait(2)
    assert cure not in script.conditions["g-0"][1]
    script.write_conditions()

    while not script.conditions:
        script.wait(1)

    assert 1000 + 30 <= script.now < 1000 + 40
    assert kind in script.conditions["g-0"][1]
    assert cure in script.conditions["g-0"][1]
    assert script.announced == []


def test_nothing_is_written_while_a_write_is_on_its_way() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2))
    assert len(writes(script)) == 1

    script.observe(pod("p", cpu=2, version="9", labels={"a": "b"}))

    assert writes(script) == []


def test_nothing_is_written_again_once_it_is_written() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2, version="9"))
    said = script.conditions["p"]
    script.write_conditions()
    assert writes(script) == []

    script.observe(pod("p", cpu=2, version="9"))
    assert writes(script) == []
    script.observe(pod("p", cpu=2, version="10", said=said))
    script.wait(1000)

    assert writes(script) == []


def test_a_condition_that_another_has_overwritten_is_written_again_but_not_in_a_fight() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2, version="9"))
    script.write_conditions()
    script.observe(pod("p", cpu=2, version="10", said=("Other", "words")))
    assert writes(script) == []

    script.wait(30)

    assert len(writes(script)) == 1


def test_numbers_alone_are_written_every_30_seconds_at_most() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=9))
    script.write_conditions()
    for number in range(2, 8):
        script.observe(node(f"n{number}", cpu=1), after_s=1)
        assert writes(script) == []

    script.wait(24)

    assert script.conditions["p"][1].startswith("0/7 nodes")
    assert script.announced == []


def test_a_change_of_reason_is_written_at_once_and_announced_once_on_the_group_and_once_on_each_pod() -> None:
    script = Script(node("n1", cpu=2), group("g", 3), *members(3))
    failed = [("PodGroup", "g"), ("Pod", "g-0"), ("Pod", "g-1"), ("Pod", "g-2")]
    assert script.announced == [(*about, "FailedScheduling") for about in failed]
    script.write_conditions()
    script.remove(*members(1, first=2), after_s=3)

    script.wait(2)

    assert script.reasons == {"g-0": "GangIncomplete", "g-1": "GangIncomplete"}
    assert script.announced == [(*about, "GangIncomplete") for about in failed[:3]]


def test_a_member_that_comes_later_says_what_the_others_say() -> None:
    script = Script(node("n1", cpu=2), group("g", 3), *members(3))
    before = script.conditions["g-0"]
    script.write_conditions()

    script.observe(*members(1, first=3), after_s=1)

    assert script.conditions == {"g-3": before}


def test_after_a_restart_nothing_is_written_and_nothing_announced_if_nothing_has_changed() -> None:
    first = Script(node("n1", cpu=2), group("g", 3), *members(3))
    said = first.conditions["g-0"]

    again = Script(node("n1", cpu=2), group("g", 3), *members(3, said=said))
    assert (again.conditions, again.announced) == ({}, [])
    again.wait(1000)

    assert (again.conditions, again.announced) == ({}, [])


def test_after_a_restart_the_cure_goes_on_being_said() -> None:
    waiting = pod("g-0", group="g", owned_by=owner("StatefulSet", "web"))
    first = Script(group("g", 3), waiting)
    first.wait(2)
    first.write_conditions()
    first.wait(30)
    said = first.conditions["g-0"]

    again = Script(group("g", 3), pod("g-0", group="g", owned_by=owner("StatefulSet", "web"), said=said))
    again.wait(100)

    assert again.conditions == {}


@pytest.mark.parametrize(
    "quiet",
    [
        pod("g-9", group="g", gated=True),
        pod("g-9", group="g", deleting=True),
        pod("g-9", group="g", node="n9"),
        pod("g-9", group="g", scheduler="other"),
        pod("g-9", group="g", phase="Succeeded", finished_s=1),
    ],
    ids=["gated", "deleting", "bound", "another scheduler's", "finished"],
)
def test_nothing_is_ever_written_to_others(quiet: Pod) -> None:
    script = Script(node("n1", cpu=1), group("g", 4), *members(2), quiet)
    script.wait(60)

    assert "g-9" not in script.conditions


def test_nothing_is_written_to_a_pod_that_is_being_bound() -> None:
    script = Script(node("n1", cpu=2), group("g", 2), *members(2))
    script.observe(*[pod(f"g-{n}", group="g", version="60", labels={"x": "y"}) for n in range(2)])
    script.wait(1000)

    assert script.conditions == {}


def test_a_conflict_is_tried_again_with_the_next_version_at_once() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2, version="9"))
    script.write_conditions(ConditionOutcome.CONFLICT)
    assert writes(script) == []

    script.observe(pod("p", cpu=2, version="10"))

    assert [write.resource_version for write in writes(script)] == ["10"]


def test_a_conflict_that_no_next_version_explains_is_tried_again_in_time() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2, version="9"))
    script.write_conditions(ConditionOutcome.CONFLICT)
    assert script.step.wake_at is not None

    script.wait(script.step.wake_at - script.now)

    assert [write.resource_version for write in writes(script)] == ["9"]


def test_a_conflict_with_a_version_that_came_meanwhile_is_tried_again_at_once() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2, version="9"))
    (write,) = writes(script)
    script.observe(pod("p", cpu=2, version="10"))
    script.step = script.step.__class__((write,), more=False, wake_at=None, decisions=())

    script.write_conditions(ConditionOutcome.CONFLICT)

    assert [again.resource_version for again in writes(script)] == ["10"]


def test_a_failed_write_is_tried_again_later_and_later() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2))
    gaps = []
    for _ in range(5):
        started = script.now
        script.write_conditions(ConditionOutcome.FAILED)
        while not writes(script):
            script.wait(1)
        gaps.append(script.now - started)

    assert gaps == sorted(gaps)
    assert gaps[-1] > 4 * gaps[0]


def test_a_write_dropped_for_a_bind_is_made_again_when_the_bind_comes_to_nothing() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2))
    said = script.conditions
    script.write_conditions(ConditionOutcome.DROPPED)

    assert script.conditions == said


def test_a_bound_pod_takes_its_words_back_and_a_repair_says_its_own() -> None:
    script = Script(node("n1", cpu=2), group("g", 2), *members(3))
    script.tell(*bound_results(script.binds))

    assert script.reasons == {"g-2": "Unschedulable"}
    assert "has its quorum" in script.conditions["g-2"][1]


def test_members_that_fit_alone_but_not_together_say_that_nobody_buys_nodes_for_them() -> None:
    script = Script(node("n1", cpu=4), group("g", 2), *[pod(f"g-{n}", group="g", cpu=3) for n in range(2)])

    assert "1 of 2 members fit; 1 more needs 3 cpu" in script.conditions["g-0"][1]

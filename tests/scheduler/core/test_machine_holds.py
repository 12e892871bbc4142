"""The room of a lost member is held for its gang's repair."""

import pytest

from gangline.contract.pod import Pod
from scheduler.core.events import Refusal, RowBudgetGiven
from tests.support.builders import group, node, pod
from tests.support.script import Script, bound_results, observed, refused


def running(count: int, on: str = "n1") -> list[Pod]:
    return [pod(f"g-{number}", group="g", node=on, phase="Running") for number in range(count)]


def gang_that_lost_one(*, rest: int = 2) -> Script:
    """A gang of three on a full node, of which the first member has just gone."""
    script = Script(node("n1", cpu=3), group("g", 3), *running(3))
    script.remove(*running(3 - rest))
    return script


@pytest.mark.parametrize("priority", [0, -1], ids=["equal", "lower"])
def test_equal_and_lower_priority_do_not_get_the_room_of_a_lost_member(priority: int) -> None:
    script = gang_that_lost_one()

    script.observe(pod("other", priority=priority))

    assert script.binds == []
    assert script.reasons == {"other": "HeldForGang"}
    assert "team/g" in script.conditions["other"][1]


def test_the_replacement_gets_the_room() -> None:
    script = gang_that_lost_one()
    script.observe(pod("other"))

    script.observe(pod("g-9", group="g", created_s=100))

    assert script.bound_names == ["g-9"]
    script.tell(*bound_results(script.binds))
    assert script.binds == []


def test_higher_priority_ignores_holds() -> None:
    script = gang_that_lost_one()

    script.observe(pod("other", priority=1))

    assert script.bound_names == ["other"]


def test_a_hold_ends_after_30_seconds_and_whoever_waited_gets_the_room() -> None:
    script = gang_that_lost_one()
    script.observe(pod("other"))
    script.wait(29)
    assert script.binds == []

    script.wait(1)

    assert script.bound_names == ["other"]


def test_nothing_is_held_for_a_member_that_has_succeeded() -> None:
    script = Script(node("n1", cpu=3), group("g", 3), *running(3))
    script.observe(pod("g-0", group="g", node="n1", phase="Succeeded", finished_s=5, version="2"))

    script.observe(pod("other"))

    assert script.bound_names == ["other"]


def test_room_is_held_for_a_member_that_has_failed() -> None:
    script = Script(node("n1", cpu=3), group("g", 3), *running(3))
    script.observe(pod("g-0", group="g", node="n1", phase="Failed", finished_s=5, version="2"))

    script.observe(pod("other"))

    assert script.binds == []


def test_a_deleted_pod_that_ends_well_is_lost_all_the_same() -> None:
    script = Script(node("n1", cpu=3), group("g", 3), *running(3))
    script.observe(pod("g-0", group="g", node="n1", phase="Running", deleting=True, version="2"))
    script.observe(pod("g-0", group="g", node="n1", phase="Succeeded", deleting=True, finished_s=5, version="3"))

    script.observe(pod("other"))

    assert script.binds == []


def test_nothing_is_held_while_the_quorum_stands() -> None:
    script = Script(node("n1", cpu=3), group("g", 2), *running(3))
    script.remove(*running(1))

    script.observe(pod("other"))

    assert script.bound_names == ["other"]


def test_nothing_is_held_for_a_gang_that_is_gone_altogether() -> None:
    script = gang_that_lost_one(rest=0)

    script.observe(*[pod(f"other-{n}") for n in range(3)])

    assert len(script.binds) == 3


def test_a_quorum_lowered_by_its_owner_frees_what_was_held() -> None:
    script = gang_that_lost_one()
    script.observe(pod("other"))

    script.observe(group("g", 2, version="101"))

    assert script.bound_names == ["other"]


def test_no_more_is_held_than_members_are_missing() -> None:
    script = Script(node("n1", cpu=4), group("g", 3), *running(4))
    script.remove(*running(2))

    script.observe(pod("one"), pod("two"))

    assert len(script.binds) == 1


def test_room_is_held_for_a_member_that_was_lost_while_it_was_being_bound() -> None:
    script = Script(node("n1", cpu=3), group("g", 3), *[pod(f"g-{number}", group="g") for number in range(3)])
    lost, *rest = script.binds
    script.tell(*bound_results(rest), refused(lost, Refusal.LOST))

    script.observe(pod("other"))
    assert script.reasons == {"other": "HeldForGang"}
    script.observe(pod("g-9", group="g"))

    assert script.bound_names == ["g-9"]


@pytest.mark.parametrize(("lost", "decided"), [(0, 3), (10, 2)], ids=["nothing held", "rooms held"])
def test_what_is_held_for_others_counts_against_the_budget_of_a_step(lost: int, decided: int) -> None:
    members = [pod(f"g-{number}", group="g", node="n1", phase="Running") for number in range(20)]
    script = Script(node("n1", cpu=20), group("g", 20), *members)
    script.remove(*members[:lost])

    others = [observed(pod(f"other-{number}", cpu=30 + number)) for number in range(3)]
    step = script.scheduler.handle([RowBudgetGiven(rows=1100), *others], script.now)

    assert len(step.decisions) == decided


def test_of_many_gangs_for_which_room_is_held_a_few_are_named() -> None:
    names = [f"g{number}" for number in range(9)]
    groups = [group(name, 2) for name in names]
    members = [pod(f"{name}-{n}", group=name, node=f"n{n}", phase="Running") for name in names for n in (0, 1)]
    script = Script(node("n0", cpu=9), node("n1", cpu=9), *groups, *members)
    script.remove(*members[::2])

    script.observe(pod("other"))

    _, message = script.conditions["other"]
    assert "Room is held for the repair of team/g0, team/g1, team/g2, team/g3 and 5 other gangs." in message

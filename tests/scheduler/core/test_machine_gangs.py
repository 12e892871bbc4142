"""The gang rule, order and membership, as the machine applies them."""

import pytest

from gangline.contract.pod import Pod
from scheduler.core.events import Event, PodObserved, RowBudgetGiven
from scheduler.core.instructions import BindGang
from tests.support.builders import budget, group, job_pod, node, owner, pod, priority_class
from tests.support.script import Script, bound_results, observed


def members(name: str, count: int, *, first: int = 0, cpu: int = 1, **fields: object) -> list[Pod]:
    numbers = range(first, first + count)
    return [pod(f"{name}-{number}", group=name, cpu=cpu, **fields) for number in numbers]  # type: ignore[arg-type]


def running(name: str, count: int, on: str, *, first: int = 0, cpu: int = 1) -> list[Pod]:
    return members(name, count, first=first, cpu=cpu, node=on, phase="Running")


def test_a_gang_waits_until_all_members_are_there() -> None:
    script = Script(node("n1"), group("g", 3), *members("g", 2))
    assert script.binds == []

    script.observe(*members("g", 1, first=2))

    assert script.bound_names == ["g-0", "g-1", "g-2"]


def test_a_group_may_come_after_its_pods() -> None:
    script = Script(node("n1"), *members("g", 2))
    assert script.binds == []

    script.observe(group("g", 2))

    assert script.bound_names == ["g-0", "g-1"]


def test_a_group_that_goes_stops_its_waiting_pods() -> None:
    script = Script(node("n1", cpu=1), group("g", 2), *members("g", 2))

    script.remove(group("g", 2))
    script.observe(node("n1", cpu=4))

    assert script.binds == []


def test_min_member_absent_means_one() -> None:
    script = Script(node("n1", cpu=2), group("g"), *members("g", 3))
    (first,) = script.binds

    script.tell(*bound_results([first]))

    assert len(script.binds) == 1


@pytest.mark.parametrize(
    ("before", "after", "bound"), [(3, 2, 2), (2, 3, 0)], ids=["lowered: it starts", "raised: it waits for more room"]
)
def test_min_member_is_edited(before: int, after: int, bound: int) -> None:
    script = Script(group("g", before), *members("g", 3))
    script.observe(group("g", after, version="101"))

    script.observe(node("n1", cpu=2))

    assert len(script.binds) == bound


def test_min_member_raised_on_a_running_gang_makes_a_repair_and_evicts_nobody() -> None:
    script = Script(node("n1", cpu=3), group("g", 3), *running("g", 3, "n1"), *members("g", 3, first=3))
    script.write_conditions()

    script.observe(group("g", 4, version="101"), after_s=60)

    assert script.binds == []
    reason, message = script.conditions["g-3"]
    assert reason == "Unschedulable"
    assert "needs 1 cpu" in message


def test_gated_members_do_not_count_until_their_gate_opens() -> None:
    script = Script(node("n1"), group("g", 2), *members("g", 1), pod("g-1", group="g", gated=True))
    assert script.binds == []

    script.observe(pod("g-1", group="g", version="2"))

    assert script.bound_names == ["g-0", "g-1"]


def test_deleting_members_do_not_count() -> None:
    script = Script(node("n1"), group("g", 2), *members("g", 1), pod("g-1", group="g", node="n1", deleting=True))

    assert script.binds == []


def test_a_relabelled_pod_leaves_one_gang_and_joins_another() -> None:
    script = Script(node("n1"), group("a", 2), group("b", 2), pod("a-0", group="a"), pod("b-0", group="b"))
    assert script.binds == []

    script.observe(pod("a-0", group="b", version="2"))

    assert script.bound_names == ["a-0", "b-0"]


def test_groups_of_the_same_name_in_two_namespaces_are_two() -> None:
    script = Script(
        node("n1"),
        group("g", 2, namespace="one"),
        group("g", 2, namespace="two", uid="other"),
        pod("p", group="g", namespace="one", uid="1"),
        pod("p", group="g", namespace="two", uid="2"),
    )

    assert script.binds == []


def test_a_job_in_waves_is_never_refused_its_last_pod() -> None:
    done = [job_pod(f"w-{n}", "j", group="g", node="n1", phase="Succeeded", finished_s=50) for n in range(6)]
    script = Script(node("n1"), group("g", 3), *done, job_pod("w-6", "j", group="g", created_s=60))

    assert script.bound_names == ["w-6"]


def test_pods_of_an_earlier_run_do_not_open_the_gang() -> None:
    done = [job_pod(f"w-{n}", "monday", group="g", node="n1", phase="Succeeded", finished_s=50) for n in range(3)]
    script = Script(node("n1"), group("g", 3), *done, job_pod("w-9", "tuesday", group="g", created_s=100))

    assert script.binds == []


def test_failed_members_do_not_count_towards_the_quorum() -> None:
    failed = job_pod("w-0", "j", group="g", node="n1", phase="Failed", finished_s=50)
    script = Script(node("n1"), group("g", 2), failed, job_pod("w-1", "j", group="g", created_s=60))

    assert script.binds == []


def test_a_started_gang_is_repaired_without_waiting_for_more_siblings() -> None:
    script = Script(node("n1", cpu=8), group("g", 5), *running("g", 2, "n1"), *members("g", 1, first=2))

    assert script.bound_names == ["g-2"]


def test_surplus_members_are_placed_as_far_as_there_is_room() -> None:
    script = Script(node("n1", cpu=5), group("g", 2), *running("g", 2, "n1"), *members("g", 6, first=2))

    assert len(script.binds) == 3


def test_surplus_waits_until_the_quorum_has_started() -> None:
    script = Script(node("n1", cpu=8), group("g", 2), *members("g", 4))
    assert len(script.binds) == 2

    script.tell(*bound_results(script.binds[:1]))

    assert len(script.binds) == 2


def test_a_quorum_whose_bound_member_is_deleted_at_once_starts_again_as_a_whole() -> None:
    script = Script(node("n1", cpu=2), group("g", 2), *running("g", 2, "n1"))
    script.observe(*[pod(f"g-{n}", group="g", node="n1", deleting=True, version="2") for n in range(2)])
    script.observe(*members("g", 1, first=2))
    script.remove(*running("g", 2, "n1"))
    assert script.binds == []

    script.observe(*members("g", 1, first=3))

    assert script.bound_names == ["g-2", "g-3"]


def test_min_resources_must_be_free_before_a_gang_starts() -> None:
    script = Script(node("n1", cpu=4), group("g", 2, min_resources={"cpu": 5}), *members("g", 2))
    assert script.binds == []
    assert "minResources" in script.conditions["g-0"][1]

    script.observe(node("n2", cpu=1))

    assert script.bound_names == ["g-0", "g-1"]


def test_what_a_drained_node_still_holds_of_the_gang_does_not_reach_its_min_resources() -> None:
    leaving = [pod(f"g-old-{n}", group="g", cpu=2, node="n1", phase="Running", deleting=True) for n in range(2)]
    drained = node("n1", unschedulable=True)
    script = Script(drained, node("n2", cpu=3), group("g", 2, min_resources={"cpu": 4}), *leaving, *members("g", 2))
    assert script.binds == []
    assert "minResources asks for 4 cpu, usable nodes have 3 cpu free." in script.conditions["g-0"][1]

    script.observe(node("n1"))

    assert script.bound_names == ["g-0", "g-1"]


def test_min_resources_do_not_stop_a_gang_that_has_started() -> None:
    asked = group("g", 2, min_resources={"cpu": 50})
    script = Script(node("n1", cpu=4), asked, *running("g", 1, "n1"), *members("g", 1, first=1))

    assert script.bound_names == ["g-1"]


def test_shadow_members_of_one_owner_start_together() -> None:
    both = [pod(f"s-{n}", shadow=2, owned_by=owner("Job", "s")) for n in range(2)]
    script = Script(node("n1"), both[0])
    assert script.binds == []

    script.observe(both[1])

    assert script.bound_names == ["s-0", "s-1"]


def test_the_newest_pod_of_a_rolling_update_says_how_many() -> None:
    def replica(name: str, template: str, claim: int, created_s: float) -> Pod:
        return pod(
            name,
            shadow=claim,
            created_s=created_s,
            labels={"pod-template-hash": template},
            owned_by=owner("ReplicaSet", f"web-{template}"),
        )

    script = Script(node("n1"), replica("old", "aa", 5, 10))
    assert script.binds == []

    script.observe(replica("new", "bb", 2, 20))

    assert script.bound_names == ["new", "old"]


BUDGETS = {"budgets_form_gangs": True}


def test_a_budget_forms_a_gang_only_behind_its_setting() -> None:
    owned = [
        pod(f"b-{n}", labels={"app": "b"}, owned_by=owner("ReplicaSet", "b")) for n in range(2)
    ]  # two pods of one owner
    forms = budget("b", min_available=3, match_labels={"app": "b"})

    assert Script(node("n1"), forms, *owned, settings=BUDGETS).binds == []
    assert Script(node("n1"), forms, *owned).bound_names == ["b-0", "b-1"]


def test_a_budget_that_changes_or_goes_changes_its_pods_gang() -> None:
    owned = [pod(f"b-{n}", labels={"app": "b"}, owned_by=owner("ReplicaSet", "b")) for n in range(2)]
    script = Script(node("n1"), budget("b", min_available=3, match_labels={"app": "b"}), *owned, settings=BUDGETS)

    script.observe(budget("b", min_available="50%", match_labels={"app": "b"}))

    assert script.bound_names == ["b-0", "b-1"]


@pytest.mark.parametrize("minimum", [None, "50%", "x", -1, 0], ids=str)
def test_no_form_of_a_budget_does_harm(minimum: int | str | None) -> None:
    made = budget("b", min_available=minimum, max_unavailable=1, match_labels={"app": "b"})
    script = Script(node("n1"), made, pod("b-0", labels={"app": "b"}), settings=BUDGETS)

    assert script.bound_names == ["b-0"]


def test_higher_priority_goes_first_whenever_it_came() -> None:
    script = Script(
        node("n1", cpu=3),
        group("low", 3),
        *members("low", 3),
        group("high", 3, created_s=100),
        *members("high", 3, priority=10, created_s=100),
    )

    assert script.bound_names == ["high-0", "high-1", "high-2"]


def test_the_lowest_member_says_the_gangs_priority_and_a_mix_is_warned_of_once() -> None:
    mixed = [pod("mixed-0", group="mixed", priority=1), pod("mixed-1", group="mixed", priority=100)]
    script = Script(node("n1", cpu=2), group("mixed", 2), *mixed, *[pod(f"p{n}", priority=5) for n in range(2)])

    assert script.bound_names == ["p0", "p1"]
    assert script.announced.count(("PodGroup", "mixed", "MixedPriorities")) == 1
    script.observe(pod("mixed-0", group="mixed", priority=1, version="2", labels={"x": "y"}))
    assert script.announced == []


def test_a_priority_class_may_only_lower_a_gang() -> None:
    script = Script(
        priority_class("lowly", 1),
        priority_class("lofty", 1000),
        group("lowered", 1, priority_class="lowly"),
        group("kept", 1, priority_class="lofty"),
        pod("l", group="lowered", priority=10),
        pod("k", group="kept", priority=5),
    )

    script.observe(node("n1", cpu=1))

    assert script.bound_names == ["k"]


def test_a_priority_class_that_changes_moves_its_gangs() -> None:
    script = Script(
        priority_class("c", 1),
        group("g", 1, priority_class="c"),
        pod("g-0", group="g", priority=10),
        pod("p", priority=5),
    )

    script.observe(priority_class("c", 9))
    script.observe(node("n1", cpu=1))

    assert script.bound_names == ["g-0"]


def test_repairs_go_before_quorums_and_quorums_before_surplus() -> None:
    script = Script(
        node("n1", cpu=4),
        group("surplus", 1),
        *running("surplus", 1, "n1"),
        *members("surplus", 1, first=1),
        group("quorum", 1, created_s=5),
        pod("quorum-0", group="quorum", created_s=5),
        group("repair", 2, created_s=9),
        *running("repair", 1, "n1"),
        pod("repair-1", group="repair", created_s=9),
    )

    assert script.bound_names == ["quorum-0", "repair-1"]


def test_time_is_the_later_of_the_groups_creation_and_its_oldest_waiting_members() -> None:
    script = Script(
        group("early", 1, created_s=1),
        pod("early-0", group="early", created_s=50),
        pod("between", created_s=20),
        settings=None,
    )

    script.observe(node("n1", cpu=1))

    assert script.bound_names == ["between"]


def test_a_gang_that_does_not_fit_stops_nobody_behind_it() -> None:
    script = Script(node("n1", cpu=2), group("big", 5), *members("big", 5), pod("small", created_s=100))

    assert script.bound_names == ["small"]


def test_two_gangs_made_in_the_same_second_never_interleave() -> None:
    mixed = [one for pair in zip(members("a", 3), members("b", 3), strict=True) for one in pair]
    script = Script(node("n1", cpu=3), group("a", 3), group("b", 3), *mixed)

    assert script.bound_names == ["a-0", "a-1", "a-2"]


@pytest.mark.parametrize("cpu", ["much", -1, "9" * 40], ids=["no number", "negative", "huge"])
def test_a_bad_member_neither_counts_nor_stops_its_siblings(cpu: str | int) -> None:
    script = Script(node("n1"), group("g", 2), *members("g", 2), pod("bad", group="g", cpu=cpu))

    assert script.bound_names == ["g-0", "g-1"]
    assert script.reasons == {"bad": "InvalidPod"}


def test_a_gang_that_needs_its_bad_member_says_so() -> None:
    script = Script(node("n1"), group("g", 3), *members("g", 2), pod("bad", group="g", cpu="much"))
    script.wait(3)

    assert script.reasons == {"g-0": "GangIncomplete", "g-1": "GangIncomplete"}
    assert "1 cannot be placed: " in script.conditions["g-0"][1]


def test_a_pod_that_asks_for_what_nobody_checks_waits_and_its_node_rules_are_not_broken() -> None:
    script = Script(node("n1"), pod("p", spec={"resource_claims": ({"name": "gpu"},)}))

    assert script.binds == []
    assert script.reasons == {"p": "UnsupportedRequirement"}


# Wake-ups


@pytest.mark.parametrize(
    "change",
    [
        lambda script: script.observe(node("n1", cpu=2)),
        lambda script: script.observe(node("n2", cpu=4)),
        lambda script: script.remove(pod("p0", node="n1")),
        lambda script: script.observe(pod("p0", node="n1", phase="Succeeded", finished_s=5, version="2")),
        lambda script: script.observe(pod("new", cpu="500m")),
    ],
    ids=["allocatable raised", "node added", "pod gone", "pod finished", "smaller pod"],
)
def test_what_waits_for_room_is_woken_by_what_brings_it(change: object) -> None:
    script = Script(node("n1", cpu="1500m"), pod("p0", node="n1"), pod("p1"))
    assert script.binds == []

    change(script)  # type: ignore[operator]  # a function of the script

    assert len(script.binds) == 1


def test_what_waits_for_node_rules_is_woken_by_them() -> None:
    script = Script(node("n1", unschedulable=True), pod("p", selector={"zone": "a"}))
    script.observe(node("n1", labels={"zone": "b"}))
    assert script.binds == []

    script.observe(node("n1", labels={"zone": "a"}))

    assert script.bound_names == ["p"]


def test_a_parked_gang_is_not_decided_again_for_news_that_cannot_help_it() -> None:
    script = Script(node("n1", cpu=1), pod("p0", node="n1", cpu=None), pod("p1", cpu=2))

    script.remove(pod("p0", node="n1", cpu=None))

    assert script.step.decisions == ()


def test_a_parked_gang_is_tried_again_after_five_minutes_whatever_happened() -> None:
    script = Script(node("n1", cpu=1), pod("p", cpu=2))

    script.wait(301)

    assert [decision.placed for decision in script.step.decisions] == [False]


def test_a_budget_of_rows_ends_a_step_early_and_the_next_goes_on() -> None:
    script = Script(node("n1", cpu=100))
    told: list[Event] = [RowBudgetGiven(rows=1), *(PodObserved(pod=pod(f"p{n}")) for n in range(3))]

    step = script.scheduler.handle(told, script.now)
    assert len(step.instructions) == 1
    assert step.more

    assert len(script.tell().instructions) == 2


def test_gangs_that_do_not_fit_stop_nobody_though_each_step_gains_something_that_they_wait_for() -> None:
    large = [pod(f"large-{number}", cpu=3, memory=number, priority=5) for number in range(6)]
    script = Script(node("n0", cpu=2), *large)
    told = [RowBudgetGiven(rows=1), observed(pod("small", priority=0))]

    bound = []
    for number in range(10):
        told.append(observed(node(f"n{number + 1}", cpu=2)))
        step = script.scheduler.handle(told, script.now)
        bound += [bind.name for order in step.instructions if isinstance(order, BindGang) for bind in order.binds]
        told = []

    assert bound == ["small"]

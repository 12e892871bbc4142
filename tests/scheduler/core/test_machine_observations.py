"""What watches tell: twice, late, in odd order, unreadable, of others."""

import pytest

from gangline.contract.pod import Pod
from scheduler.core import events
from scheduler.core.machine import Scheduler
from tests.support.builders import group, node, pod
from tests.support.script import Script, Watched, bound_results, gone, observed


def used(script: Script, name: str) -> dict[str, int]:
    ledger = script.scheduler._cache.ledgers.get(name)
    return dict(ledger.used) if ledger is not None else {}


def unreadable(name: str, *, on: str = "", uid: str | None = None) -> events.PodUnreadable:
    return events.PodUnreadable(namespace="team", name=name, uid=uid or f"uid-{name}", node=on, message="bad json")


@pytest.mark.parametrize(
    "other",
    [
        pod("o", node="n1", scheduler="default-scheduler"),
        pod("o", node="n1", scheduler="", annotations={"kubernetes.io/config.mirror": "x"}),
        pod("o", node="n1", deleting=True),
        pod("o", node="n1", phase="Pending", scheduler="other"),
    ],
    ids=["another scheduler's", "mirror", "deleting", "not started yet"],
)
def test_pods_that_are_not_ours_to_place_are_counted(other: Pod) -> None:
    script = Script(node("n1", cpu=1), other, pod("p"))

    assert script.binds == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_are_not_counted(phase: str) -> None:
    script = Script(node("n1", cpu=1), pod("o", node="n1", phase=phase), pod("p"))

    assert script.bound_names == ["p"]


def test_pods_of_other_schedulers_are_never_bound() -> None:
    assert Script(node("n1"), pod("p", scheduler="other")).binds == []


def test_several_scheduler_names_are_ours() -> None:
    mine = [pod("a", scheduler="one"), pod("b", scheduler="two"), pod("c", scheduler="three")]

    script = Script(node("n1"), *mine, settings={"scheduler_names": ("one", "two")})

    assert script.bound_names == ["a", "b"]


def test_a_pod_may_name_a_node_that_comes_later() -> None:
    script = Script(pod("o", node="n1", cpu=3), pod("p", cpu=2))

    script.observe(node("n1", cpu=4))

    assert script.binds == []


@pytest.mark.parametrize("times", [1, 2, 3])
def test_any_event_may_come_several_times(times: int) -> None:
    things: list[Watched] = [node("n1", cpu=2), pod("o", node="n1"), group("g", 1), pod("g-0", group="g")]
    script = Script(*[thing for thing in things for _ in range(times)])

    assert script.bound_names == ["g-0"]
    assert used(script, "n1")["cpu"] == 2000


def test_removing_what_is_not_there_is_a_success_and_the_add_that_follows_is_applied() -> None:
    script = Script(node("n1", cpu=1))

    script.tell(gone(pod("p", node="n1")), observed(pod("p", node="n1")), gone(pod("x")))

    assert used(script, "n1")["cpu"] == 1000


def test_a_pod_seen_on_another_node_moves_its_charge() -> None:
    script = Script(node("n1"), node("n2"), pod("p", node="n1"))

    script.observe(pod("p", node="n2", version="2"))

    assert (used(script, "n1"), used(script, "n2")["cpu"]) == ({}, 1000)


def test_a_pod_re_created_under_its_name_is_another_pod() -> None:
    script = Script(node("n1", cpu=1), pod("p", uid="first", node="n1"))

    script.observe(pod("p", uid="second"))

    assert [bind.uid for bind in script.binds] == ["second"]
    assert used(script, "n1")["cpu"] == 1000


def test_a_pod_bound_by_another_scheduler_while_ours_is_on_its_way_is_charged_where_it_is() -> None:
    script = Script(node("n1", cpu=1), pod("p"))

    script.observe(node("n2"), pod("p", node="n2", version="2"))

    assert (used(script, "n1"), used(script, "n2")["cpu"]) == ({}, 1000)
    assert script.announced == []


def test_a_resized_pod_is_charged_as_it_is_now() -> None:
    script = Script(node("n1", cpu=4), pod("o", node="n1", cpu=4), pod("p", cpu=2))
    assert script.binds == []

    script.observe(pod("o", node="n1", cpu=1, version="2"))

    assert script.bound_names == ["p"]


def test_a_node_re_created_under_its_name_keeps_what_is_charged_to_the_name() -> None:
    script = Script(node("n1", cpu=2, uid="old"), pod("o", node="n1"))
    script.tell(events.NodeGone(name="n1", uid="old"))
    assert used(script, "n1")["cpu"] == 1000

    script.observe(node("n1", cpu=2, uid="new"), pod("p", cpu=2), pod("q", cpu=1))

    assert script.bound_names == ["q"]


def test_a_removal_leaves_nothing_under_the_name_though_events_between_were_skipped() -> None:
    script = Script(node("n1", uid="old"), group("g", 1, uid="old"), pod("o", uid="old", node="n1"))

    script.tell(
        events.NodeGone(name="n1", uid="new"),
        events.PodGroupGone(namespace="team", name="g", uid="new"),
        events.PodGone(namespace="team", name="o", uid="new"),
    )

    cached = script.scheduler.sizes().cached
    assert (cached["nodes"], cached["groups"], cached["pods"]) == (0, 0, 0)


def test_nothing_is_bound_to_a_node_that_has_gone() -> None:
    script = Script(node("n1"), pod("o", node="n1"))
    script.remove(node("n1"))

    script.observe(pod("p"))

    assert script.binds == []


def test_a_node_that_cannot_be_read_gets_one_warning_and_its_last_good_version_holds() -> None:
    script = Script(node("n1", cpu=1))
    script.observe(node("n1", cpu="a lot"))
    assert script.announced == [("Node", "n1", "NodeUnreadable")]
    script.observe(node("n1", cpu="a lot"))
    assert script.announced == []

    script.observe(pod("p", cpu=1))

    assert script.bound_names == ["p"]


def test_the_last_good_version_of_an_unreadable_pod_stays_in_force() -> None:
    script = Script(node("n1", cpu=2), pod("o", node="n1"))

    script.tell(unreadable("o", on="n1"))
    script.observe(pod("p"))

    assert script.bound_names == ["p"]
    assert used(script, "n1")["cpu"] == 2000


def test_an_unreadable_version_that_names_a_node_binds_the_last_good_one() -> None:
    script = Script(node("n1", cpu=2), pod("o", scheduler="other"))

    script.tell(unreadable("o", on="n1"))

    assert used(script, "n1")["cpu"] == 1000


def test_a_pod_never_readable_closes_its_node_with_one_warning_until_it_can_be_read() -> None:
    script = Script(node("n1"))
    script.tell(unreadable("o", on="n1"))
    assert script.announced == [("Pod", "o", "PodUnreadable")]
    script.tell(unreadable("o", on="n1"))
    assert script.announced == []
    script.observe(pod("p"))
    assert script.binds == []
    assert "could not be read" in script.conditions["p"][1]

    script.observe(pod("o", node="n1"))

    assert script.bound_names == ["p"]


def test_a_pod_never_readable_opens_its_node_when_it_goes() -> None:
    script = Script(node("n1"), pod("p0", cpu=9))
    script.tell(unreadable("o", on="n1"))

    script.tell(events.PodGone(namespace="team", name="o", uid="uid-o"))
    script.observe(pod("p"))

    assert script.bound_names == ["p"]


def test_a_running_pod_with_illegal_quantities_closes_its_node() -> None:
    script = Script(node("n1"), pod("o", node="n1", cpu="much"), pod("p"))

    assert script.binds == []


def test_a_running_pod_with_illegal_quantities_is_warned_of_once() -> None:
    script = Script(node("n1"))

    script.observe(pod("o", node="n1", cpu="much"))
    assert script.announced == [("Pod", "o", "PodUnreadable")]
    script.observe(pod("o", node="n1", cpu="much", phase="Running"))
    assert script.announced == []


def test_a_finished_pod_with_illegal_quantities_is_nobodys_matter() -> None:
    script = Script(node("n1"), pod("o", node="n1", cpu="much", phase="Succeeded"), pod("p"))

    assert script.bound_names == ["p"]


def test_of_two_pods_with_one_uid_the_second_is_unreadable() -> None:
    script = Script(node("n1", cpu=2), pod("o", uid="u", node="n1"))
    script.observe(pod("p", uid="u", node="n1"))
    assert script.announced == [("Pod", "p", "PodUnreadable")]

    script.tell(events.PodGone(namespace="team", name="p", uid="u"))
    script.observe(pod("q"))

    assert used(script, "n1")["cpu"] == 2000
    assert script.bound_names == ["q"]


def test_a_good_version_that_comes_with_an_unreadable_one_is_in_force() -> None:
    script = Script(group("g", 2, uid="u"))

    script.tell(events.NodeUnreadable(name="n1", uid="uid-n1", message="x", last=node("n1", cpu=2)))
    script.tell(events.PodUnreadable(namespace="team", name="o", uid="uid-o", node="n1", message="x", last=pod("o")))
    script.tell(
        events.PodGroupUnreadable(namespace="team", name="g", uid="u", message="x", last=group("g", 1, uid="u"))
    )
    script.observe(pod("g-0", group="g"), pod("g-1", group="g"))

    assert script.bound_names == ["g-0"]
    assert used(script, "n1")["cpu"] == 2000


def test_a_group_never_readable_stops_its_pods_and_says_why() -> None:
    script = Script(node("n1"), pod("g-0", group="g"))
    script.tell(events.PodGroupUnreadable(namespace="team", name="g", uid="u", message="bad json"))

    assert script.reasons == {"g-0": "PodGroupInvalid"}


def test_the_last_good_version_of_an_unreadable_group_stays_in_force() -> None:
    script = Script(node("n1"), group("g", 1, uid="u"))
    script.tell(events.PodGroupUnreadable(namespace="team", name="g", uid="u", message="bad json"))

    script.observe(pod("g-0", group="g"))

    assert script.bound_names == ["g-0"]


def test_a_scheduler_that_starts_amid_a_gang_completes_it() -> None:
    bound = [pod(f"g-{n}", group="g", node="n1", phase="Running") for n in range(3)]
    script = Script(node("n1", cpu=8), group("g", 8), *bound, *[pod(f"g-{n}", group="g") for n in range(3, 8)])

    assert len(script.binds) == 5


def test_sizes_and_views_tell_what_there_is() -> None:
    script = Script(node("n1", cpu=2), group("g", 2), *[pod(f"g-{n}", group="g") for n in range(3)], pod("big", cpu=9))
    assert script.scheduler.sizes().gangs == {"ready": 0, "parked": 1, "binding": 1, "incomplete": 0, "bound": 0}
    script.tell(*bound_results(script.binds))

    sizes = script.scheduler.sizes()
    assert sizes.gangs == {"ready": 0, "parked": 2, "binding": 0, "incomplete": 0, "bound": 0}
    assert (sizes.cached["pods"], sizes.cached["nodes"], sizes.cached["intents"]) == (4, 1, 2)
    view = {one["gang"]: one for one in script.scheduler.gangs(script.now + 5)}
    assert (view["team/g"]["bound"], view["team/g"]["waiting"], view["team/g"]["reason"]) == (2, 1, "Unschedulable")
    assert view["team/Pod/big"]["waitedSeconds"] == 5


def test_settings_cannot_come_twice() -> None:
    scheduler = Scheduler()
    settings = events.SettingsGiven(scheduler_names=("a",))
    scheduler.handle([settings], 0.0)

    with pytest.raises(ValueError, match="twice"):
        scheduler.handle([settings], 0.0)

"""A plan is looked at once more before its first bind is sent, and each bind before it is."""

from collections.abc import Callable

import pytest

from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from scheduler.core.events import Refusal
from tests.support.builders import group, node, pod
from tests.support.script import Script, bound_results, refused

TWO = (pod("g-0", group="g"), pod("g-1", group="g"))


def planned(*more: Pod | Node | PodGroup, size: int = 2) -> Script:
    return Script(node("n1"), group("g", size), *TWO, *more)


def test_a_plan_of_which_nothing_has_changed_stands() -> None:
    script = planned()
    (plan,) = script.gang_binds

    assert script.scheduler.overtaken.plan(plan) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(lambda script: script.remove(TWO[0]), "pod team/g-0 is not to be bound any more", id="pod-gone"),
        pytest.param(
            lambda script: script.observe(pod("g-0", group="g", deleting=True)),
            "pod team/g-0 is not to be bound any more",
            id="pod-deleting",
        ),
        pytest.param(
            lambda script: script.observe(pod("g-0", group="h")), "pod team/g-0 has left the gang", id="pod-relabelled"
        ),
        pytest.param(lambda script: script.remove(node("n1")), "node n1 has gone", id="node-gone"),
        pytest.param(
            lambda script: script.observe(group("g", 4, version="200")),
            "the gang now needs 2 more",
            id="more-asked-for",
        ),
        pytest.param(
            lambda script: script.remove(group("g", 2)),
            "PodGroup team/g does not exist; create it in namespace team, or correct the pods' label",
            id="group-gone",
        ),
        pytest.param(
            lambda script: script.observe(group("g", 2, min_resources={"cpu": ""}, version="200")),
            "PodGroup team/g: spec.minResources has a quantity that is not legal: cpu: quantity '' is not a number with an "
            "optional suffix: write 4, 500m, 1.5Gi or 2e3",
            id="group-spoiled",
        ),
    ],
)
def test_a_plan_is_overtaken(change: Callable[[Script], object], reason: str) -> None:
    script = planned()
    (plan,) = script.gang_binds

    change(script)

    assert script.scheduler.overtaken.plan(plan) == reason


def test_a_bind_of_a_gang_that_has_begun_goes_on_though_a_sibling_has_gone() -> None:
    script = planned()
    (plan,) = script.gang_binds
    first, second = plan.binds
    script.tell(*bound_results([first]))

    script.remove(TWO[0])

    assert script.scheduler.overtaken.bind(second, plan.gang) is None


def test_an_overtaken_gang_that_is_still_complete_is_decided_again_at_once() -> None:
    script = planned()
    (plan,) = script.gang_binds
    script.remove(TWO[0])
    script.observe(pod("g-2", group="g"))

    script.tell(*[refused(bind, Refusal.OVERTAKEN) for bind in plan.binds])

    assert script.bound_names == ["g-1", "g-2"]


def test_an_overtaken_gang_that_lacks_a_member_waits_for_it() -> None:
    script = planned()
    (plan,) = script.gang_binds
    script.remove(TWO[0])

    script.tell(*[refused(bind, Refusal.OVERTAKEN) for bind in plan.binds])
    assert script.binds == []

    script.observe(pod("g-0", group="g", uid="g-0-again"))
    assert script.bound_names == ["g-0", "g-1"]

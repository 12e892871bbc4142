"""The plain case: nodes, PodGroups and pods in, whole gangs bound."""

import pytest

from gangline.contract.pod import Pod
from scheduler.core.events import ConditionAnswered, ConditionOutcome, Kind, KindSynced, PodObserved
from scheduler.core.instructions import WriteCondition
from scheduler.core.machine import Scheduler
from tests.support.builders import group, node, pod
from tests.support.script import Script, bound_results


def gang(name: str, size: int) -> list[Pod]:
    return [pod(f"{name}-{number}", group=name) for number in range(size)]


def test_a_gang_that_fits_is_bound_as_one() -> None:
    script = Script(node("n1", cpu=4), group("g", 3), *gang("g", 3))

    assert [len(order.binds) for order in script.gang_binds] == [3]
    assert script.gang_binds[0].nothing_bound
    assert script.bound_names == ["g-0", "g-1", "g-2"]


def test_a_gang_that_does_not_fit_is_not_bound_in_part_and_all_its_members_say_so() -> None:
    script = Script(node("n1", cpu=2), group("g", 3), *gang("g", 3))

    assert script.binds == []
    assert set(script.reasons.values()) == {"Unschedulable"}
    assert sorted(script.reasons) == ["g-0", "g-1", "g-2"]


def test_a_surplus_that_becomes_a_repair_is_told_at_once() -> None:
    running = [pod(f"g-{number}", group="g", node="n1", phase="Running") for number in range(3)]
    script = Script(node("n1", cpu=3), group("g", 3, version="5"), *running, pod("g-3", group="g"))
    (write,) = [order for order in script.step.instructions if isinstance(order, WriteCondition)]
    assert "has its quorum" in write.message
    script.tell(ConditionAnswered(uid=write.uid, attempt=write.attempt, outcome=ConditionOutcome.WRITTEN))

    script.observe(group("g", 4, version="6"), after_s=1)

    assert "has started with 3 members and lacks 1" in script.conditions["g-3"][1]


def test_a_bound_pod_is_announced_once_whichever_comes_first() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds

    script.tell(*bound_results([bind]))
    assert script.announced == [("Pod", "p", "Scheduled")]
    script.observe(pod("p", node="n1"))
    assert script.announced == []


def test_nothing_is_decided_before_every_kind_has_synced() -> None:
    script = Script(node("n1"), pod("p"), synced=False)
    for kind in (Kind.POD, Kind.NODE, Kind.POD_GROUP):
        script.tell(KindSynced(kind=kind))
        assert script.step.instructions == ()

    script.tell(KindSynced(kind=Kind.PRIORITY_CLASS))

    assert script.bound_names == ["p"]


def test_settings_must_come_first() -> None:
    with pytest.raises(ValueError, match="SettingsGiven"):
        Scheduler().handle([PodObserved(pod=pod("p"))], 0.0)

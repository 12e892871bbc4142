"""How gangs wait, summed up for metrics."""

from tests.support.builders import group, node, pod
from tests.support.script import Script


def reasons(script: Script) -> dict[str, int]:
    return {reason: count for reason, count in script.scheduler.waits(script.now).gangs.items() if count}


def longest_waits_s(script: Script) -> dict[str, float]:
    return {state: wait for state, wait in script.scheduler.waits(script.now).longest_s.items() if wait}


def test_of_several_gangs_in_a_state_the_longest_wait_counts() -> None:
    script = Script(node("n1", cpu=1), pod("early", cpu=2))
    script.observe(pod("late", cpu=2), group("g", 3), pod("g-0", group="g"), after_s=60.0)
    script.wait(5.0)

    assert reasons(script) == {"Unschedulable": 2, "GangIncomplete": 1}
    assert longest_waits_s(script) == {"parked": 65.0, "incomplete": 5.0}


def test_a_gang_waits_until_its_plan_is_handed_out() -> None:
    script = Script(group("g", 2), pod("g-0", group="g"), pod("g-1", group="g"))
    script.wait(7.0)
    assert longest_waits_s(script) == {"parked": 7.0}

    script.observe(node("n1", cpu=2), after_s=1.0)
    assert len(script.binds) == 2
    assert longest_waits_s(script) == {}


def test_who_is_gone_waits_no_more() -> None:
    waiting = pod("large", cpu=9)
    script = Script(node("n1", cpu=1), waiting)
    script.remove(waiting, after_s=3.0)

    assert (reasons(script), longest_waits_s(script)) == ({}, {})


def test_who_can_never_be_placed_waits_and_is_not_counted_as_bound() -> None:
    running = pod("g-0", group="g", node="n1", phase="Running")
    script = Script(node("n1"), group("g", 1), running, pod("g-1", group="g", cpu=-1), pod("alone", cpu=-2))
    script.wait(5.0)

    assert reasons(script) == {"InvalidPod": 2}
    assert longest_waits_s(script) == {"incomplete": 5.0}
    assert script.scheduler.sizes().gangs == {"ready": 0, "parked": 0, "binding": 0, "incomplete": 2, "bound": 0}
    assert {gang["title"]: gang["message"] for gang in script.scheduler.gangs(script.now)} == {
        "team/g": "the pod asks for a quantity that is not legal: cpu: a request cannot be negative: -1",
        "team/alone": "the pod asks for a quantity that is not legal: cpu: a request cannot be negative: -2",
    }

"""Every kind of answer to a bind, in time and late."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.contract.pod import Pod
from scheduler.core.events import Event, PodRead, PodReadFailed, Refusal
from scheduler.core.instructions import Bind, BindGang, GroupVersion
from tests.support.builders import group, node, pod
from tests.support.script import Script, bound_results, gone, observed, refused, unknown


def members(count: int, *, first: int = 0, version: str = "50") -> list[Pod]:
    return [pod(f"g-{number}", group="g", version=version) for number in range(first, first + count)]


def gang_of(size: int, *, cpu: int = 8, version: str = "50") -> Script:
    return Script(node("n1", cpu=cpu), group("g", size), *members(size, version=version))


def read(bind: Bind, node_name: str | None) -> Event:
    return PodRead(uid=bind.uid, attempt=bind.attempt, node=node_name)


def used_cpu(script: Script, node_name: str = "n1") -> int:
    ledger = script.scheduler._cache.ledgers.get(node_name)
    return ledger.used.get("cpu", 0) if ledger is not None else 0


def test_a_plan_made_with_an_older_group_is_confirmed_first() -> None:
    (order,) = gang_of(2, version="101").gang_binds

    assert order.confirm == GroupVersion(namespace="team", name="g", uid="uid-group-g", resource_version="100")


@pytest.mark.parametrize(
    ("pod_version", "asked"), [("99", False), ("100", False), ("101", True), ("9", False), ("abc", True)]
)
def test_resource_versions_compare_as_integers_or_not_at_all(pod_version: str, asked: bool) -> None:
    (order,) = gang_of(2, version=pod_version).gang_binds

    assert (order.confirm is not None) is asked


def test_a_gang_that_has_started_needs_no_confirmation_and_its_binds_do_not_wait_for_one_another() -> None:
    script = Script(node("n1"), group("g", 3), pod("g-0", group="g", node="n1"), *members(2, first=1, version="500"))

    (order,) = script.gang_binds

    assert (order.nothing_bound, order.confirm, len(order.binds)) == (False, None, 2)


def test_a_decision_is_charged_at_once() -> None:
    script = gang_of(3)

    assert used_cpu(script) == 3000
    script.observe(pod("p", cpu=6))
    assert script.binds == []


def test_a_confirmed_bind_that_is_never_observed_is_read_again() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(*bound_results([bind]))

    script.wait(31)

    assert [ask.uid for ask in script.reads] == [bind.uid]


def test_reading_a_confirmed_bind_of_which_the_server_knows_nothing_binds_again_to_the_same_node() -> None:
    script = Script(node("n1"), node("n2"), pod("p"))
    (bind,) = script.binds
    script.tell(*bound_results([bind]))
    script.wait(31)

    script.tell(read(bind, ""))

    (again,) = script.binds
    assert (again.node, again.attempt > bind.attempt) == (bind.node, True)


def fate_of(bind: Bind, fate: str) -> tuple[list[Event], list[Event]]:
    """What watches tell of a pod after its bind was sent, in their order, and how the bind was answered."""
    there = observed(pod(bind.name, node=bind.node, version="60"))
    match fate:
        case "bound":
            return [there], bound_results([bind])
        case "bound, with no answer":
            return [there], [unknown(bind)]
        case "bound and finished":
            return [there, observed(pod(bind.name, node=bind.node, version="61", phase="Succeeded"))], [unknown(bind)]
        case "bound and deleted":
            return [there, gone(pod(bind.name))], bound_results([bind])
        case "bound by another":
            return [observed(pod(bind.name, node="n9", version="60"))], [refused(bind, Refusal.FOREIGN)]
        case "lost":
            return [gone(pod(bind.name))], [refused(bind, Refusal.LOST)]
        case "taken by another pod":
            return [observed(pod(bind.name, uid="new", node="n1", version="60"))], [refused(bind, Refusal.LOST)]
        case _:
            return [observed(pod(bind.name, version="60"))], [refused(bind, Refusal.FORBIDDEN)]


FATES = (
    "bound",
    "bound, with no answer",
    "bound and finished",
    "bound and deleted",
    "bound by another",
    "lost",
    "taken by another pod",
    "forbidden",
)


def accounts(script: Script) -> tuple[object, ...]:
    """What is charged where, what is intended, and how each pod stands."""
    cache, gangs = script.scheduler._cache, script.scheduler._gangs
    charges = {name: dict(ledger.charges) for name, ledger in cache.ledgers.items()}
    standings = {key: dict(gang.standings) for key, gang in gangs.by_key.items()}
    return charges, dict(cache.intents), standings, dict(cache.names)


@given(fates=st.lists(st.sampled_from(FATES), min_size=1, max_size=4), data=st.data())
def test_observations_and_answers_commute(fates: list[str], data: st.DataObject) -> None:
    def told(*, answers_first: bool | None) -> tuple[object, ...]:
        script = Script(node("n1"), *[pod(f"p{number}") for number in range(len(fates))])
        lanes = [fate_of(bind, fate) for bind, fate in zip(script.binds, fates, strict=True)]
        seen, answers = ([event for lane in lanes for event in lane[side]] for side in (0, 1))
        while seen or answers:
            if answers_first is None:
                from_answers = data.draw(st.booleans(), label="an answer") if seen and answers else bool(answers)
            else:
                from_answers = bool(answers) if answers_first else not seen
            script.tell((answers if from_answers else seen).pop(0))
            assert script.binds == []
        return accounts(script)

    answered, observed_, mixed = (told(answers_first=first) for first in (True, False, None))

    assert answered == observed_ == mixed
    assert not answered[1], "every bind is settled"


def test_a_pod_bound_elsewhere_counts_as_bound_and_is_not_bound_again() -> None:
    script = gang_of(2)
    first, second = script.binds
    script.tell(refused(first, Refusal.FOREIGN), *bound_results([second]))
    assert (script.binds, used_cpu(script)) == ([], 1000)

    script.observe(pod(first.name, group="g", node="n9"))

    assert script.binds == []
    assert used_cpu(script, "n9") == 1000


def test_a_lost_member_leaves_the_plan_and_its_replacement_is_a_repair() -> None:
    script = gang_of(3)
    lost, *rest = script.binds
    script.tell(*bound_results(rest), refused(lost, Refusal.LOST))
    assert script.binds == []

    script.observe(*members(1, first=7))

    (order,) = script.gang_binds
    assert (order.nothing_bound, [bind.name for bind in order.binds]) == (False, ["g-7"])


def test_a_lost_pod_that_the_server_has_after_all_waits_again() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(refused(bind, Refusal.LOST))
    script.wait(31)
    assert len(script.reads) == 1

    script.tell(read(bind, ""))

    assert script.bound_names == ["p"]


def test_a_forbidden_pair_of_pod_and_node_is_kept_apart_and_another_node_is_tried_after_a_moment() -> None:
    script = Script(node("n1", cpu=1), node("n2", cpu=1), pod("p"))
    (bind,) = script.binds
    script.tell(refused(bind, Refusal.FORBIDDEN))
    assert script.binds == []

    script.wait(2)

    (again,) = script.binds
    assert again.node != bind.node


def test_kept_apart_grows_with_each_refusal_and_says_bind_failed() -> None:
    script = Script(node("n1", cpu=1), pod("p"))
    waits = []
    for _ in range(4):
        (bind,) = script.binds
        script.tell(refused(bind, Refusal.FORBIDDEN, "an admission webhook says no"))
        started = script.now
        script.wait(2)
        assert script.reasons in ({"p": "BindFailed"}, {})
        assert all("an admission webhook says no" in message for _, message in script.conditions.values())
        while not script.binds:
            script.wait(1)
        waits.append(script.now - started)

    assert waits == sorted(waits)
    assert waits[-1] > 2 * waits[0]


def test_first_refusals_with_nothing_bound_drop_the_plan_and_hold_nothing() -> None:
    script = gang_of(3)
    first, *rest = script.binds
    script.tell(refused(first, Refusal.FORBIDDEN), *[refused(bind, Refusal.DROPPED) for bind in rest])

    assert (script.binds, used_cpu(script)) == ([], 0)


def test_no_member_is_bound_alone_while_the_rest_of_its_plan_is_being_dropped() -> None:
    script = Script(node("n1"), node("n2"), group("g", 3), *members(3))
    first, *rest = script.binds

    script.tell(refused(first, Refusal.FORBIDDEN), after_s=1)
    assert script.binds == []
    script.wait(10)
    assert script.binds == []
    script.tell(*[refused(bind, Refusal.DROPPED) for bind in rest])

    (order,) = script.gang_binds
    assert (order.nothing_bound, len(order.binds)) == (True, 3)


def test_a_refusal_after_others_are_bound_leaves_them_alone_and_repairs_the_rest() -> None:
    script = Script(*[node(f"n{n}", cpu=2) for n in range(3)], group("g", 3), *members(3))
    *done, forbidden = script.binds

    script.tell(*bound_results(done), refused(forbidden, Refusal.FORBIDDEN))
    script.wait(2)

    (order,) = script.gang_binds
    assert not order.nothing_bound
    assert [bind.name for bind in order.binds] == [forbidden.name]
    assert order.binds[0].node != forbidden.node


def test_a_stale_plan_is_made_again_when_the_newer_group_is_seen() -> None:
    script = gang_of(2, version="101")
    script.tell(*[refused(bind, Refusal.STALE) for bind in script.binds])
    assert script.binds == []

    script.observe(group("g", 3, version="102"))
    assert script.binds == []
    script.observe(*members(1, first=2, version="101"))

    (order,) = script.gang_binds
    assert (len(order.binds), order.confirm) == (3, None)


def test_a_stale_plan_is_made_again_after_a_while_if_no_newer_group_comes() -> None:
    script = gang_of(2, version="101")
    script.tell(*[refused(bind, Refusal.STALE) for bind in script.binds])

    script.wait(2)

    assert len(script.binds) == 2
    assert script.conditions == {}


def test_after_an_unknown_outcome_the_room_stays_charged_and_the_pod_is_read() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds

    script.tell(unknown(bind))
    assert used_cpu(script) == 1000
    script.wait(3600)

    assert used_cpu(script) == 1000
    assert [ask.uid for ask in script.reads] == [bind.uid]


def test_after_an_unknown_outcome_the_retry_goes_to_the_same_node() -> None:
    script = Script(node("n1", cpu=2), node("n2", cpu=2), pod("p"))
    (bind,) = script.binds
    script.tell(unknown(bind))
    script.observe(node("n3", cpu=1), after_s=2)

    script.tell(read(bind, ""))

    (order,) = script.gang_binds
    again = Bind(uid=bind.uid, namespace="team", name="p", node=bind.node, attempt=bind.attempt + 1)
    assert order == BindGang(gang="team/Pod/p", binds=(again,), nothing_bound=False)


def test_a_read_that_finds_the_pod_bound_ends_the_doubt() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(unknown(bind))
    script.wait(2)

    script.tell(read(bind, "n1"))

    assert script.announced == [("Pod", "p", "Scheduled")]
    assert script.binds == []


def test_a_read_that_finds_the_pod_elsewhere_frees_our_node() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(unknown(bind))
    script.wait(2)

    script.tell(read(bind, "n9"))

    assert (used_cpu(script), script.binds) == (0, [])


def test_a_read_that_finds_no_pod_frees_our_node() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(unknown(bind))
    script.wait(2)

    script.tell(read(bind, None))

    assert (used_cpu(script), script.binds) == (0, [])


def test_a_failed_read_is_tried_again_later_and_later() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(unknown(bind))
    gaps = []
    for _ in range(5):
        asked_at = script.now
        while not script.reads:
            script.wait(1)
        gaps.append(script.now - asked_at)
        script.tell(PodReadFailed(uid=bind.uid, attempt=bind.attempt, message="timeout"))

    assert gaps == sorted(gaps)
    assert gaps[-1] > 4 * gaps[0]
    assert used_cpu(script) == 1000


def test_a_pod_being_deleted_is_not_bound_again() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(unknown(bind))
    script.observe(pod("p", deleting=True, version="2"), after_s=2)

    script.tell(read(bind, ""))

    assert (script.binds, used_cpu(script)) == ([], 1000)
    script.remove(pod("p"))
    assert used_cpu(script) == 0


def test_binding_again_never_starts_a_gang_that_cannot_be_completed() -> None:
    script = gang_of(2)
    first, second = script.binds
    script.tell(unknown(first), unknown(second))
    script.remove(pod(second.name, group="g"), after_s=2)

    script.tell(read(first, ""))

    assert (script.binds, used_cpu(script)) == ([], 0)


def test_binding_again_never_starts_a_gang_whose_group_has_gone() -> None:
    script = gang_of(2)
    first, second = script.binds
    script.tell(unknown(first), unknown(second))
    script.remove(group("g", 2), after_s=2)

    script.tell(read(first, ""), read(second, ""))

    assert (script.binds, used_cpu(script)) == ([], 0)
    script.wait(2)
    assert script.reasons == dict.fromkeys([first.name, second.name], "PodGroupNotFound")


def test_a_node_that_has_gone_is_not_bound_to_again() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(unknown(bind))
    script.remove(node("n1"))
    script.observe(node("n2"), after_s=2)

    script.tell(read(bind, ""))

    assert [again.node for again in script.binds] == ["n2"]


@pytest.mark.parametrize(
    "late",
    [
        lambda bind: bound_results([bind])[0],
        lambda bind: refused(bind, Refusal.FORBIDDEN),
        lambda bind: refused(bind, Refusal.FOREIGN),
        lambda bind: refused(bind, Refusal.LOST),
        unknown,
        lambda bind: read(bind, ""),
        lambda bind: read(bind, None),
    ],
    ids=["bound", "forbidden", "foreign", "lost", "unknown", "read nowhere", "read no pod"],
)
@pytest.mark.parametrize("before", ["gone", "observed", "re-created"])
def test_a_late_answer_changes_nothing(late: object, before: str) -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    told = {
        "gone": [gone(pod("p"))],
        "observed": [observed(pod("p", node="n1", version="3"))],
        "re-created": [observed(pod("p", uid="another", scheduler="else", version="3"))],
    }
    script.tell(*told[before])
    used = used_cpu(script)

    script.tell(late(bind), after_s=1)  # type: ignore[operator]  # a function of the bind

    assert (script.step.instructions, used_cpu(script)) == ((), used)


def test_an_answer_to_an_earlier_attempt_is_ignored() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.tell(refused(bind, Refusal.FORBIDDEN))
    script.observe(node("n2"), after_s=2)
    (again,) = script.binds

    script.tell(refused(bind, Refusal.LOST), *bound_results([bind]))

    assert script.announced == []
    assert used_cpu(script, again.node) == 1000


def test_a_pod_deleted_while_its_bind_is_on_its_way_stays_charged_until_it_is_gone() -> None:
    script = Script(node("n1"), pod("p"))
    (bind,) = script.binds
    script.observe(pod("p", deleting=True, version="2"))
    assert used_cpu(script) == 1000
    script.tell(*bound_results([bind]))
    assert used_cpu(script) == 1000

    script.remove(pod("p"))

    assert used_cpu(script) == 0


@pytest.mark.parametrize("name", [None, "g"], ids=["alone", "in a gang"])
def test_what_was_refused_to_a_pod_is_not_held_against_another_of_its_name(name: str | None) -> None:
    script = Script(node("n1"), group("g", 1), pod("web-0", group=name))
    script.tell(refused(script.binds[0], Refusal.FORBIDDEN))
    script.wait(1.0)
    assert script.binds == []

    script.observe(pod("web-0", group=name, uid="another"))

    assert [bind.uid for bind in script.binds] == ["another"]

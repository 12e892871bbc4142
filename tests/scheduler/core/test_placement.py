"""Placement against brute force, and the rules one by one."""

from collections import Counter
from random import Random

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from scheduler.core.events import Scoring
from scheduler.core.placement import Assignment, Demand, Plan, place
from scheduler.core.reasons import Cause, NodeReason, Unplaced, sentence
from tests.support.brute_force import BruteForce
from tests.support.small_clusters import SOFT, Case, Cluster, cases, ledger, member_class


def _where(plan: Plan) -> Counter[tuple[int, str]]:
    return Counter({(each.class_id, each.node): each.count for each in plan.assignments})


@given(cases(), st.sampled_from(Scoring), st.integers(1, 5))
def test_a_plan_is_found_exactly_when_brute_force_finds_one(case: Case, scoring: Scoring, window_size: int) -> None:
    cluster, demand = case.build()
    oracle = BruteForce(demand, cluster.ledgers, cluster.classes)

    answer = place(demand, cluster.snapshot, scoring=scoring, window_size=window_size)

    event(type(answer).__name__)
    assert isinstance(answer, Plan) == (oracle.most() == demand.need)


@given(cases(), st.sampled_from(Scoring))
def test_every_plan_keeps_all_rules_and_places_the_need(case: Case, scoring: Scoring) -> None:
    cluster, demand = case.build()
    answer = place(demand, cluster.snapshot, scoring=scoring)
    if isinstance(answer, Unplaced):
        return

    where = _where(answer)
    assert len(where) == len(answer.assignments)
    assert where.total() == demand.need
    assert all(each.count > 0 for each in answer.assignments)
    for each in demand.classes:
        assert sum(count for (class_id, _), count in where.items() if class_id == each.class_id) <= each.count
    assert BruteForce(demand, cluster.ledgers, cluster.classes).is_feasible(where)


@given(cases())
def test_the_numbers_of_an_unplaced_gang_are_true(case: Case) -> None:
    cluster, demand = case.build()
    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)
    if isinstance(answer, Plan):
        return
    oracle = BruteForce(demand, cluster.ledgers, cluster.classes)

    assert answer.exact
    assert answer.fitting == oracle.most()
    assert sum(missing.count for missing in answer.missing) == demand.need - answer.fitting
    assert answer.node_count == len(cluster.ledgers)
    for each, verdict in zip(demand.classes, answer.classes, strict=True):
        alone = oracle.alone(each.class_id)
        assert (verdict.class_id, verdict.fits, verdict.fits_alone) == (each.class_id, alone, alone > 0)


@given(cases())
def test_every_node_has_a_reason_against_each_missing_member(case: Case) -> None:
    cluster, demand = case.build()
    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)
    if isinstance(answer, Plan):
        return

    verdicts = {verdict.class_id: dict(verdict.node_reasons) for verdict in answer.classes}
    for missing in answer.missing:
        reasons = verdicts[missing.class_id]
        lacking = [count for text, count in reasons.items() if text.startswith(("Insufficient", "Too many"))]
        once = sum(reasons.values()) - sum(lacking)
        assert once + max(lacking, default=0) <= answer.node_count <= once + sum(lacking)


@given(cases(), st.randoms(use_true_random=False), st.sampled_from(Scoring))
def test_the_order_in_which_nodes_came_changes_nothing(case: Case, random: Random, scoring: Scoring) -> None:
    order = list(range(len(case.nodes)))
    random.shuffle(order)
    cluster, demand = case.build()
    shuffled, same_demand = case.build(order)

    answer = place(demand, cluster.snapshot, scoring=scoring)

    assert place(same_demand, shuffled.snapshot, scoring=scoring) == answer


@given(cases())
def test_placing_leaves_the_snapshot_as_it_was(case: Case) -> None:
    cluster, demand = case.build()
    before = cluster.snapshot.free.tobytes()

    place(demand, cluster.snapshot, scoring=Scoring.PACK)

    assert cluster.snapshot.free.tobytes() == before
    assert cluster.snapshot.validate(cluster.ledgers.values()) == []


@given(cases())
def test_obstructed_means_that_it_fits_without_holds_and_pairs_kept_apart(case: Case) -> None:
    cluster, demand = case.build()
    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)
    if isinstance(answer, Plan):
        return

    plain = Demand(demand.classes, demand.need)
    assert answer.obstructed == isinstance(place(plain, cluster.snapshot, scoring=Scoring.PACK), Plan)


@given(cases(plain=True), st.sampled_from(["cpu", "nvidia.com/gpu", "pods"]), st.integers(0, 3))
def test_more_room_in_a_resource_that_is_not_waited_for_helps_nobody(case: Case, resource: str, place_: int) -> None:
    cluster, demand = case.build()
    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)
    if isinstance(answer, Plan) or resource in answer.wake_resources:
        return

    name, facts = case.nodes[place_ % len(case.nodes)]
    key = "gpu" if resource == "nvidia.com/gpu" else resource
    roomier = Case(
        nodes=tuple((n, {**f, key: 50} if n == name else f) for n, f in case.nodes),
        pods=case.pods,
        gang=case.gang,
        need=case.need,
        excluded=(),
        holds=(),
    )
    wider, same_demand = roomier.build()
    assert isinstance(place(same_demand, wider.snapshot, scoring=Scoring.PACK), Unplaced)

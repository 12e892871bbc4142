"""Placement against brute force, and the rules one by one."""

from collections import Counter
from random import Random

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from scheduler.core.events import Scoring
from scheduler.core.model.member_class import ClassId
from scheduler.core.placement import Assignment, Demand, Plan, place
from scheduler.core.reasons import Cause, NodeReason, Shortfall, Unplaced, sentence
from tests.support.brute_force import BruteForce
from tests.support.small_clusters import HARD, SOFT, Case, Cluster, cases, ledger, member_class


def _where(plan: Plan) -> Counter[tuple[ClassId, str]]:
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
        assert (verdict.class_id, verdict.fits) == (each.class_id, alone)


@given(cases())
def test_every_node_has_a_reason_against_each_missing_member(case: Case) -> None:
    cluster, demand = case.build()
    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)
    if isinstance(answer, Plan):
        return

    assert bool(answer.missing) == (answer.fitting < answer.need)
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
    assert cluster.snapshot.validate(sorted(cluster.ledgers), cluster.ledgers) == []


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

    name = case.nodes[place_ % len(case.nodes)][0]
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


def _spots(plan: Plan | Unplaced) -> dict[str, int]:
    """Members by node, whatever their class."""
    assert isinstance(plan, Plan), sentence(plan)
    spots: Counter[str] = Counter()
    for each in plan.assignments:
        spots[each.node] += each.count
    return dict(spots)


def _unplaced(answer: Plan | Unplaced) -> Unplaced:
    assert isinstance(answer, Unplaced)
    return answer


@pytest.mark.parametrize(
    ("scoring", "spots"),
    [
        pytest.param(Scoring.PACK, {"busy": 2, "large": 3}, id="pack: the busiest first, then where most fit"),
        pytest.param(
            Scoring.SPREAD, {"free": 2, "large": 2, "busy": 1}, id="spread: evenly, the least busy get the rest"
        ),
    ],
)
def test_scoring_decides_where_members_go(scoring: Scoring, spots: dict[str, int]) -> None:
    cluster = Cluster([ledger("large", cpu=8000), ledger("busy", cpu=8000), ledger("free", cpu=4000)])
    cluster.charge("busy", member_class(cpu=4000), uid="u")
    demand = cluster.demand((member_class(cpu=2000), 5))

    assert _spots(place(demand, cluster.snapshot, scoring=scoring)) == spots


@pytest.mark.parametrize("scoring", list(Scoring))
def test_nodes_that_would_rather_not_are_taken_last(scoring: Scoring) -> None:
    cluster = Cluster([ledger("a", taints=(SOFT,)), ledger("b"), ledger("c", taints=(SOFT, HARD))])
    one = member_class(cpu=4000)

    assert _spots(place(cluster.demand((one, 2)), cluster.snapshot, scoring=scoring)) == {"b": 2}
    assert _spots(place(cluster.demand((one, 3)), cluster.snapshot, scoring=scoring)) == {"b": 2, "a": 1}


def test_members_that_ask_for_a_host_port_never_share_a_node() -> None:
    cluster = Cluster([ledger("a"), ledger("b"), ledger("c")])
    cluster.charge("b", member_class(ports=(80,)), uid="u")

    answer = place(cluster.demand((member_class(ports=(80,)), 3)), cluster.snapshot, scoring=Scoring.PACK)

    assert _unplaced(answer).fitting == 2
    assert dict(_unplaced(answer).classes[0].node_reasons) == {NodeReason.HOST_PORT: 3}
    assert "pods" in _unplaced(answer).wake_resources


def test_the_tightest_class_goes_first() -> None:
    cluster = Cluster([ledger("any", cpu=8000), ledger("zoned", cpu=8000, labels={"zone": "a"})])
    loose, tight = member_class(cpu=8000), member_class(cpu=8000, selector={"zone": "a"})

    answer = place(cluster.demand((loose, 1), (tight, 1)), cluster.snapshot, scoring=Scoring.PACK)

    assert _spots(answer) == {"any": 1, "zoned": 1}


def test_earlier_classes_are_preferred_where_some_members_may_be_left_out() -> None:
    cluster = Cluster([ledger("n1", cpu=4000)])
    first, second = member_class(cpu=1000), member_class(cpu=2000)
    demand = cluster.demand((first, 3), (second, 2), need=3)

    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)

    assert isinstance(answer, Plan)
    assert answer.assignments == (Assignment(demand.classes[0].class_id, "n1", 3),)


def test_a_later_class_steps_in_where_an_earlier_one_does_not_fit() -> None:
    cluster = Cluster([ledger("n1", cpu=4000)])
    demand = cluster.demand((member_class(cpu=3000), 2), (member_class(cpu=1000), 2), need=3)

    assert _unplaced(place(demand, cluster.snapshot, scoring=Scoring.PACK)).fitting == 2
    fewer = Demand(demand.classes, 2)
    assert _spots(place(fewer, cluster.snapshot, scoring=Scoring.PACK)) == {"n1": 2}


@pytest.mark.parametrize("scoring", Scoring)
def test_a_mix_that_no_order_of_classes_finds_is_found_by_exact_search(scoring: Scoring) -> None:
    # The large one has room on `a` and on `b`, the small ones on all three: it must leave `a` to two of them.
    cluster = Cluster([ledger("a", cpu=7000, gpu=7), ledger("b", cpu=6000, gpu=4), ledger("c", cpu=4000, gpu=5)])
    small, large = member_class(cpu=3000, gpu=3), member_class(cpu=5000, gpu=3)

    answer = place(cluster.demand((small, 3), (large, 1)), cluster.snapshot, scoring=scoring)

    assert _spots(answer) == {"a": 2, "b": 1, "c": 1}


def test_exact_search_keeps_classes_that_ask_for_one_host_port_apart() -> None:
    cluster = Cluster([ledger("a", cpu=5000, gpu=5), ledger("b", cpu=5000, gpu=5)])
    wide, deep = member_class(cpu=2000, gpu=3, ports=(80,)), member_class(cpu=3000, gpu=2, ports=(80,))

    answer = place(cluster.demand((wide, 2), (deep, 2)), cluster.snapshot, scoring=Scoring.PACK)

    assert _unplaced(answer).fitting == 2


def test_a_resource_that_no_node_lists_fits_nowhere() -> None:
    cluster = Cluster([ledger("a"), ledger("b")])

    answer = _unplaced(place(cluster.demand((member_class(gpu=1), 1)), cluster.snapshot, scoring=Scoring.PACK))

    assert answer.classes[0].node_reasons == (("Insufficient nvidia.com/gpu", 2),)
    assert answer.wake_resources == {"nvidia.com/gpu"}


def test_a_resource_that_is_used_up_excludes_nobody_who_does_not_ask_for_it() -> None:
    cluster = Cluster([ledger("a", cpu=0, gpu=1)])
    cluster.charge("a", member_class(cpu=5000), uid="u")

    assert _spots(place(cluster.demand((member_class(gpu=1), 1)), cluster.snapshot, scoring=Scoring.PACK)) == {"a": 1}


def test_a_class_with_a_requirement_that_nothing_checks_is_never_placed() -> None:
    cluster = Cluster([ledger("a")])

    answer = place(
        cluster.demand((member_class(unsupported=("resource claims",)), 1)), cluster.snapshot, scoring=Scoring.PACK
    )

    assert _unplaced(answer).classes[0].node_reasons == ((NodeReason.UNSUPPORTED, 1),)


@pytest.mark.parametrize("need", [0, -1, 3])
def test_a_need_that_cannot_be_is_refused(need: int) -> None:
    cluster = Cluster([ledger("a")])

    with pytest.raises(ValueError, match=f"need is {need}"):
        place(cluster.demand((member_class(), 2), need=need), cluster.snapshot, scoring=Scoring.PACK)


@pytest.mark.parametrize(
    ("min_resources", "own", "shortfall"),
    [
        pytest.param({"cpu": 12_000}, {}, (), id="reached exactly"),
        pytest.param({"cpu": 12_001}, {}, (Shortfall("cpu", 12_001, 12_000),), id="missed by one"),
        pytest.param({"cpu": 13_000}, {("a", "cpu"): 500, ("b", "cpu"): 500}, (), id="with what the gang has"),
        pytest.param(
            {"cpu": 13_000},
            {("a", "cpu"): 500, ("cordoned", "cpu"): 4000, ("gone", "cpu"): 4000},
            (Shortfall("cpu", 13_000, 12_500),),
            id="what the gang has elsewhere is not usable",
        ),
        pytest.param({"a/b": 1}, {}, (Shortfall("a/b", 1, 0),), id="resource that no node lists"),
        pytest.param({"pods": 10**6}, {}, (), id="pods means the need"),
        pytest.param(
            {"cpu": 12_001, "a/b": 2},
            {("a", "a/b"): 1},
            (Shortfall("a/b", 2, 1), Shortfall("cpu", 12_001, 12_000)),
            id="every one that is missed",
        ),
    ],
)
def test_min_resources_must_be_free_on_usable_nodes(
    min_resources: dict[str, int], own: dict[tuple[str, str], int], shortfall: tuple[Shortfall, ...]
) -> None:
    cluster = Cluster(
        [
            ledger("a", cpu=8000),
            ledger("b", cpu=8000),
            ledger("overdrawn", cpu=1000),
            ledger("cordoned", cpu=8000, unschedulable=True),
        ]
    )
    cluster.charge("b", member_class(cpu=4000), uid="u1")
    cluster.charge("overdrawn", member_class(cpu=2000), uid="u2")
    plain = cluster.demand((member_class(cpu=1000), 2))
    held = tuple((node, resource, amount) for (node, resource), amount in own.items())
    demand = Demand(plain.classes, 2, min_resources=tuple(min_resources.items()), own=held)

    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)

    if shortfall:
        assert _unplaced(answer).shortfall == shortfall
        assert _unplaced(answer).obstructed
        assert _unplaced(answer).wake_resources >= {each.resource for each in shortfall}
        assert Cause.NODE_RULES in _unplaced(answer).wake
    else:
        assert isinstance(answer, Plan)


def test_sums_beyond_64_bits_stay_exact() -> None:
    cluster = Cluster([ledger(f"n{number:04}", cpu=2**53 - 2) for number in range(2000)])
    plain = cluster.demand((member_class(cpu=1), 1))
    demand = Demand(plain.classes, 1, min_resources=(("cpu", 2**64 + 7),))

    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)

    assert _unplaced(answer).shortfall == (Shortfall("cpu", 2**64 + 7, 2000 * (2**53 - 2)),)


def test_a_class_without_members_is_refused() -> None:
    cluster = Cluster([ledger("a")])

    with pytest.raises(ValueError, match="without members"):
        place(cluster.demand((member_class(), 0), (member_class(cpu=1), 1)), cluster.snapshot, scoring=Scoring.PACK)


def test_windows_are_searched_until_one_has_room() -> None:
    cluster = Cluster([ledger(f"n{number}", cpu=1000 * number) for number in range(6)])
    demand = cluster.demand((member_class(cpu=3000), 1))

    answer = place(demand, cluster.snapshot, scoring=Scoring.SPREAD, window_size=2)

    assert answer == Plan((Assignment(demand.classes[0].class_id, "n3", 1),), rows_scanned=4)


def test_a_gang_larger_than_every_window_is_placed_over_all_nodes() -> None:
    cluster = Cluster([ledger(f"n{number}", cpu=1000) for number in range(6)])

    answer = place(cluster.demand((member_class(cpu=1000), 6)), cluster.snapshot, scoring=Scoring.PACK, window_size=4)

    assert len(_spots(answer)) == 6


def test_a_gang_too_big_for_exact_search_says_that_its_figure_may_be_low() -> None:
    cluster = Cluster([ledger(f"n{number:03}", cpu=7 + number % 5, gpu=5 + number % 7) for number in range(60)])
    classes = [(member_class(cpu=cpu, gpu=gpu), 40) for cpu, gpu in ((2, 3), (3, 2), (1, 4), (4, 1), (2, 2))]

    answer = _unplaced(place(cluster.demand(*classes), cluster.snapshot, scoring=Scoring.PACK))

    assert not answer.exact
    assert "Room was found for" in sentence(answer)


def test_a_class_that_may_go_anywhere_yields_to_a_choosy_one_in_gangs_too_big_for_exact_search() -> None:
    # The plain class is the tighter one, and by name it would take the nodes that the other one needs.
    chosen = [ledger(f"a{number:03}", cpu=1000, labels={"zone": "a"}) for number in range(400)]
    others = [ledger(f"b{number:03}", cpu=1000) for number in range(400)]
    cluster = Cluster(chosen + others)
    demand = cluster.demand((member_class(cpu=1000), 400), (member_class(cpu=1000, selector={"zone": "a"}), 150))

    answer = place(demand, cluster.snapshot, scoring=Scoring.PACK)

    assert sum(_spots(answer).values()) == 550

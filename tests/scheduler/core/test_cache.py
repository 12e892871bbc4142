"""The cache: where a pod is charged, and that nothing but observation and intent decides it."""

from collections.abc import Callable
from itertools import chain

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gangline.contract.meta import Key
from scheduler.core.cache import PODS_AT_ONCE, Cache, Intent, IntentState, charged_node
from scheduler.core.model.ledger import Ledger, facts_of
from scheduler.core.model.member import Member, MemberReader
from scheduler.core.model.member_class import ClassTable
from tests.support.builders import node, pod


class Books:
    """A cache with what is needed to fill it."""

    def __init__(self) -> None:
        self.classes = ClassTable()
        self.reader = MemberReader(self.classes)
        self.cache = Cache(self.classes)

    def member(self, name: str, **fields: object) -> Member:
        return self.reader.member_of(pod(name, **fields), ("gangline",))  # type: ignore[arg-type]

    def used_cpu(self) -> dict[str, int]:
        ledgers = self.cache.ledgers.items()
        return {name: ledger.used["cpu"] for name, ledger in ledgers if ledger.used.get("cpu")}


INTENTS = [None, *(Intent("n", 1, state) for state in IntentState)]


@pytest.mark.parametrize("intent", INTENTS, ids=str)
@pytest.mark.parametrize("deleting", [False, True])
def test_a_pod_on_a_node_is_charged_there_whatever_was_intended(intent: Intent | None, deleting: bool) -> None:
    assert charged_node(Books().member("p", node="m", deleting=deleting), intent) == "m"


@pytest.mark.parametrize("deleting", [False, True])
@pytest.mark.parametrize(
    ("state", "where"),
    [
        (None, ""),
        (IntentState.SENT, "n"),
        (IntentState.UNKNOWN, "n"),
        (IntentState.CONFIRMED, "n"),
        (IntentState.ELSEWHERE, ""),
        (IntentState.LOST, ""),
    ],
)
def test_a_pod_on_no_node_is_charged_where_it_is_intended(
    state: IntentState | None, where: str, deleting: bool
) -> None:
    intent = Intent("n", 1, state) if state is not None else None

    assert charged_node(Books().member("p", deleting=deleting), intent) == where


@pytest.mark.parametrize("intent", INTENTS, ids=str)
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_charged_nowhere(intent: Intent | None, phase: str) -> None:
    assert charged_node(Books().member("p", node="m", phase=phase), intent) == ""


@pytest.mark.parametrize("intent", INTENTS, ids=str)
def test_a_pod_that_is_gone_is_charged_nowhere(intent: Intent | None) -> None:
    assert charged_node(None, intent) == ""


def test_an_intent_ends_with_an_observation_and_never_comes_back() -> None:
    books = Books()
    books.cache.observe_pod(books.member("p"))
    books.cache.intend("uid-p", Intent("n1", 1))
    assert books.used_cpu() == {"n1": 1000}

    books.cache.observe_pod(books.member("p", node="n2"))
    books.cache.intend("uid-p", Intent("n1", 1, IntentState.CONFIRMED))

    assert books.used_cpu() == {"n2": 1000}
    assert books.cache.intents == {}


def test_nothing_is_left_when_all_have_gone() -> None:
    books = Books()
    books.cache.observe_node("n1", facts_of(node("n1")))
    books.cache.observe_pod(books.member("p", node="n1"))
    books.cache.remove_node("n1")
    assert books.used_cpu() == {"n1": 1000}

    books.cache.remove_pod("uid-p")

    assert (books.cache.ledgers, books.cache.members, len(books.classes)) == ({}, {}, 0)
    assert books.cache.uid_at(Key("team", "p")) is None


def test_gains_tell_what_came_free_and_on_which_nodes_rules_changed() -> None:
    books = Books()
    books.cache.observe_node("n1", facts_of(node("n1")))
    assert books.cache.take_gains().new_node
    books.cache.observe_pod(books.member("p", node="n1"))
    assert not books.cache.take_gains()

    books.cache.remove_pod("uid-p")
    assert books.cache.take_gains().resources == {"cpu", "pods"}
    books.cache.observe_node("n1", facts_of(node("n1", memory="32Gi")))
    assert books.cache.take_gains().resources == {"memory"}
    books.cache.observe_node("n1", facts_of(node("n1", memory="1Gi", labels={"a": "b"})))
    gains = books.cache.take_gains()

    assert (gains.resources, gains.rules) == (set(), True)


def problems_of(cache: Cache) -> list[str]:
    return list(chain.from_iterable(cache.validate()))


def rebuilt(books: Books) -> Cache:
    """A cache made of nothing but what was observed and is intended."""
    fresh = Cache(books.classes)
    for name, ledger in books.cache.ledgers.items():
        if ledger.node is not None:
            fresh.observe_node(name, ledger.node)
    for uid, (key, on) in books.cache._unreadable.items():
        fresh.pod_unreadable(uid, key, on, "")
    for uid, member in books.cache.members.items():
        fresh.observe_pod(member)
        fresh.intend(uid, books.cache.intents.get(uid))
    return fresh


def books_of(ledger: Ledger) -> tuple[object, ...]:
    return ledger.node, ledger.used, ledger.ports, ledger.charges, ledger.closed is None


@pytest.mark.parametrize(
    ("break_it", "expected"),
    [
        pytest.param(lambda cache: cache.names.update({Key("team", "p"): "uid-q"}), "pod name team/p", id="a-name"),
        pytest.param(
            lambda cache: cache.ledgers["n1"].release("uid-p"), "node n1: pod uid-p", id="a-charge-that-is-missing"
        ),
        pytest.param(
            lambda cache: cache.ledgers["n1"].charge("uid-x", 0, cache._classes[0]),
            "node n1: pod uid-x",
            id="a-charge-too-many",
        ),
        pytest.param(lambda cache: cache.ledgers["n1"].used.update(cpu=1), "node n1: used", id="a-sum"),
        pytest.param(
            lambda cache: cache.ledgers.update(n9=Ledger("n9")), "node n9: nothing needs", id="an-idle-ledger"
        ),
        pytest.param(
            lambda cache: cache.intents.update({"uid-x": Intent("n1", 1)}),
            "intent for unknown pod uid-x",
            id="an-intent",
        ),
        pytest.param(
            lambda cache: setattr(cache.ledgers["n1"], "closed", "for no reason"),
            "node n1: is for no reason",
            id="closed-for-nothing",
        ),
        pytest.param(lambda cache: setattr(cache.ledgers["n2"], "closed", None), "node n2: is open", id="not-closed"),
        pytest.param(
            lambda cache: cache._closing["n2"].pop("uid-u"),
            "node n2: is not closed by pod uid-u",
            id="closed-without-its-pod",
        ),
        pytest.param(
            lambda cache: cache._closing["n2"].update({"uid-p": "why"}),
            "node n2: is closed by pod uid-p for nothing",
            id="closed-by-another",
        ),
    ],
)
def test_what_is_wrong_is_found_and_named(break_it: Callable[[Cache], object], expected: str) -> None:
    books = Books()
    books.cache.observe_node("n1", facts_of(node("n1")))
    books.cache.observe_pod(books.member("p", node="n1"))
    books.cache.pod_unreadable("uid-u", Key("team", "u"), "n2", "bad")
    assert problems_of(books.cache) == []

    break_it(books.cache)

    assert [problem for problem in problems_of(books.cache) if problem.startswith(expected)]


def test_a_validation_bears_changes_between_its_slices() -> None:
    books = Books()
    for number in range(3 * PODS_AT_ONCE):
        books.cache.observe_pod(books.member(f"p{number}", node=f"n{number % 100}"))

    problems = []
    for step, piece in enumerate(books.cache.validate()):
        problems += piece
        for number in range(step, 3 * PODS_AT_ONCE, 20):
            books.cache.remove_pod(f"uid-p{number}")
            books.cache.observe_pod(books.member(f"q{number}", node=f"m{number % 100}"))

    assert problems == []


@pytest.mark.parametrize(
    ("pods", "nodes", "unreadable", "expected"),
    [
        pytest.param({"uid-p": ("n1", False)}, {"n1": "uid-n1"}, set(), [], id="alike"),
        pytest.param({}, {"n1": "uid-n1"}, set(), ["pod uid-p"], id="a-pod-that-has-gone"),
        pytest.param({"uid-p": ("n2", False)}, {"n1": "uid-n1"}, set(), ["pod uid-p"], id="a-pod-elsewhere"),
        pytest.param({"uid-p": ("n1", True)}, {"n1": "uid-n1"}, set(), ["pod uid-p"], id="a-pod-that-has-finished"),
        pytest.param(
            {"uid-p": ("n1", False), "uid-q": ("", False)}, {"n1": "uid-n1"}, set(), ["pod uid-q"], id="an-unknown-pod"
        ),
        pytest.param({"uid-p": ("n1", False)}, {}, set(), ["node n1"], id="a-node-that-has-gone"),
        pytest.param({"uid-p": ("n1", False)}, {"n1": "other"}, set(), ["node n1"], id="a-node-made-again"),
        pytest.param({}, {}, {"uid-p", "uid-n1"}, [], id="what-cannot-be-read-is-not-compared"),
    ],
)
def test_the_cache_is_compared_with_fresh_lists(
    pods: dict[str, tuple[str, bool]], nodes: dict[str, str], unreadable: set[str], expected: list[str]
) -> None:
    books = Books()
    books.cache.observe_node("n1", facts_of(node("n1")))
    books.cache.observe_pod(books.member("p", node="n1"))

    found = chain.from_iterable(books.cache.differences(pods, nodes, except_uids=unreadable))

    assert [difference.partition(":")[0] for difference in found] == expected


NAMES = st.sampled_from(["p0", "p1", "p2"])
NODES = st.sampled_from(["n0", "n1"])


class CacheMachine(RuleBasedStateMachine):
    """Any observations and intents in any order, against sums made from scratch."""

    def __init__(self) -> None:
        super().__init__()
        self.books = Books()

    @rule(
        name=NAMES,
        on=st.one_of(st.none(), NODES),
        cpu=st.sampled_from([1, 2, "bad"]),
        phase=st.sampled_from(["Pending", "Running", "Succeeded"]),
        deleting=st.booleans(),
        host_port=st.sampled_from([None, 80]),
    )
    def observe_pod(
        self, name: str, on: str | None, cpu: int | str, phase: str, deleting: bool, host_port: int | None
    ) -> None:
        member = self.books.member(name, node=on, cpu=cpu, phase=phase, deleting=deleting, host_port=host_port)
        self.books.cache.observe_pod(member)

    @rule(name=NAMES)
    def remove_pod(self, name: str) -> None:
        self.books.cache.remove_pod(f"uid-{name}")

    @rule(name=NAMES, on=st.one_of(st.just(""), NODES))
    def pod_unreadable(self, name: str, on: str) -> None:
        if f"uid-{name}" not in self.books.cache.members:
            self.books.cache.pod_unreadable(f"uid-{name}", Key("team", name), on, "bad")

    @rule(name=NAMES, intent=st.one_of(st.none(), st.builds(Intent, NODES, st.just(1), st.sampled_from(IntentState))))
    def intend(self, name: str, intent: Intent | None) -> None:
        self.books.cache.intend(f"uid-{name}", intent)

    @rule(name=NODES, cpu=st.integers(1, 4), uid=st.sampled_from(["a", "b"]))
    def observe_node(self, name: str, cpu: int, uid: str) -> None:
        self.books.cache.observe_node(name, facts_of(node(name, cpu=cpu, uid=uid)))

    @rule(name=NODES)
    def remove_node(self, name: str) -> None:
        self.books.cache.remove_node(name)

    @invariant()
    def safety_the_cache_equals_one_built_from_scratch(self) -> None:
        assert problems_of(self.books.cache) == []
        fresh = rebuilt(self.books)
        assert (self.books.cache.names, self.books.cache.intents) == (fresh.names, fresh.intents)
        assert {name: books_of(ledger) for name, ledger in self.books.cache.ledgers.items()} == {
            name: books_of(ledger) for name, ledger in fresh.ledgers.items()
        }

    @invariant()
    def safety_charges_are_what_the_table_says(self) -> None:
        cache = self.books.cache
        expected: dict[str, int] = {}
        for uid, member in cache.members.items():
            where = charged_node(member, cache.intents.get(uid))
            cpu = dict(self.books.classes[member.class_id].requests).get("cpu", 0)
            if where and cpu:
                expected[where] = expected.get(where, 0) + cpu
        assert self.books.used_cpu() == expected

    @invariant()
    def safety_no_class_outlives_its_members(self) -> None:
        assert len(self.books.classes) == len({member.class_id for member in self.books.cache.members.values()})


TestCacheMachine = CacheMachine.TestCase

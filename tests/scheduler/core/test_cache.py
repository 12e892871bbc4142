"""The cache: where a pod is charged, and that nothing but observation and intent decides it."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gangline.contract.meta import Key
from scheduler.core.cache import Cache, Intent, IntentState, charged_node
from scheduler.core.model.ledger import facts_of
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


def test_a_wrong_charge_is_found_and_named() -> None:
    books = Books()
    books.cache.observe_pod(books.member("p", node="n1"))
    ledger = books.cache.ledgers["n1"]

    ledger.release("uid-p")

    assert any("n1" in problem for problem in books.cache.validate())


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

    found = books.cache.differences(pods, nodes, except_uids=unreadable)

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
        assert self.books.cache.validate() == []

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

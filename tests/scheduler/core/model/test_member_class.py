"""Member classes: what a pod's class is, and how long a class lives."""

from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gangline.contract.pod import Pod
from gangline.contract.quantity import QuantityError
from gangline.contract.requests import HostPort
from scheduler.core.model.member_class import ClassId, ClassTable, MemberClass, NodeRules, class_of


def _pod(**spec: Any) -> Pod:
    return msgspec.convert({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}, Pod)


def _container(**requests: str) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests}}


def _required(**terms: Any) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms["nodeSelectorTerms"] if "list" in terms else terms}


def test_a_class_holds_exact_requests_sorted_with_one_pod_and_no_zeros() -> None:
    pod = _pod(containers=[_container(cpu="1500m", memory="1Gi", **{"nvidia.com/gpu": "0"})])

    assert class_of(pod).requests == (("cpu", 1500), ("memory", 2**30), ("pods", 1))


def test_a_class_holds_ports_selector_and_affinity() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    pod = _pod(
        containers=[{"name": "c", "ports": [{"hostPort": 80}, {"hostPort": 80}]}],
        nodeSelector={"b": "2", "a": "1"},
        affinity={"nodeAffinity": _required(nodeSelectorTerms=[term])},
    )

    one = class_of(pod)

    assert one.host_ports == (HostPort("0.0.0.0", "TCP", 80),)
    assert one.rules.selector == (("a", "1"), ("b", "2"))
    assert one.rules.label_values == {"a": frozenset("1"), "b": frozenset("2"), "zone": frozenset("a")}


def test_whoever_compares_a_label_tells_all_its_values_apart() -> None:
    expressions = [
        {"key": "a", "operator": "In", "values": ["1"]},
        {"key": "a", "operator": "NotIn", "values": ["2", "3"]},
        {"key": "b", "operator": "Exists"},
        {"key": "c", "operator": "Gt", "values": ["1"]},
        {"key": "c", "operator": "In", "values": ["5"]},
        {"key": "d", "operator": "Lt", "values": ["1"]},
    ]
    terms = [{"matchExpressions": expressions[:3]}, {"matchExpressions": expressions[3:]}]
    pod = _pod(
        containers=[_container()],
        nodeSelector={"a": "0"},
        affinity={"nodeAffinity": _required(nodeSelectorTerms=terms)},
    )

    assert class_of(pod).rules.label_values == {"a": frozenset("0123"), "b": frozenset(), "c": None, "d": None}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param({"containers": [_container(cpu="1")]}, {"containers": [_container(cpu="1000m")]}, id="spelling"),
        pytest.param(
            {"tolerations": [{"key": "a"}, {"key": "b"}]},
            {"tolerations": [{"key": "b"}, {"key": "a"}, {"key": "a"}]},
            id="tolerations in another order and twice",
        ),
        pytest.param({"priority": 1}, {"priority": 2}, id="priority"),
        pytest.param({"nodeSelector": {}}, {}, id="empty selector"),
        pytest.param({"schedulerName": "a"}, {"schedulerName": "b"}, id="scheduler"),
    ],
)
def test_pods_that_look_the_same_share_a_class(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert class_of(_pod(**left)) == class_of(_pod(**right))
    assert hash(class_of(_pod(**left))) == hash(class_of(_pod(**right)))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"containers": [_container(cpu="2")]}, id="requests"),
        pytest.param({"nodeSelector": {"a": "1"}}, id="selector"),
        pytest.param({"tolerations": [{"key": "a"}]}, id="tolerations"),
        pytest.param({"affinity": {"nodeAffinity": _required(nodeSelectorTerms=[])}}, id="terms that match nothing"),
        pytest.param({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, id="claim"),
    ],
)
def test_pods_that_differ_in_what_placement_reads_do_not(spec: dict[str, Any]) -> None:
    assert class_of(_pod(**spec)) != class_of(_pod())


_POD_TERM = [{"topologyKey": "kubernetes.io/hostname"}]


@pytest.mark.parametrize(
    ("spec", "phrases"),
    [
        pytest.param({}, (), id="plain"),
        pytest.param(
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _POD_TERM}}},
            ("required inter-pod affinity",),
            id="affinity",
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _POD_TERM}}},
            ("required inter-pod anti-affinity",),
            id="anti-affinity",
        ),
        pytest.param(
            {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}},
            (),
            id="preferred affinity",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
            ("topology spread with DoNotSchedule",),
            id="hard spread",
        ),
        pytest.param({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}, (), id="soft spread"),
        pytest.param(
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "w", "ephemeral": {}}]},
            ("persistent volume claims", "generic ephemeral volumes"),
            id="volumes",
        ),
        pytest.param({"volumes": [{"name": "v", "emptyDir": {}}]}, (), id="plain volume"),
        pytest.param({"resourceClaims": [{"name": "gpu"}]}, ("resource claims",), id="resource claims"),
    ],
)
def test_requirements_that_nothing_checks_yet_are_named(spec: dict[str, Any], phrases: tuple[str, ...]) -> None:
    assert class_of(_pod(**spec)).unsupported == phrases


def test_an_illegal_quantity_is_an_error_that_names_it() -> None:
    with pytest.raises(QuantityError, match="four"):
        class_of(_pod(containers=[_container(cpu="four")]))


def test_names_in_terms_can_change_the_verdict() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = [{"matchFields": [field]}]
    pod = _pod(affinity={"nodeAffinity": _required(nodeSelectorTerms=terms)})

    assert class_of(pod).rules.node_names == {"n1"}


class ClassTableMachine(RuleBasedStateMachine):
    """Users come and go; the table must know exactly the classes that have one."""

    def __init__(self) -> None:
        super().__init__()
        self.table = ClassTable()
        self.users: list[tuple[ClassId, MemberClass]] = []
        self.seen: dict[ClassId, MemberClass] = {}

    @rule(cpu=st.integers(1, 3))
    def acquire(self, cpu: int) -> None:
        one = MemberClass(requests=(("cpu", cpu), ("pods", 1)), rules=NodeRules())
        class_id = self.table.acquire(one)
        assert self.seen.setdefault(class_id, one) == one, "an id was used twice"
        self.users.append((class_id, one))

    @precondition(lambda self: self.users)
    @rule(place=st.integers(0))
    def release(self, place: int) -> None:
        class_id, _ = self.users.pop(place % len(self.users))
        self.table.release(class_id)

    @invariant()
    def safety_every_user_finds_its_class(self) -> None:
        for class_id, one in self.users:
            assert self.table[class_id] == one

    @invariant()
    def safety_a_class_without_user_is_gone(self) -> None:
        assert set(self.table) == {class_id for class_id, _ in self.users}
        assert len(self.table) == len({one for _, one in self.users})


TestClassTable = ClassTableMachine.TestCase


def test_releasing_a_class_that_nobody_uses_is_an_error() -> None:
    table = ClassTable()
    class_id = table.acquire(MemberClass(requests=(("pods", 1),)))
    table.release(class_id)

    assert class_id not in table
    with pytest.raises(KeyError):
        table.release(class_id)

import pytest

from gangline.contract.node import Taint
from gangline.contract.pod import NodeSelectorTerm, SelectorRequirement, Toleration
from gangline.contract.policy import LabelSelector, LabelSelectorRequirement
from gangline.contract.selectors import (
    NodeSelectorMatcher,
    label_selector_matches,
    node_selector_matches,
    tolerates,
    untolerated,
)

LABELS = {"zone": "a", "cores": "8", "empty": "", "huge": str(2**63), "padded": "008", "negative": "-3"}


def label(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(SelectorRequirement(key=key, operator=operator, values=values),))


def field(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(SelectorRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        pytest.param(label("zone", "In", "a", "b"), True, id="In"),
        pytest.param(label("zone", "In", "b"), False, id="In, another value"),
        pytest.param(label("rack", "In", "a"), False, id="In, no label"),
        pytest.param(label("zone", "In"), False, id="In without values"),
        pytest.param(label("zone", "NotIn", "b"), True, id="NotIn"),
        pytest.param(label("zone", "NotIn", "a"), False, id="NotIn, the value"),
        pytest.param(label("rack", "NotIn", "a"), True, id="NotIn, no label"),
        pytest.param(label("zone", "NotIn"), False, id="NotIn without values"),
        pytest.param(label("empty", "Exists"), True, id="Exists, empty value"),
        pytest.param(label("rack", "Exists"), False, id="Exists, no label"),
        pytest.param(label("zone", "Exists", "a"), False, id="Exists with a value is malformed"),
        pytest.param(label("rack", "DoesNotExist"), True, id="DoesNotExist"),
        pytest.param(label("empty", "DoesNotExist"), False, id="DoesNotExist, empty value"),
        pytest.param(label("cores", "Gt", "7"), True, id="Gt"),
        pytest.param(label("cores", "Gt", "8"), False, id="Gt, equal"),
        pytest.param(label("cores", "Lt", "9"), True, id="Lt"),
        pytest.param(label("cores", "Lt", "8"), False, id="Lt, equal"),
        pytest.param(label("padded", "Gt", "7"), True, id="Gt, leading zeros"),
        pytest.param(label("negative", "Lt", "-2"), True, id="Lt, negative"),
        pytest.param(label("cores", "Gt", "x"), False, id="Gt, no number"),
        pytest.param(label("zone", "Gt", "1"), False, id="Gt, label is no number"),
        pytest.param(label("cores", "Gt", "1", "2"), False, id="Gt, two numbers"),
        pytest.param(label("cores", "Gt"), False, id="Gt, no value"),
        pytest.param(label("cores", "Gt", "1_0"), False, id="Gt, underscore"),
        pytest.param(label("huge", "Gt", "1"), False, id="Gt, beyond 64 bits"),
        pytest.param(label("rack", "Lt", "1"), False, id="Lt, no label"),
        pytest.param(label("zone", "Near", "a"), False, id="unknown operator"),
        pytest.param(field("metadata.name", "In", "n1"), True, id="field In"),
        pytest.param(field("metadata.name", "In", "n2"), False, id="field In, another"),
        pytest.param(field("metadata.name", "NotIn", "n2"), True, id="field NotIn"),
        pytest.param(field("metadata.name", "NotIn", "n1"), False, id="field NotIn, itself"),
        pytest.param(field("metadata.name", "In", "n1", "n2"), False, id="field with two values"),
        pytest.param(field("metadata.name", "Exists"), False, id="field Exists"),
        pytest.param(field("metadata.uid", "In", "n1"), False, id="unknown field"),
        pytest.param(NodeSelectorTerm(), False, id="empty term"),
        pytest.param(NodeSelectorTerm(match_expressions=(), match_fields=()), False, id="term of empty lists"),
    ],
)
def test_node_selector_term(term: NodeSelectorTerm, matches: bool) -> None:
    assert node_selector_matches((term,), LABELS, "n1") is matches


def test_terms_are_alternatives_and_requirements_of_one_term_hold_together() -> None:
    both = NodeSelectorTerm(
        match_expressions=(SelectorRequirement(key="zone", operator="In", values=("a",)),),
        match_fields=(SelectorRequirement(key="metadata.name", operator="In", values=("n2",)),),
    )

    assert not node_selector_matches((both,), LABELS, "n1")
    assert node_selector_matches((both,), LABELS, "n2")
    assert node_selector_matches((both, label("cores", "Exists")), LABELS, "n1")


def test_one_matcher_serves_many_nodes() -> None:
    matcher = NodeSelectorMatcher((label("cores", "Gt", "4"), field("metadata.name", "In", "n1")))

    found = [matcher.matches({"cores": cores}, name) for cores, name in (("8", "n2"), ("4", "n2"), ("4", "n1"))]

    assert found == [True, False, True]


@pytest.mark.parametrize("terms", [None, ()], ids=["null", "empty"])
def test_no_terms_match_nothing(terms: tuple[NodeSelectorTerm, ...] | None) -> None:
    assert not node_selector_matches(terms, LABELS, "n1")


def test_a_node_without_labels_matches_what_is_absent() -> None:
    assert node_selector_matches((label("zone", "DoesNotExist"),), None, "n1")


GPU = Taint(key="gpu", value="a100", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        pytest.param(Toleration(key="gpu", operator="Equal", value="a100"), GPU, True, id="Equal"),
        pytest.param(Toleration(key="gpu", value="a100"), GPU, True, id="Equal is the default"),
        pytest.param(Toleration(key="gpu", value="h100"), GPU, False, id="Equal, another value"),
        pytest.param(
            Toleration(key="gpu"), Taint(key="gpu", effect="NoSchedule"), True, id="Equal, both without value"
        ),
        pytest.param(
            Toleration(key="gpu", value=""), Taint(key="gpu", effect="NoSchedule"), True, id="empty is absent"
        ),
        pytest.param(Toleration(key="gpu", operator="Exists"), GPU, True, id="Exists"),
        pytest.param(Toleration(key="tpu", operator="Exists"), GPU, False, id="Exists, another key"),
        pytest.param(Toleration(operator="Exists"), GPU, True, id="everything"),
        pytest.param(Toleration(operator="Exists", effect="NoExecute"), GPU, False, id="everything of another effect"),
        pytest.param(Toleration(key="gpu", operator="Exists", effect="NoSchedule"), GPU, True, id="same effect"),
        pytest.param(Toleration(key="gpu", operator="Near", value="a100"), GPU, False, id="unknown operator"),
        *(
            pytest.param(
                Toleration(key="cost", operator=operator, value=wanted),
                Taint(key="cost", value=value, effect="NoSchedule"),
                tolerated,
                id=f"{value} {operator} {wanted}",
            )
            for value, operator, wanted, tolerated in (
                ("5", "Gt", "4", True),
                ("5", "Gt", "5", False),
                ("5", "Lt", "6", True),
                ("5", "Lt", "5", False),
                ("-5", "Lt", "0", True),
                ("05", "Gt", "4", False),
                ("5", "Gt", "04", False),
                ("five", "Gt", "4", False),
                ("5", "Gt", "", False),
                ("9223372036854775808", "Gt", "4", False),
            )
        ),
    ],
)
def test_toleration(toleration: Toleration, taint: Taint, tolerated: bool) -> None:
    assert tolerates((toleration,), taint) is tolerated


def test_any_of_the_tolerations_will_do() -> None:
    assert tolerates((Toleration(key="tpu", operator="Exists"), Toleration(operator="Exists")), GPU)
    assert not tolerates(None, GPU)


def test_first_hard_taint_without_toleration() -> None:
    soft = Taint(key="old", effect="PreferNoSchedule")
    hard = Taint(key="broken", effect="NoExecute")

    assert untolerated(None, (soft, hard, GPU)) == hard
    assert untolerated((Toleration(key="broken", operator="Exists"),), (soft, hard, GPU)) == GPU
    assert untolerated((Toleration(operator="Exists"),), (soft, hard, GPU)) is None
    assert untolerated(None, (soft,)) is None
    assert untolerated(None, None) is None


def wants(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param(None, False, id="null matches nothing"),
        pytest.param(LabelSelector(), True, id="empty matches everything"),
        pytest.param(LabelSelector(match_labels={"app": "web"}), True, id="labels"),
        pytest.param(LabelSelector(match_labels={"app": "web", "tier": "x"}), False, id="labels, one missing"),
        pytest.param(wants("app", "In", "web"), True, id="In"),
        pytest.param(wants("app", "NotIn", "web"), False, id="NotIn"),
        pytest.param(wants("tier", "NotIn", "web"), True, id="NotIn, no label"),
        pytest.param(wants("app", "Exists"), True, id="Exists"),
        pytest.param(wants("app", "DoesNotExist"), False, id="DoesNotExist"),
        pytest.param(wants("app", "Gt", "1"), False, id="Gt is not for labels of pods"),
        pytest.param(
            LabelSelector(
                match_labels={"app": "web"}, match_expressions=wants("app", "NotIn", "web").match_expressions
            ),
            False,
            id="both must hold",
        ),
    ],
)
def test_label_selector(selector: LabelSelector | None, matches: bool) -> None:
    assert label_selector_matches(selector, {"app": "web"}) is matches


def test_pod_without_labels() -> None:
    assert label_selector_matches(LabelSelector(), None)
    assert not label_selector_matches(wants("app", "Exists"), None)

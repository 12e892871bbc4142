"""The largest gang of a shape is what a scheduler would start, and not one member more."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangline.cli.cluster.rehearsal import rehearse
from gangline.cli.cluster.survey import Survey
from gangline.cli.roominess import ShapeError, report_on, shape_of
from gangline.contract.names import DEFAULT_SCHEDULER_NAME
from gangline.contract.node import Node, Taint
from gangline.contract.pod import Pod
from tests.support.builders import group, node, pod
from tests.support.stuck import survey_of

TAINT = Taint(key="gpu", effect="NoSchedule")
_fields = st.fixed_dictionaries(
    {"cpu": st.integers(0, 6), "pods": st.integers(0, 5)},
    optional={
        "memory": st.sampled_from(("1Gi", "3Gi")),
        "unschedulable": st.booleans(),
        "taints": st.just((TAINT,)),
        "labels": st.just({"pool": "a"}),
    },
)
_used = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4)


def cluster(fields: list[dict[str, Any]], used: list[tuple[int, int]]) -> tuple[list[Node], list[Pod]]:
    there = [node(f"n{number}", **one) for number, one in enumerate(fields)]
    taken = [
        pod(f"p{number}", node=f"n{where}", cpu=cpu, phase="Running")
        for number, (where, cpu) in enumerate(used)
        if where < len(fields)
    ]
    return there, taken


@settings(max_examples=60, deadline=None)
@given(
    fields=st.lists(_fields, min_size=1, max_size=4),
    used=_used,
    cpu=st.integers(1, 3),
    memory=st.sampled_from((None, "1Gi")),
    selector=st.sampled_from(((), ("pool=a",))),
)
def test_the_largest_gang_starts_and_a_larger_one_does_not(
    fields: list[dict[str, Any]], used: list[tuple[int, int]], cpu: int, memory: str | None, selector: tuple[str, ...]
) -> None:
    there, taken = cluster(fields, used)
    shape = shape_of(str(cpu), memory, (), selector, ())
    largest = report_on(survey_of(*there, *taken), shape).largest_gang
    assert largest is not None

    def bound(size: int) -> int:
        rules: dict[str, Any] = {"selector": dict(one.split("=") for one in selector)} if selector else {}
        members = [pod(f"g-{number}", group="g", cpu=cpu, memory=memory, **rules) for number in range(size)]
        survey = survey_of(*there, *taken, group("g", size), *members)
        return len(rehearse(survey, (DEFAULT_SCHEDULER_NAME,)).binds)

    assert bound(largest) == largest
    assert bound(largest + 1) == 0


def test_a_resource_cannot_be_asked_for_twice() -> None:
    with pytest.raises(ShapeError, match="cpu is asked for twice, with 2 and 1"):
        shape_of("2", None, ("cpu=1",), (), ())


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        ("nvidia.com/gpu=1.5", "nvidia.com/gpu: a member cannot ask for 1.5: give a whole number"),
        ("nvidia.com/gpu=500m", "give a whole number"),
        ("nvidia.com/gpu=-1", "give 0 or more"),
        ("nvidia.com/gpu=", "is not NAME=QUANTITY"),
        ("=1", "is not NAME=QUANTITY"),
    ],
)
def test_what_no_member_can_ask_for_is_refused(request_: str, complaint: str) -> None:
    with pytest.raises(ShapeError, match=complaint):
        shape_of(None, None, (request_,), (), ())


@pytest.mark.parametrize("request_", ["nvidia.com/gpu=2k", "nvidia.com/gpu=1.0", "ephemeral-storage=1.5", "cpu=1.5"])
def test_what_a_member_can_ask_for_is_taken(request_: str) -> None:
    assert shape_of(None, None, (request_,), (), ()).member is not None


@pytest.mark.parametrize("key", ["", "gpu=true", "gpu:NoSchedule", "a,b", "a b"])
def test_what_is_no_key_of_a_taint_is_refused(key: str) -> None:
    with pytest.raises(ShapeError, match="is no key of a taint"):
        shape_of("1", None, (), (), (key,))


def test_a_member_that_asks_for_nothing_is_said_to() -> None:
    report = report_on(Survey(at=datetime.now(UTC)), shape_of("0", None, (), (), ()))

    assert report.summary == "Not one member with no requests would fit now on 0 nodes."

"""The picture that `gangline sandbox` keeps on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.cli.cluster.survey import Survey
from gangline.cli.live.picture import Frame, lines
from tests.support.builders import group, node, pod
from tests.support.stuck import survey_of

SAYS = (
    "Unschedulable",
    "0/2 nodes are available: 2 Insufficient cpu. 1 of 3 members fit; 1 more needs 6 cpu.",
)
BUSY = survey_of(
    node("node-0", cpu=8, memory="32Gi"),
    node("node-1", cpu=8, memory="32Gi"),
    group("train", 3),
    group("serve", 1),
    *(pod(f"train-{index}", group="train", cpu=6, said=SAYS, created_s=40.0) for index in range(3)),
    pod("serve-0", group="serve", cpu=4, memory="8Gi", node="node-0", phase="Running"),
    pod("alone", cpu=1),
)


def drawn(survey: Survey, width: int = 100, height: int = 40, *, is_plain: bool = False, foot: str = "") -> list[str]:
    frame = Frame(width=width, height=height, is_plain=is_plain)
    return [line.plain.rstrip() for line in lines(survey, frame, head=("here",), foot=foot)]


def test_it_shows_nodes_gangs_and_what_waits() -> None:
    assert drawn(BUSY, is_plain=True, foot="said last") == [
        "here",
        "2 nodes, 5 pods: 4 Pending, 1 Running",
        "",
        "NODE    CPU                           MEMORY                             PODS",
        "node-0  ############............ 4/8  ######.................. 8Gi/32Gi  1",
        "node-1  ........................ 0/8  ........................ 0/32Gi    0",
        "",
        "GANG        PHASE       MIN RUN WAIT FOR   WHY",
        "team/train  Scheduling  3   0   3    60s   Unschedulable: 1 of 3 fit, Insufficient cpu",
        "team/serve  Running     1   1   0",
        "",
        "PODS THAT WAIT, IN NO GANG",
        "team/alone  no scheduler has spoken",
        "",
        "said last",
    ]


def test_a_narrow_terminal_still_has_the_reason() -> None:
    assert drawn(BUSY, width=50)[2:] == [
        "",
        "NODE    CPU                           PODS",
        "node-0  ████████████░░░░░░░░░░░░ 4/8  1",
        "node-1  ░░░░░░░░░░░░░░░░░░░░░░░░ 0/8  0",
        "",
        "GANG        RUN/MIN WHY",
        "team/train  0/3 Unschedulable: 1 of 3 fit, Insufficient cpu"[:50],
        "team/serve  1/1",
        "",
        "PODS THAT WAIT, IN NO GANG",
        "team/alone  no scheduler has spoken",
    ]


def test_what_does_not_fit_is_counted() -> None:
    many = survey_of(
        *(node(f"node-{index:02}", cpu=8) for index in range(30)), *(group(f"g-{index}", 2) for index in range(30))
    )

    shown = drawn(many, height=20)

    assert len(shown) == 20
    assert [line for line in shown if line.startswith("...")] == ["... and 24 nodes more", "... and 24 gangs more"]


@pytest.mark.parametrize("survey", [BUSY, survey_of()], ids=["busy", "empty"])
@given(width=st.integers(1, 250), height=st.integers(1, 60), foot=st.sampled_from(["", "x" * 300]))
def test_it_fits_every_terminal(survey: Survey, width: int, height: int, foot: str) -> None:
    found = lines(survey, Frame(width=width, height=height), head=("h" * 300,), foot=foot)

    assert len(found) <= height
    assert all(line.cell_len <= width for line in found)

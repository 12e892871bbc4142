"""Rows of `gangline status`: phases, figures, and why in a few words."""

from typing import Any

import pytest

from gangline.cli.cluster.rehearsal import rehearse
from gangline.cli.explain.case import cases
from gangline.cli.explain.floor import Floor
from gangline.cli.gangs import GangRow, brief, rows
from gangline.contract.meta import ApiObject
from gangline.contract.names import DEFAULT_SCHEDULER_NAME
from gangline.contract.pod import Pod
from tests.support.builders import group, job_pod, node, owner, pod
from tests.support.stuck import survey_of

NAMES = (DEFAULT_SCHEDULER_NAME,)


def status(*things: ApiObject) -> dict[str, GangRow]:
    survey = survey_of(*things)
    return {row.name: row for row in rows(cases(survey, Floor(survey, NAMES)).values(), survey.at)}


def members(count: int, **fields: Any) -> list[Pod]:
    return [job_pod(f"g-{number}", "j", **{"group": "g", **fields}) for number in range(count)]


@pytest.mark.parametrize(
    ("things", "phase", "why"),
    [
        (members(2, node="n", phase="Running"), "Running", ""),
        (members(2, node="n", phase="Succeeded", finished_s=5.0), "Finished", ""),
        (members(2, node="n", phase="Failed", finished_s=5.0), "Failed", ""),
        (members(2, gated=True), "Pending", "SchedulingGated: 2 members held back by scheduling gates"),
        (members(2, scheduler="other"), "Pending", "SchedulerMismatch: 2 members name another scheduler"),
        (members(2), "Scheduling", "NotScheduledYet: no scheduler has spoken for 100s"),
        (members(2, created_s=98), "Scheduling", "JustCreated: being decided"),
        (members(1, created_s=98), "Pending", "JustCreated: 1 of 2 are here so far"),
        (members(1, node="n", phase="Running"), "Pending", "GangIncomplete: 1 of 2 members are missing"),
        ([], "Pending", "NoPods: 0 of 2 pods are here"),
    ],
    ids=[
        "running",
        "finished",
        "failed",
        "gated",
        "other scheduler",
        "nobody spoke",
        "new",
        "new and incomplete",
        "lost one",
        "no pods",
    ],
)
def test_a_gang_is_one_row(things: list[Pod], phase: str, why: str) -> None:
    row = status(group("g", 2), *things)["g"]

    assert (row.phase, row.why) == (phase, why)


def test_pods_that_name_no_group_have_no_phase_and_no_minimum() -> None:
    row = status(*members(2))["g"]

    assert (row.phase, row.min_member, row.waiting) == (None, None, 2)


def test_a_gang_without_a_group_is_shown_under_its_owner() -> None:
    found = status(pod("a", shadow=2, owned_by=owner("StatefulSet", "ps")), pod("alone"))

    assert list(found) == ["statefulset/ps"]
    assert found["statefulset/ps"].resource_name == "statefulset/ps"
    assert (found["statefulset/ps"].min_member, found["statefulset/ps"].waiting) == (2, 1)


def test_times_are_of_the_group_and_of_the_oldest_that_waits() -> None:
    row = status(group("g", 3, created_s=10), *members(1, created_s=40), job_pod("x", "j", group="g", created_s=60))[
        "g"
    ]

    assert (row.age_seconds, row.waits_seconds) == (90.0, 60.0)


@pytest.mark.parametrize(
    ("things", "words"),
    [
        ([group("g", 4), *members(4, cpu=3), node("a"), node("b")], "Unschedulable: 2 of 4 fit, Insufficient cpu"),
        ([group("g", 1), *members(1, cpu=3), node("a", unschedulable=True)], "Unschedulable: were unschedulable"),
        ([group("g", 4), *members(3), node("a")], "GangIncomplete: 3 of 4 are here"),
        ([*members(1), node("a")], "PodGroupNotFound: PodGroup team/g does not exist"),
    ],
    ids=["no room", "cordoned", "incomplete", "no group"],
)
def test_what_the_scheduler_says_is_put_into_a_few_words(things: list[ApiObject], words: str) -> None:
    (view,) = rehearse(survey_of(*things), NAMES).views.values()

    assert brief(view.reason, view.message) == words


@pytest.mark.parametrize(
    ("reason", "message", "words"),
    [
        (
            "BindFailed",
            "gang d/g: binding pod d/g-0 to node n was refused: 403 Forbidden: quota; it is tried again after a while",
            "BindFailed: 403 Forbidden: quota",
        ),
        (
            "BindFailed",
            "0/2 nodes are available: 2 node(s) refused this gang's pods. Last refusal: binding d/g-0 was refused: 403 no.",
            "BindFailed: 403 no",
        ),
        (
            "HeldForGang",
            "0/2 nodes are available: 2 Insufficient cpu. Room is held for the repair of d/first.",
            "HeldForGang: held for the repair of d/first",
        ),
    ],
    ids=["refused", "refused before", "held"],
)
def test_of_a_long_message_the_cause_is_taken(reason: str, message: str, words: str) -> None:
    assert brief(reason, message) == words


def test_a_long_message_is_cut() -> None:
    text = brief("BindFailed", "binding was refused because " + "x" * 200)

    assert len(text) < 80
    assert text.endswith("...")

"""Upstream's stories as the pure core tells them, and what holds beyond them."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from controller.core.index import Index
from controller.core.status import Assessment, assess
from gangline.contract.meta import Condition, Key
from gangline.contract.pod import Pod
from gangline.contract.podgroup import Phase, PodGroup, PodGroupStatus
from tests.conformance.status import STORIES, shown
from tests.controller.builders import CREATED_S, ENDED_S, NOW, at, group, pod, pods

KEY = Key("ns", "pg")


def assessed(podgroup: PodGroup, members: Sequence[Pod], now: float = NOW) -> Assessment:
    index = Index(["gangline"])
    for member in members:
        index.observe_pod(member, now)
    return assess(podgroup, index.members(podgroup.metadata.key), now)


def condition(assessment: Assessment, type_: str) -> Condition | None:
    return next((found for found in assessment.status.conditions or () if found.type == type_), None)


ROWS = [
    # id, start phase, minMember, pods step by step, expected step by step
    *((one.id, one.story.start, one.story.minimum, one.story.steps, one.story.shows) for one in STORIES),
    ("minMember 0", "", 0, ("", "R"), ("Pending 0/0/0", "Running 1/0/0")),
    ("minMember negative", "", -4, ("", "R"), ("Pending 0/0/0", "Running 1/0/0")),
    ("pods in phase Unknown count as not started", "", 2, ("RU",), ("Scheduling 1/0/0",)),
    ("Finished stays when its pods are removed", "Finished", 3, ("",), ("Finished 0/0/0",)),
    ("Failed stays when its pods are removed", "Failed", 3, ("F", ""), ("Failed 0/0/1", "Failed 0/0/0")),
    ("Failed, and all have ended", "Failed", 2, ("SSF",), ("Failed 0/2/1",)),
]


@pytest.mark.parametrize(
    ("start", "min_member", "steps", "expected"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS]
)
def test_phase_and_counts(
    start: str, min_member: int | None, steps: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    podgroup = group(min_member, status=PodGroupStatus(phase=start))
    seen = []
    for letters in steps:
        status = assessed(podgroup, pods(letters)).status
        podgroup = structs.replace(podgroup, status=status)
        seen.append(shown(status))
    assert tuple(seen) == expected


OCCUPIED = [
    # id, start phase, stored, owners of the pods (oldest first), expected
    ("no owner keeps the old value", "Pending", "test", [[], []], "test"),
    ("written anew when the phase leaves Pending", "Pending", "test", [["a"], ["a"]], "ns/a"),
    ("and when it has none yet", "", "test", [["a"], ["a"]], "ns/a"),
    ("only the oldest pod is asked", "Pending", None, [["old"], ["new"]], "ns/old"),
    ("empty is filled in any phase", "Running", None, [["a"], ["a"]], "ns/a"),
    ("set is kept in any phase but Pending", "Running", "test", [["a"], ["a"]], "test"),
    ("incomplete and empty is filled", "Pending", None, [["a"]], "ns/a"),
    ("incomplete and set is kept", "Pending", "test", [["a"]], "test"),
]


@pytest.mark.parametrize(
    ("start", "stored", "owners", "expected"), [row[1:] for row in OCCUPIED], ids=[r[0] for r in OCCUPIED]
)
def test_occupied_by(start: str, stored: str | None, owners: list[list[str]], expected: str | None) -> None:
    members = [
        pod("P", f"pod-{9 - number}", owners=names, created_s=CREATED_S + number) for number, names in enumerate(owners)
    ]
    status = PodGroupStatus(phase=start, occupied_by=stored)
    assert assessed(group(2, status=status), members).status.occupied_by == expected


SETTLING = [
    # id, start phase, minMember, pods, seconds since the newest finish, expected phase, look again after seconds
    ("a Job between two waves", "Running", 3, "SSS", 1.0, "Running", 4.0),
    ("settled exactly", "Running", 3, "SSS", 5.0, "Finished", None),
    ("a failure that removes the others", "Running", 3, "F", 1.0, "Running", 4.0),
    ("a settled failure", "Running", 3, "F", 5.0, "Failed", None),
    ("no phase yet, succeeded", "", 3, "SSS", 1.0, "Running", 4.0),
    ("no phase yet, too few", "", 3, "F", 1.0, "Pending", 4.0),
    ("a retired phase is no phase", "Scheduled", 3, "FFF", 1.0, "Scheduling", 4.0),
    ("other rules do not wait", "Scheduling", 3, "SRR", 1.0, "Running", 4.0),
]


@pytest.mark.parametrize(
    ("start", "min_member", "letters", "age_s", "phase", "again_s"),
    [r[1:] for r in SETTLING],
    ids=[r[0] for r in SETTLING],
)
def test_finishes_settle(
    start: str, min_member: int, letters: str, age_s: float, phase: str, again_s: float | None
) -> None:
    now = ENDED_S + age_s
    assessment = assessed(group(min_member, status=PodGroupStatus(phase=start)), pods(letters), now)
    assert assessment.status.phase == phase
    assert assessment.look_again_at == (None if again_s is None else now + again_s)


def test_a_finish_in_the_future_settles_after_it_was_seen() -> None:
    index = Index(["gangline"])
    ahead = pod("S", ended_s=NOW + 1_000_000)
    index.observe_pod(ahead, NOW)
    index.observe_pod(ahead, NOW + 3)
    podgroup = group(1, status=PodGroupStatus(phase="Running"))
    assert assess(podgroup, index.members(KEY), NOW + 3).look_again_at == NOW + 5
    assert assess(podgroup, index.members(KEY), NOW + 5).status.phase == "Finished"


def test_deleted_and_gated_pods_count_in_no_figure() -> None:
    members = [pod("R", "a", deleting=True), pod("P", "b", gated=True), pod("R", "c"), pod("S", "d", deleting=True)]
    status = assessed(group(2), members).status
    assert (shown(status), status.scheduled) == ("Pending 1/0/0", 1)


def test_yesterdays_pods_do_not_count_today() -> None:
    members = [pod("S", "old", ended_s=CREATED_S + 10), pod("P", "new", created_s=CREATED_S + 20)]
    assert shown(assessed(group(2), members).status) == "Pending 0/0/0"


def test_scheduled_counts_members_with_a_node_that_have_not_ended() -> None:
    assert assessed(group(3), pods("PBRUSF")).status.scheduled == 3


TIMEOUTS = [
    # id, scheduleTimeoutSeconds, seconds since the start, overdue
    ("absent, before", None, 59, False),
    ("absent, at", None, 60, True),
    ("given, before", 10, 9, False),
    ("given, at", 10, 10, True),
]


@pytest.mark.parametrize(
    ("timeout_s", "elapsed_s", "overdue"), [row[1:] for row in TIMEOUTS], ids=[r[0] for r in TIMEOUTS]
)
def test_the_schedule_timeout(timeout_s: int | None, elapsed_s: int, overdue: bool) -> None:
    status = PodGroupStatus(phase="Scheduling", schedule_start_time=at(NOW))
    assessment = assessed(group(3, status=status, timeout_s=timeout_s), pods("PPP"), NOW + elapsed_s)
    assert assessment.overdue_timeout_s == ((timeout_s if timeout_s and timeout_s > 0 else 60) if overdue else None)
    assert (condition(assessment, "TimedOut") is not None) == overdue
    assert assessment.status.phase == Phase.SCHEDULING
    assert assessment.status.schedule_start_time == at(NOW)


STARTS = [
    # id, pods, seconds from now of the stored start, seconds from now of the new one
    ("complete and short of quorum: starts", "PPP", None, 0),
    ("some bound, still short: starts", "BBP", None, 0),
    ("goes on", "PPP", -30, -30),
    ("quorum bound: over", "BBB", -30, None),
    ("incomplete: over", "PP", -30, None),
    ("a start in the future is a wrong clock", "PPP", 30, 0),
]


@pytest.mark.parametrize(
    ("letters", "stored_s", "expected_s"), [row[1:] for row in STARTS], ids=[row[0] for row in STARTS]
)
def test_the_schedule_start_time(letters: str, stored_s: int | None, expected_s: int | None) -> None:
    stored = None if stored_s is None else at(NOW + stored_s)
    status = assessed(group(3, status=PodGroupStatus(schedule_start_time=stored)), pods(letters)).status
    assert status.schedule_start_time == (None if expected_s is None else at(NOW + expected_s))


def test_gated_members_do_not_start_the_clock() -> None:
    members = [*pods("PP"), pod("P", "gated", gated=True)]
    assessment = assessed(group(3), members)
    assert assessment.status.schedule_start_time is None
    scheduled = condition(assessment, "Scheduled")
    assert scheduled is not None
    assert (scheduled.status, scheduled.reason) == ("False", "SchedulingGated")


UNSCHEDULABLE = ("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu")
INCOMPLETE = ("GangIncomplete", "2 of 3 members exist; the StatefulSet makes one pod at a time")
MISMATCH = ("SchedulerMismatch", "2 of 3 members are here; 1 names another scheduler")
NOT_FOUND = ("PodGroupNotFound", "PodGroup ns/pg does not exist")
SAID = [
    # id, minMember, pods, what waiting pods say, status and reason of Scheduled
    ("bound", 3, "BBB", None, "True", "QuorumReached"),
    ("bound, and a surplus member waits", 3, "BBBP", UNSCHEDULABLE, "True", "QuorumReached"),
    ("succeeded", 3, "SSS", None, "True", "QuorumReached"),
    ("the scheduler says why", 3, "PPP", UNSCHEDULABLE, "False", "Unschedulable"),
    ("no scheduler speaks", 3, "PPP", None, "False", "AwaitingScheduler"),
    ("an old word about missing members", 3, "PPP", INCOMPLETE, "False", "AwaitingScheduler"),
    ("too few", 3, "PP", None, "False", "GangIncomplete"),
    ("too few, in the scheduler's words", 3, "PP", INCOMPLETE, "False", "GangIncomplete"),
    ("too few, and an old word about room", 3, "PP", UNSCHEDULABLE, "False", "GangIncomplete"),
    ("too few, for some name another scheduler", 3, "PP", MISMATCH, "False", "SchedulerMismatch"),
    ("an old word about another scheduler", 3, "PPP", MISMATCH, "False", "AwaitingScheduler"),
    ("an old word from before the group was made", 3, "PPP", NOT_FOUND, "False", "AwaitingScheduler"),
    ("failed", 3, "FRR", None, "False", "MembersFailed"),
    ("no pods", 3, "", None, "False", "GangIncomplete"),
]


@pytest.mark.parametrize(
    ("min_member", "letters", "said", "state", "reason"), [r[1:] for r in SAID], ids=[r[0] for r in SAID]
)
def test_what_the_group_says(
    min_member: int, letters: str, said: tuple[str, str] | None, state: str, reason: str
) -> None:
    scheduled = condition(assessed(group(min_member), pods(letters, said=said)), "Scheduled")
    assert scheduled is not None
    assert (scheduled.status, scheduled.reason) == (state, reason)
    assert scheduled.observed_generation == 1
    assert scheduled.message
    if said is not None and reason == said[0] and letters != "PP":
        assert scheduled.message == said[1]


def test_the_group_says_what_most_members_say() -> None:
    members = [*pods("PP", said=("Unschedulable", "new")), pod("P", "z", said=("BindFailed", "old"))]
    scheduled = condition(assessed(group(3), members), "Scheduled")
    assert scheduled is not None
    assert scheduled.message == "new"


def test_a_word_of_any_length_is_cut() -> None:
    scheduled = condition(assessed(group(1), [pod("P", said=("Unschedulable", "x" * 1_000_000))]), "Scheduled")
    assert scheduled is not None
    assert len(scheduled.message or "") == 1024


def test_a_member_that_waits_for_another_scheduler_is_reported_and_not_counted() -> None:
    members = [*pods("PP"), pod("P", "stranger", scheduler_name="other")]
    assessment = assessed(group(3), members)
    mismatch = condition(assessment, "SchedulerMismatch")
    assert mismatch is not None
    assert (mismatch.status, mismatch.reason) == ("True", "OtherSchedulerNamed")
    assert "other" in (mismatch.message or "")
    assert assessment.status.phase == "Pending"


def test_a_member_that_another_scheduler_has_bound_counts() -> None:
    assessment = assessed(group(3), [*pods("BB"), pod("B", "stranger", scheduler_name="other")])
    assert condition(assessment, "SchedulerMismatch") is None
    assert (assessment.status.phase, assessment.status.scheduled) == ("Scheduling", 3)


@pytest.mark.parametrize("type_", ["TimedOut", "SchedulerMismatch"])
def test_a_complaint_that_has_ended_becomes_false_once_and_is_kept(type_: str) -> None:
    raised = Condition(type=type_, status="True", reason="x", message="y", last_transition_time=at(CREATED_S))
    podgroup = group(3, status=PodGroupStatus(conditions=(raised,)))
    first = assessed(podgroup, pods("RRR"))
    lowered = condition(first, type_)
    assert lowered is not None
    assert (lowered.status, lowered.last_transition_time) == ("False", at(NOW))
    again = assessed(structs.replace(podgroup, status=first.status), pods("RRR"), NOW + 100)
    assert condition(again, type_) == lowered


@pytest.mark.parametrize(
    ("phases", "reason"),
    [("RRR", "QuorumReached"), ("PP", "NotScheduling"), ("PPP", "WithinScheduleTimeout")],
    ids=["it has started", "it lacks a member", "it has more time"],
)
def test_a_timeout_that_is_over_says_why(phases: str, reason: str) -> None:
    raised = Condition(type="TimedOut", status="True", reason="x", message="y", last_transition_time=at(CREATED_S))
    status = PodGroupStatus(phase="Scheduling", schedule_start_time=at(NOW), conditions=(raised,))
    lowered = condition(assessed(group(3, status=status, timeout_s=100), pods(phases), NOW + 61), "TimedOut")
    assert lowered is not None
    assert (lowered.status, lowered.reason) == ("False", reason)


def test_a_condition_keeps_its_transition_time_until_its_status_changes() -> None:
    first = assessed(group(3), pods("PP"))
    podgroup = group(3, status=first.status, generation=2)
    second = condition(assessed(podgroup, pods("PPP"), NOW + 50), "Scheduled")
    third = condition(assessed(podgroup, pods("BBB"), NOW + 50), "Scheduled")
    assert second is not None
    assert third is not None
    assert (second.reason, second.last_transition_time, second.observed_generation) == ("AwaitingScheduler", at(NOW), 2)
    assert (third.status, third.last_transition_time) == ("True", at(NOW + 50))


def test_conditions_of_others_are_kept() -> None:
    foreign = Condition(type="QuotaReserved", status="True", reason="Quota", message="", last_transition_time=at(1))
    assessment = assessed(group(3, status=PodGroupStatus(conditions=(foreign,))), pods("RRR"))
    assert condition(assessment, "QuotaReserved") == foreign


def test_the_observed_generation_follows_the_spec() -> None:
    assert assessed(group(3, generation=7), []).status.observed_generation == 7

"""Any group with any pods has one phase, and stands still until something changes or a deadline comes."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from controller.core.index import Index
from controller.core.patch import status_patch
from controller.core.status import assess
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.contract.podgroup import Phase, PodGroup, PodGroupStatus
from tests.controller.builders import CREATED_S, NOW, at, group, pod

PODS = st.builds(
    pod,
    st.sampled_from("PBRSFU"),
    created_s=st.integers(CREATED_S, CREATED_S + 300),
    ended_s=st.integers(CREATED_S, CREATED_S + 1000),
    owners=st.sampled_from([(), ("a",), ("b", "a")]),
    scheduler_name=st.sampled_from(["gangline", "gangline", "other"]),
    deleting=st.booleans(),
    gated=st.booleans(),
    said=st.sampled_from([None, ("Unschedulable", "no room"), ("GangIncomplete", "too few")]),
)
STATUSES = st.builds(
    PodGroupStatus,
    phase=st.sampled_from([None, "", "Unknown", "Strange", *Phase]),
    occupied_by=st.sampled_from([None, "", "ns/x"]),
    running=st.integers(-1, 3),
    schedule_start_time=st.sampled_from([None, at(CREATED_S), at(NOW - 30), at(NOW + 10**6)]),
)
GROUPS = st.builds(
    group,
    st.sampled_from([None, -1, 0, 1, 2, 3, 5, 2**31 - 1]),
    status=STATUSES,
    timeout_s=st.sampled_from([None, -1, 0, 1, 100, 2**31 - 1]),
)


def indexed(found: list[Pod], now: float) -> Index:
    index = Index(["gangline"])
    for number, member in enumerate(found):
        index.observe_pod(
            structs.replace(member, metadata=structs.replace(member.metadata, name=f"p{number}", uid=f"u{number}")), now
        )
    return index


def stored(podgroup: PodGroup, status: PodGroupStatus) -> PodGroup:
    """What comes back from the API server: through JSON, zero counts left out."""
    patch = status_patch(PodGroupStatus(), status, ignored=frozenset())
    encoded = msgspec.json.encode(patch)
    return structs.replace(podgroup, status=msgspec.json.decode(encoded, type=PodGroupStatus))


@given(GROUPS, st.lists(PODS, max_size=7))
def test_safety_every_group_has_one_of_the_phases_and_true_counts(podgroup: PodGroup, found: list[Pod]) -> None:
    status = assess(podgroup, indexed(found, NOW).members(Key("ns", "pg")), NOW).status
    assert status.phase in set(Phase)
    counts = (status.scheduled or 0, status.running or 0, status.succeeded or 0, status.failed or 0)
    assert all(number >= 0 for number in counts)
    assert sum(counts[1:]) <= len(found)


@given(GROUPS, st.lists(PODS, max_size=7), st.floats(0, 1))
def test_safety_nothing_is_written_until_something_changes_or_it_is_time(
    podgroup: PodGroup, found: list[Pod], part: float
) -> None:
    members = indexed(found, NOW).members(Key("ns", "pg"))
    first = assess(podgroup, members, NOW)
    after = stored(podgroup, first.status)
    again_at = NOW + 10**6 if first.look_again_at is None else first.look_again_at
    now = min(NOW + part * (again_at - NOW), again_at - 0.001)
    second = assess(after, members, now)
    assert status_patch(after.status, second.status, ignored=frozenset()) == {}


@given(GROUPS, st.lists(PODS, max_size=7))
def test_progress_time_alone_ends_after_a_few_looks(podgroup: PodGroup, found: list[Pod]) -> None:
    members = indexed(found, NOW).members(Key("ns", "pg"))
    now, looks = NOW, 0
    while True:
        assessment = assess(podgroup, members, now)
        podgroup = stored(podgroup, assessment.status)
        if assessment.look_again_at is None:
            break
        assert assessment.look_again_at > now
        now, looks = assessment.look_again_at, looks + 1
        assert looks <= 3

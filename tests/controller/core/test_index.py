"""The index ends the same, whatever came twice, late or in another order between objects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from controller.core.index import Index
from gangline.contract.meta import Key
from gangline.contract.podgroup import PodGroupStatus
from gangline.kube.wire.changes import Unreadable
from tests.controller.builders import NOW, group, pod

PG, OTHER = Key("ns", "pg"), Key("ns", "other")


@pytest.fixture
def index() -> Index:
    return Index(["gangline"])


def uids(index: Index, key: Key) -> set[str]:
    return set(index.members(key))


def test_pods_are_kept_for_a_group_that_comes_later(index: Index) -> None:
    assert index.observe_pod(pod(), NOW) == {PG}
    assert index.group(PG) is None
    assert index.observe_group(group()) == {PG}
    assert uids(index, PG) == {"ns-pod-0"}


def test_a_group_has_only_the_pods_of_its_own_namespace(index: Index) -> None:
    index.observe_pod(pod(namespace="elsewhere", uid="theirs"), NOW)
    index.observe_pod(pod(uid="ours"), NOW)
    assert (uids(index, PG), uids(index, Key("elsewhere", "pg"))) == ({"ours"}, {"theirs"})


def test_a_relabelled_pod_touches_both_groups(index: Index) -> None:
    index.observe_pod(pod(), NOW)
    assert index.observe_pod(pod(group="other"), NOW) == {PG, OTHER}
    assert (uids(index, PG), uids(index, OTHER)) == (set(), {"ns-pod-0"})


def test_a_pod_that_loses_its_label_touches_its_former_group(index: Index) -> None:
    index.observe_pod(pod(), NOW)
    assert index.observe_pod(pod(group=None), NOW) == {PG}
    assert index.sizes() == (0, 0)


def test_the_same_pod_again_touches_nothing(index: Index) -> None:
    index.observe_pod(pod(), NOW)
    assert index.observe_pod(structs.replace(pod()), NOW + 1) == set()


def test_a_pod_recreated_under_its_name_takes_the_place_of_the_old_one(index: Index) -> None:
    index.observe_pod(pod(uid="old"), NOW)
    assert index.observe_pod(pod(uid="new", group="other"), NOW) == {PG, OTHER}
    assert index.remove_pod(Key("ns", "pod-0"), "old") == set()
    assert (uids(index, PG), uids(index, OTHER)) == (set(), {"new"})


def test_a_pod_that_is_gone_twice_is_gone(index: Index) -> None:
    index.observe_pod(pod(), NOW)
    assert index.remove_pod(Key("ns", "pod-0"), "ns-pod-0") == {PG}
    assert index.remove_pod(Key("ns", "pod-0"), "ns-pod-0") == set()


def test_a_group_recreated_under_its_name_survives_the_late_end_of_the_old_one(index: Index) -> None:
    index.observe_group(group())
    assert index.remove_group(PG, "another-uid") == set()
    assert index.group(PG) is not None
    assert index.remove_group(PG, "ns-pg") == {PG}
    assert index.remove_group(PG, "ns-pg") == set()


def test_a_reply_never_replaces_what_the_watch_told_meanwhile(index: Index) -> None:
    base, newer = group(), group(5)
    replied = group(status=PodGroupStatus(phase="Pending"))
    index.observe_group(base)
    index.replace_group(base, replied)
    assert index.group(PG) is replied
    index.observe_group(newer)
    index.replace_group(base, replied)
    assert index.group(PG) is newer


def test_an_unreadable_group_is_left_alone_until_it_can_be_read(index: Index) -> None:
    index.observe_group(group())
    version = Unreadable(PG, "ns-pg", "2", "", "is no object")
    assert index.lose_group(version) == {PG}
    assert index.lose_group(version) == frozenset()
    assert (index.group(PG), index.unreadable(PG), index.group_keys()) == (None, version, [PG])
    assert index.observe_group(group()) == {PG}
    assert (index.group(PG), index.unreadable(PG)) == (group(), None)


def test_phases_are_counted(index: Index) -> None:
    for number, phase in enumerate([None, "Running", "Running", "Strange"]):
        index.observe_group(group(name=f"pg-{number}", status=PodGroupStatus(phase=phase)))
    index.remove_group(Key("ns", "pg-3"), "")
    assert index.phases() == {"": 1, "Running": 2}


def test_two_names_in_one_pod_make_it_nobodys_member(index: Index) -> None:
    both = pod()
    annotated = structs.replace(both.metadata, annotations={"scheduling.k8s.io/group-name": "other"})
    index.observe_pod(both, NOW)
    assert index.observe_pod(structs.replace(both, metadata=annotated), NOW) == {PG}
    assert index.sizes() == (0, 0)


def test_differences_from_a_fresh_list_are_told(index: Index) -> None:
    fresh = Index(["gangline"])
    index.observe_group(group())
    index.observe_pod(pod("P", "gone"), NOW)
    index.observe_pod(pod("P", "changed"), NOW)
    fresh.observe_pod(pod("R", "changed"), NOW)
    fresh.observe_pod(pod("P", "missed"), NOW)
    assert index.differences(fresh) == [
        "PodGroup ns/pg: is gone from the API server",
        "pod ns-changed of ns/pg: has changed",
        "pod ns-gone of ns/pg: is gone from the API server",
        "pod ns-missed of ns/pg: is missing here",
    ]
    assert index.differences(index) == []


Event = tuple[str, str, str, str]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["seen", "gone"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["1", "2"]),
        st.sampled_from(["pg", "other", ""]),
    ),
    max_size=30,
)


@given(EVENTS)
def test_any_history_of_pods_ends_like_the_last_word_on_each_name(events: list[Event]) -> None:
    index, last = Index(["gangline"]), dict[str, tuple[str, str]]()
    for what, name, generation, label in events:
        uid = f"{name}-{generation}"
        if what == "seen":
            index.observe_pod(pod("P", name, uid=uid, group=label or None), NOW)
            last[name] = (uid, label)
        else:
            index.remove_pod(Key("ns", name), uid)
            if last.get(name, ("", ""))[0] == uid:
                del last[name]
    fresh = Index(["gangline"])
    for name, (uid, label) in last.items():
        fresh.observe_pod(pod("P", name, uid=uid, group=label or None), NOW)
    assert index.differences(fresh) == []
    assert index.sizes() == fresh.sizes()

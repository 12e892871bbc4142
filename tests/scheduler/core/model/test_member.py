"""Members: what is read of a pod, and how little is kept."""

from sys import getsizeof

import pytest

from gangline.contract.counting import PodPhase
from gangline.contract.membership import GangKey, GangKind
from gangline.contract.pod import Pod
from scheduler.core.model.member import Member, MemberReader, version_of
from scheduler.core.model.member_class import ClassTable
from scheduler.core.reasons import Reason
from tests.support.builders import EPOCH, job_pod, owner, pod


def read(made: Pod, reader: MemberReader | None = None) -> Member:
    return (reader or MemberReader(ClassTable())).member_of(made, ("gangline",))


def test_a_member_is_small() -> None:
    reader = MemberReader(ClassTable())
    typical = [
        read(
            pod(
                f"training-worker-7d9f8b6c5d-x{number:04d}",
                uid=f"0e9a1bca-1111-2222-3333-{number:012d}",
                group="training",
                version=str(123456 + number),
                owned_by=owner("ReplicaSet", "training-worker-7d9f8b6c5d"),
                said=("Unschedulable", "0/50 nodes are available"),
            ),
            reader,
        )
        for number in range(100)
    ]

    own = [
        getsizeof(member)
        + sum(getsizeof(value) for value in (member.uid, member.name, member.created_s, member.resource_version))
        for member in typical
    ]

    assert max(own) <= 350
    assert len({id(member.template) for member in typical}) == 1
    assert len({id(member.said) for member in typical}) == 1


def test_a_class_and_a_template_die_with_their_last_member() -> None:
    classes = ClassTable()
    reader = MemberReader(classes)
    member = read(pod("p", cpu=3), reader)
    assert len(classes) == 1

    classes.release(member.class_id)
    del member

    assert len(classes) == 0
    assert len(reader._templates) == 0


def test_what_counting_reads_is_read() -> None:
    member = read(job_pod("w", "j", group="g", node="n1", phase="Succeeded", created_s=5, finished_s=9, priority=7))

    start = EPOCH.timestamp()
    assert (member.created_s, member.finished_s) == (start + 5, start + 9)
    assert (member.phase, member.node, member.job, member.priority) == (PodPhase.SUCCEEDED, "n1", "uid-j", 7)
    assert (member.ours, member.finished, member.deleting, member.gated) == (True, True, False, False)
    assert member.gang == GangKey("team", GangKind.POD_GROUP, "g")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (pod("p"), None),
        (pod("p", cpu="lots"), Reason.INVALID_POD),
        (pod("p", cpu=-1), Reason.INVALID_POD),
        (pod("p", requests={"memory": "1e99"}), Reason.INVALID_POD),
        (pod("p", shadow="x"), Reason.INVALID_GANG_LINK),
        (pod("p", shadow=3), Reason.INVALID_GANG_LINK),
        (pod("p", group="a", labels={"pod-group.scheduling.sigs.k8s.io": "b"}), Reason.INVALID_GANG_LINK),
        (pod("p", spec={"resource_claims": ({},)}), Reason.UNSUPPORTED),
    ],
    ids=["fine", "no number", "negative", "too large", "no count", "no owner", "two names", "claims"],
)
def test_whatever_is_wrong_with_a_pod_becomes_a_problem_with_words(made: Pod, reason: Reason | None) -> None:
    problem = read(made).template.problem

    assert (problem.reason if problem is not None else None) == reason
    assert problem is None or len(problem.message) > 10


def test_a_pod_without_anything_is_read_too() -> None:
    member = read(Pod())

    assert (member.uid, member.node, member.ours, member.phase) == ("", "", False, PodPhase.PENDING)


def test_what_a_pod_says_is_kept_only_while_it_waits() -> None:
    said = ("Unschedulable", "0/1 nodes")
    assert read(pod("p", said=said)).said is not None
    assert read(pod("p", said=said, node="n1")).said is None
    assert read(pod("p")).said is None


@pytest.mark.parametrize(
    ("text", "version"), [("12", 12), ("0012", "0012"), ("a1", "a1"), ("", ""), ("-1", "-1"), ("9" * 5000, "9" * 5000)]
)
def test_a_version_is_an_integer_where_nothing_is_lost(text: str, version: int | str) -> None:
    assert version_of(text) == version
    assert str(version_of(text)) == text

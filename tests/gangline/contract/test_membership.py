import re
from typing import Any

import msgspec
import pytest

from gangline.contract.membership import (
    Budget,
    Budgeted,
    GangKey,
    GangKind,
    Illegal,
    Link,
    LinkFault,
    Named,
    Shadow,
    Single,
    gang_budget,
    gang_key,
    is_linked,
    link_of,
    newest_min_member,
)
from gangline.contract.meta import ObjectMeta, OwnerReference
from gangline.contract.pod import Pod
from gangline.contract.policy import LabelSelector, PodDisruptionBudget

CURRENT = "scheduling.x-k8s.io/pod-group"
LEGACY = "pod-group.scheduling.sigs.k8s.io"
NAME = "scheduling.k8s.io/group-name"
MINIMUM = "scheduling.k8s.io/group-min-member"
HASH = "pod-template-hash"

JOB = OwnerReference(api_version="batch/v1", kind="Job", name="train", uid="j1", controller=True)
SET = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web-7d4b", uid="r1", controller=True)


def pod(
    *,
    labels: dict[str, str] | None = None,
    owner: OwnerReference | None = None,
    annotations: dict[str, str] | None = None,
) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            namespace="ns",
            name="pod",
            uid="u",
            labels=labels,
            annotations=annotations,
            owner_references=(owner,) if owner else None,
        )
    )


@pytest.mark.parametrize(
    ("given", "link"),
    [
        pytest.param(pod(), Single(), id="nothing"),
        pytest.param(pod(owner=JOB), Single(), id="an owner alone"),
        pytest.param(pod(labels={CURRENT: "g"}), Named("g"), id="label"),
        pytest.param(pod(labels={LEGACY: "g"}), Named("g"), id="older label"),
        pytest.param(pod(annotations={NAME: "g"}), Named("g"), id="kube-batch annotation"),
        pytest.param(pod(labels={CURRENT: "g", LEGACY: "g"}, annotations={NAME: "g"}), Named("g"), id="all the same"),
        pytest.param(pod(labels={CURRENT: ""}), Single(), id="empty label"),
        pytest.param(pod(labels={CURRENT: "", LEGACY: "g"}), Named("g"), id="empty label and older label"),
        pytest.param(pod(labels={CURRENT: "a.b-1"}), Named("a.b-1"), id="dots and dashes"),
        pytest.param(
            pod(labels={CURRENT: "g"}, owner=JOB, annotations={MINIMUM: "3"}), Named("g"), id="name beats shadow"
        ),
        pytest.param(
            pod(labels={CURRENT: "g"}, annotations={MINIMUM: "many"}), Named("g"), id="name beats malformed shadow"
        ),
        pytest.param(pod(owner=JOB, annotations={MINIMUM: "3"}), Shadow("Job/train/j1/3", 3), id="shadow of a Job"),
        pytest.param(
            pod(owner=JOB, annotations={MINIMUM: "4"}), Shadow("Job/train/j1/4", 4), id="another value, another gang"
        ),
        pytest.param(
            pod(owner=SET, labels={HASH: "7d4b"}, annotations={MINIMUM: "3"}),
            Shadow("Deployment/web", 3),
            id="Deployment",
        ),
        pytest.param(
            pod(owner=SET, annotations={MINIMUM: "3"}), Shadow("ReplicaSet/web-7d4b/r1/3", 3), id="ReplicaSet, no hash"
        ),
        pytest.param(
            pod(owner=SET, labels={HASH: "d4b"}, annotations={MINIMUM: "3"}),
            Shadow("ReplicaSet/web-7d4b/r1/3", 3),
            id="hash without its dash",
        ),
        pytest.param(
            pod(owner=SET, labels={HASH: "web-7d4b"}, annotations={MINIMUM: "3"}),
            Shadow("ReplicaSet/web-7d4b/r1/3", 3),
            id="hash is the whole name",
        ),
        pytest.param(
            pod(owner=SET, labels={HASH: ""}, annotations={MINIMUM: "3"}),
            Shadow("ReplicaSet/web-7d4b/r1/3", 3),
            id="empty hash",
        ),
        pytest.param(
            pod(
                owner=OwnerReference(kind="StatefulSet", name="db-7d4b", uid="s1", controller=True),
                labels={HASH: "7d4b"},
                annotations={MINIMUM: "2"},
            ),
            Shadow("StatefulSet/db-7d4b/s1/2", 2),
            id="only ReplicaSets stand for Deployments",
        ),
        pytest.param(pod(owner=JOB, annotations={MINIMUM: "1"}), Shadow("Job/train/j1/1", 1), id="shadow of one"),
        pytest.param(pod(annotations={MINIMUM: "1"}), Single(), id="one without owner"),
    ],
)
def test_link(given: Pod, link: Link) -> None:
    assert link_of(given) == link


@pytest.mark.parametrize(
    ("given", "reason", "said"),
    [
        pytest.param(
            pod(labels={CURRENT: "a", LEGACY: "b"}),
            LinkFault.NAMES_DIFFER,
            "says 'a' but label .* 'b'",
            id="two labels",
        ),
        pytest.param(
            pod(labels={CURRENT: "a"}, annotations={NAME: "b"}),
            LinkFault.NAMES_DIFFER,
            "keep one of them",
            id="annotation differs",
        ),
        pytest.param(
            pod(annotations={NAME: "A_b"}), LinkFault.NAME_INVALID, "'A_b', which cannot be the name", id="upper case"
        ),
        pytest.param(pod(annotations={NAME: "-a"}), LinkFault.NAME_INVALID, "lower-case", id="dash first"),
        pytest.param(pod(annotations={NAME: "a\n"}), LinkFault.NAME_INVALID, "cannot be", id="newline"),
        pytest.param(pod(annotations={NAME: "группа"}), LinkFault.NAME_INVALID, "cannot be", id="not ASCII"),
        pytest.param(pod(annotations={NAME: "a" * 254}), LinkFault.NAME_INVALID, "253", id="too long"),
        pytest.param(pod(annotations={NAME: "a" * 2**20}), LinkFault.NAME_INVALID, r"a\.\.\.", id="a mebibyte"),
        *(
            pytest.param(
                pod(owner=JOB, annotations={MINIMUM: value}),
                LinkFault.MIN_MEMBER_INVALID,
                "whole number from 1",
                id=repr(value)[:9],
            )
            for value in ("", "0", "-1", "+3", " 3", "3.0", "3e0", "three", "٣", "2147483648", "9" * 2**20)
        ),
        pytest.param(
            pod(annotations={MINIMUM: "0"}), LinkFault.MIN_MEMBER_INVALID, "'0'", id="malformed without owner"
        ),
        pytest.param(
            pod(annotations={MINIMUM: "2"}), LinkFault.NO_OWNER, "asks for 2 members, .* no controller", id="no owner"
        ),
        pytest.param(
            pod(owner=OwnerReference(kind="Job", name="j", uid="j"), annotations={MINIMUM: "2"}),
            LinkFault.NO_OWNER,
            "name a PodGroup",
            id="owner that does not control",
        ),
    ],
)
def test_illegal_link_says_what_and_what_to_do(given: Pod, reason: LinkFault, said: str) -> None:
    link = link_of(given)

    assert isinstance(link, Illegal)
    assert link.reason is reason
    assert re.search(said, link.message)
    assert len(link.message) < 400


def test_both_replica_sets_of_a_rolling_update_are_one_gang() -> None:
    old, new = (
        pod(
            owner=OwnerReference(kind="ReplicaSet", name=f"web-{revision}", uid=revision, controller=True),
            labels={HASH: revision},
            annotations={MINIMUM: minimum},
        )
        for revision, minimum in (("aaa", "3"), ("bbb", "5"))
    )

    assert gang_key(link_of(old), old.metadata) == gang_key(link_of(new), new.metadata)


@pytest.mark.parametrize(
    ("claims", "min_member"),
    [
        pytest.param([(1.0, 3)], 3, id="one pod"),
        pytest.param([(1.0, 9), (2.0, 3)], 3, id="the newest pod's"),
        pytest.param([(2.0, 3), (1.0, 9)], 3, id="in any order"),
        pytest.param([(1.0, 3), (1.0, 5)], 5, id="the larger of equally new ones"),
    ],
)
def test_value_of_a_shadow_gang(claims: list[tuple[float, int]], min_member: int) -> None:
    assert newest_min_member(claims) == min_member


@pytest.mark.parametrize(
    ("link", "key", "linked"),
    [
        pytest.param(Named("g"), GangKey("ns", GangKind.POD_GROUP, "g"), True, id="named"),
        pytest.param(Shadow("Job/g/1/3", 3), GangKey("ns", GangKind.SHADOW, "Job/g/1/3"), True, id="shadow"),
        pytest.param(Budgeted("b", "Job/g/1", 3), GangKey("ns", GangKind.BUDGET, "Job/g/1"), True, id="budget"),
        pytest.param(Single(), GangKey("ns", GangKind.POD, "pod"), False, id="single"),
        pytest.param(
            Illegal(LinkFault.NO_OWNER, "why"), GangKey("ns", GangKind.POD, "pod"), False, id="illegal stays alone"
        ),
    ],
)
def test_gang_key(link: Link, key: GangKey, linked: bool) -> None:
    assert gang_key(link, pod().metadata) == key
    assert is_linked(link) is linked


def test_gang_key_is_written_like_the_object_it_names() -> None:
    assert str(GangKey("ns", GangKind.POD_GROUP, "g")) == "ns/g"
    assert str(GangKey("ns", GangKind.SHADOW, "Deployment/web")) == "ns/Shadow/Deployment/web"


def budget(
    spec: dict[str, Any], *, owner: str = "", name: str = "budget", namespace: str = "ns"
) -> PodDisruptionBudget:
    owners = [{"kind": "Job", "uid": owner, "controller": True}] if owner else None
    metadata = {"namespace": namespace, "name": name, "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata, "spec": spec}, PodDisruptionBudget)


@pytest.mark.parametrize(
    ("spec", "min_available"),
    [
        pytest.param({"minAvailable": 3}, 3, id="integer"),
        pytest.param({"minAvailable": 1, "selector": None}, 1, id="null selector"),
        pytest.param({"minAvailable": 3, "maxUnavailable": 1}, 3, id="both"),
        pytest.param({"minAvailable": 0}, None, id="zero"),
        pytest.param({"minAvailable": -1}, None, id="negative"),
        pytest.param({"minAvailable": 2**31}, None, id="beyond int32"),
        pytest.param({"minAvailable": "50%"}, None, id="percentage"),
        pytest.param({"minAvailable": "3"}, None, id="text"),
        pytest.param({"minAvailable": None}, None, id="null"),
        pytest.param({"minAvailable": True}, None, id="boolean"),
        pytest.param({"minAvailable": 2.5}, None, id="fraction"),
        pytest.param({"minAvailable": [3]}, None, id="list"),
        pytest.param({"minAvailable": {"intVal": 3}}, None, id="object"),
        pytest.param({"maxUnavailable": 1}, None, id="maxUnavailable alone"),
        pytest.param({"maxUnavailable": {}}, None, id="hostile maxUnavailable"),
        pytest.param({}, None, id="neither"),
        pytest.param(None, None, id="no spec"),
    ],
)
def test_only_an_integer_minimum_forms_a_gang(spec: dict[str, Any], min_available: int | None) -> None:
    formed = gang_budget(budget(spec, owner="j1"))

    assert (formed.min_available if formed else None) == min_available


def formed(spec: dict[str, Any], *, owner: str = "", name: str = "budget", namespace: str = "ns") -> Budget:
    found = gang_budget(budget(spec, owner=owner, name=name, namespace=namespace))
    assert found is not None
    return found


TRAIN = Budgeted("budget", "Job/train/j1", 3)
BY_LABEL = {"minAvailable": 3, "selector": {"matchLabels": {"app": "train"}}}


@pytest.mark.parametrize(
    ("given", "budgets", "link"),
    [
        pytest.param(pod(owner=JOB), [formed({"minAvailable": 3}, owner="j1")], TRAIN, id="same owner"),
        pytest.param(pod(owner=JOB), [formed({"minAvailable": 3}, owner="j2")], Single(), id="another owner"),
        pytest.param(pod(owner=JOB, labels={"app": "train"}), [formed(BY_LABEL)], TRAIN, id="selector"),
        pytest.param(pod(owner=JOB, labels={"app": "web"}), [formed(BY_LABEL)], Single(), id="selector of others"),
        pytest.param(pod(owner=JOB), [formed({"minAvailable": 3})], Single(), id="no owner and no selector"),
        pytest.param(
            pod(owner=JOB), [formed({"minAvailable": 3, "selector": {}})], TRAIN, id="empty selector means everybody"
        ),
        pytest.param(
            pod(owner=JOB, labels={"app": "train"}),
            [formed(BY_LABEL, owner="j2")],
            Single(),
            id="an owner beats a selector",
        ),
        pytest.param(pod(labels={"app": "train"}), [formed(BY_LABEL)], Single(), id="pod without owner"),
        pytest.param(
            pod(owner=JOB), [formed({"minAvailable": 3}, owner="j1", namespace="other")], Single(), id="other namespace"
        ),
        pytest.param(
            pod(owner=JOB),
            [
                formed({"minAvailable": 2}, owner="j1", name="a"),
                formed({"minAvailable": 3}, owner="j1", name="c"),
                formed({"minAvailable": 3}, owner="j1"),
            ],
            TRAIN,
            id="the largest, then the first by name",
        ),
        pytest.param(
            pod(labels={CURRENT: "g"}, owner=JOB),
            [formed({"minAvailable": 3}, owner="j1")],
            Named("g"),
            id="name first",
        ),
        pytest.param(
            pod(owner=JOB, annotations={MINIMUM: "2"}),
            [formed({"minAvailable": 3}, owner="j1")],
            Shadow("Job/train/j1/2", 2),
            id="shadow first",
        ),
        pytest.param(pod(owner=JOB), [], Single(), id="off"),
    ],
)
def test_budget_forms_the_gang_of_an_owner(given: Pod, budgets: list[Budget], link: Link) -> None:
    assert link_of(given, budgets=budgets) == link


def test_an_ownerless_budget_keeps_owners_apart() -> None:
    keys = {
        gang_key(link_of(member, budgets=[formed({"minAvailable": 3, "selector": {}})]), member.metadata)
        for member in (pod(owner=JOB), pod(owner=SET))
    }

    assert len(keys) == 2


def test_a_selector_is_kept_as_it_came() -> None:
    assert formed(BY_LABEL).selector == LabelSelector(match_labels={"app": "train"})

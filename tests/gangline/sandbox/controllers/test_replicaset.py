"""What the ReplicaSet controller decides."""

from typing import Any

import pytest

from gangline.sandbox.controllers import replicaset
from gangline.sandbox.objects.apps import ReplicaSet
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.reconciling.actions import Decision
from tests.support.workloads import (
    created,
    deleted,
    owned_by,
    patches,
    replica_set,
    run_pod,
    status_of,
    world_of,
)

OWNER = replica_set("web", 3)
LABELS = {"app": "web"}


def mine(name: str, **facts: Any) -> RunPod:
    return run_pod(name, labels=facts.pop("labels", LABELS), owners=(owned_by(OWNER, "ReplicaSet"),), **facts)


def decided(owner: ReplicaSet, *pods: RunPod) -> Decision:
    return replicaset.decide(owner, world_of(owner, *pods))


@pytest.mark.parametrize(
    ("pods", "missing"),
    [
        pytest.param((), 3, id="none yet"),
        pytest.param((mine("a"), mine("b", phase="Running")), 1, id="one short"),
        pytest.param(
            (mine("a"), mine("b", phase="Failed"), mine("c", phase="Succeeded")), 2, id="finished do not count"
        ),
        pytest.param((mine("a"), mine("b", deleting=True)), 2, id="deleting do not count"),
        pytest.param((mine("a"), mine("b"), run_pod("c", labels={"app": "other"})), 1, id="others do not count"),
        pytest.param((mine("a"), mine("b"), mine("c")), 0, id="enough"),
    ],
)
def test_missing_pods_are_made(pods: tuple[RunPod, ...], missing: int) -> None:
    decision = decided(OWNER, *pods)

    assert len(created(decision)) == missing
    assert deleted(decision) == []


def test_made_pod_is_of_the_template_and_names_its_owner() -> None:
    body = created(decided(replica_set("web", 1)))[0]

    assert body["metadata"]["generateName"] == "web-"
    assert body["metadata"]["labels"] == LABELS
    assert body["spec"] == OWNER.spec.template["spec"]
    assert body["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "web",
            "uid": "uid-web",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(mine("a"), mine("b", node="n"), id="without node"),
        pytest.param(mine("a", node="n"), mine("b", node="n", phase="Running"), id="pending"),
        pytest.param(
            mine("a", node="n", phase="Running"), mine("b", node="n", phase="Running", ready=0), id="not ready"
        ),
        pytest.param(
            mine("a", annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}), mine("b"), id="cheaper"
        ),
        pytest.param(
            mine("a", node="n", phase="Running", ready=9),
            mine("b", node="n", phase="Running", ready=1),
            id="ready later",
        ),
        pytest.param(mine("a", created=5), mine("b", created=1), id="younger"),
    ],
)
def test_surplus_goes_where_it_costs_least(first: RunPod, second: RunPod) -> None:
    assert deleted(decided(replica_set("web", 1), second, first)) == [first.metadata.name]


def test_orphan_that_matches_is_adopted_before_pods_are_made() -> None:
    orphan = run_pod("orphan", labels=LABELS)

    decision = decided(replica_set("web", 1), orphan)

    (patch,) = patches(decision)
    assert isinstance(patch.body, dict)
    assert patch.body["metadata"]["uid"] == "uid-orphan"
    assert patch.body["metadata"]["ownerReferences"][0]["uid"] == "uid-web"
    assert created(decision) == []


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(run_pod("other", labels=LABELS, deleting=True), id="on its way out"),
        pytest.param(run_pod("other", labels={"app": "other"}), id="does not match"),
        pytest.param(
            run_pod("other", labels=LABELS, owners=({"kind": "Job", "name": "j", "uid": "j", "controller": True},)),
            id="has a controller",
        ),
    ],
)
def test_others_are_not_adopted(other: RunPod) -> None:
    assert patches(decided(replica_set("web", 1), other)) == []


def test_child_that_no_longer_matches_is_released_and_not_counted() -> None:
    decision = decided(replica_set("web", 1), mine("a", labels={"app": "other"}))

    (patch,) = patches(decision)
    assert isinstance(patch.body, dict)
    assert patch.body["metadata"]["ownerReferences"] == [{"$patch": "delete", "uid": "uid-web"}]


def test_replica_set_that_is_deleted_neither_makes_nor_adopts() -> None:
    decision = decided(replica_set("web", 3, deleting=True), run_pod("orphan", labels=LABELS))

    assert (created(decision), patches(decision)) == ([], [])


def test_status_counts_what_is_there_on_condition_that_it_is_still_so() -> None:
    pods = (mine("a", phase="Running", ready=0), mine("b", phase="Running"), mine("c", phase="Failed"))

    decision = decided(OWNER, *pods)

    assert status_of(decision.actions) == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "observedGeneration": 1,
    }
    (patch,) = patches(decision, "status")
    assert isinstance(patch.body, dict)
    assert patch.body["metadata"] == {"resourceVersion": "7"}


def test_nothing_is_written_when_nothing_has_changed() -> None:
    settled = {
        "replicas": 1,
        "fullyLabeledReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "observedGeneration": 1,
    }

    decision = decided(replica_set("web", 1, status=settled), mine("a", phase="Running", ready=0))

    assert decision == Decision()


def test_pod_is_available_once_it_has_been_ready_for_long_enough() -> None:
    owner = replica_set("web", 1, minReadySeconds=30)

    decision = decided(owner, mine("a", phase="Running", ready=-10))

    assert status_of(decision.actions)["readyReplicas"] == 1
    assert status_of(decision.actions)["availableReplicas"] is None
    assert decision.again_in_s == 20.0

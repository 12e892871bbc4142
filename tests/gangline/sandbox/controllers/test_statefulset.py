"""What the StatefulSet controller decides."""

from typing import Any

import msgspec
import pytest

from gangline.sandbox.controllers.statefulset import REVISION_LABEL, decide, revision_of
from gangline.sandbox.objects.apps import StatefulSet
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.reconciling.actions import Decision
from tests.support.workloads import created, deleted, metadata, owned_by, run_pod, status_of, template, world_of


def stateful_set(replicas: int, **spec: Any) -> StatefulSet:
    status = spec.pop("status", {})
    body = {
        "replicas": replicas,
        "serviceName": "peers",
        "selector": {"matchLabels": {"app": "web"}},
        "template": template(),
        **spec,
    }
    return msgspec.convert({"metadata": metadata("db", generation=1), "spec": body, "status": status}, StatefulSet)


OWNER = stateful_set(3)
PARALLEL = stateful_set(3, podManagementPolicy="Parallel")


def mine(ordinal: int, *, ready: bool = True, revision: str = revision_of(OWNER), **facts: Any) -> RunPod:
    return run_pod(
        f"db-{ordinal}",
        labels={"app": "web", REVISION_LABEL: revision},
        owners=(owned_by(OWNER, "StatefulSet"),),
        phase=facts.pop("phase", "Running"),
        ready=0.0 if ready else None,
        **facts,
    )


def decided(owner: StatefulSet, *pods: RunPod) -> Decision:
    return decide(owner, world_of(owner, *pods))


def names(decision: Decision) -> list[str]:
    return [body["metadata"]["name"] for body in created(decision)]


@pytest.mark.parametrize(
    ("owner", "pods", "made", "removed"),
    [
        pytest.param(OWNER, (), ["db-0"], [], id="first in order"),
        pytest.param(OWNER, (mine(0, ready=False),), [], [], id="waits for the first"),
        pytest.param(OWNER, (mine(0),), ["db-1"], [], id="then the second"),
        pytest.param(OWNER, (mine(0), mine(2)), ["db-1"], [], id="fills a gap"),
        pytest.param(PARALLEL, (mine(0, ready=False),), ["db-1", "db-2"], [], id="parallel: all at once"),
        pytest.param(OWNER, (mine(0, phase="Failed", ready=False),), [], ["db-0"], id="a finished one is made anew"),
        pytest.param(OWNER, (mine(0, deleting=True, ready=False),), [], [], id="one that goes is waited for"),
        pytest.param(OWNER, (*map(mine, range(5)),), [], ["db-4"], id="surplus goes from the end"),
        pytest.param(OWNER, (*map(mine, range(4)), mine(4, deleting=True)), [], [], id="one after the other"),
        pytest.param(PARALLEL, (*map(mine, range(5)),), [], ["db-4", "db-3"], id="parallel: all surplus"),
        pytest.param(
            stateful_set(2, ordinals={"start": 5}), (mine(0),), ["db-5"], [], id="numbers begin where they should"
        ),
        pytest.param(OWNER, (*map(mine, range(3)), run_pod("other-1")), [], [], id="others are left alone"),
    ],
)
def test_pods_come_and_go(owner: StatefulSet, pods: tuple[RunPod, ...], made: list[str], removed: list[str]) -> None:
    decision = decided(owner, *pods)

    assert names(decision) == made
    assert deleted(decision) == removed


@pytest.mark.parametrize(
    ("strategy", "pods", "removed"),
    [
        pytest.param({}, ("old", "old", "old"), ["db-2"], id="the last first"),
        pytest.param({}, ("old", "old", None), ["db-1"], id="then the one before"),
        pytest.param({"rollingUpdate": {"partition": 2}}, ("old", "old", None), [], id="down to the partition"),
        pytest.param({"type": "OnDelete"}, ("old", "old", "old"), [], id="not when others delete"),
    ],
)
def test_old_pods_are_replaced(strategy: dict[str, Any], pods: tuple[str | None, ...], removed: list[str]) -> None:
    owner = stateful_set(3, updateStrategy=strategy)
    present = [mine(index, revision=each or revision_of(owner)) for index, each in enumerate(pods)]

    assert deleted(decided(owner, *present)) == removed


def test_nothing_is_replaced_while_one_is_unhealthy() -> None:
    assert deleted(decided(PARALLEL, mine(0, revision="old"), mine(1, ready=False), mine(2))) == []


def test_pod_knows_its_name_its_number_and_its_service() -> None:
    (body,) = created(decided(OWNER))

    assert body["metadata"]["labels"] == {
        "app": "web",
        REVISION_LABEL: revision_of(OWNER),
        "statefulset.kubernetes.io/pod-name": "db-0",
        "apps.kubernetes.io/pod-index": "0",
    }
    assert (body["spec"]["hostname"], body["spec"]["subdomain"]) == ("db-0", "peers")


def test_volume_claims_are_named_and_not_made() -> None:
    owner = stateful_set(1, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {"storageClassName": "s"}}])
    (body,) = created(decided(owner))

    assert body["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]


def test_status_tells_old_from_new() -> None:
    owner = stateful_set(2, status={"currentRevision": "old", "updateRevision": "old"})
    status = status_of(decided(owner, mine(0, revision="old"), mine(1, revision=revision_of(owner))).actions)
    done = status_of(decided(owner, mine(0, revision=revision_of(owner)), mine(1, revision=revision_of(owner))).actions)

    assert (status["currentRevision"], status["currentReplicas"], status["updatedReplicas"]) == ("old", 1, 1)
    assert (done["currentRevision"], done["currentReplicas"]) == (revision_of(owner), 2)
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (2, 2, 2)

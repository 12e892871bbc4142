"""What the Deployment controller decides, and that a rollout stays within its bounds."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.sandbox.controllers import rollout
from gangline.sandbox.controllers.deployment import decide, template_hash
from gangline.sandbox.controllers.rollout import Bounds
from gangline.sandbox.objects.apps import Deployment, DeploymentSpec, ReplicaSet
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.reconciling.actions import Decision
from tests.support.workloads import (
    created,
    deleted,
    deployment,
    owned_by,
    patches,
    replica_set,
    run_pod,
    status_of,
    template,
    world_of,
)

OWNER = deployment("web", 4)


def mine(
    name: str, replicas: int, *, image: str = "old", available: int | None = None, revision: int = 1
) -> ReplicaSet:
    count = replicas if available is None else available
    pod_template = template(image=image)
    pod_template["metadata"]["labels"]["pod-template-hash"] = name
    made = replica_set(
        name,
        replicas,
        owners=(owned_by(OWNER, "Deployment"),),
        template=pod_template,
        status={"replicas": replicas, "readyReplicas": count, "availableReplicas": count},
    )
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=annotations))


def decided(owner: Deployment, *sets: ReplicaSet, pods: tuple[RunPod, ...] = ()) -> Decision:
    return decide(owner, world_of(owner, *sets, *pods))


def scaled(decision: Decision) -> dict[str, int]:
    bodies = {patch.key.name: patch.body for patch in patches(decision)}
    return {
        name: body["spec"]["replicas"] for name, body in bodies.items() if isinstance(body, dict) and "spec" in body
    }


def test_first_replica_set_is_named_by_the_hash_of_the_template() -> None:
    (body,) = created(decided(OWNER))

    name = template_hash(template())
    assert body["metadata"]["name"] == f"web-{name}"
    assert body["spec"]["replicas"] == 4
    assert body["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": name}
    assert body["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": name}
    assert body["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
    assert body["metadata"]["ownerReferences"][0]["uid"] == "uid-web"


def test_hash_depends_on_the_template_and_not_on_the_order_of_its_fields() -> None:
    turned = dict(reversed(list(template().items())))

    assert template_hash(turned) == template_hash(template())
    assert template_hash(template(image="new")) != template_hash(template())


def test_replica_set_of_the_same_template_is_taken_again() -> None:
    decision = decided(deployment("web", 4, template=template(image="old")), mine("a", 4))

    assert (created(decision), scaled(decision)) == ([], {})


def test_new_template_starts_with_the_surge_and_the_next_revision() -> None:
    (body,) = created(decided(deployment("web", 4, template=template(image="new")), mine("a", 4, revision=3)))

    assert body["spec"]["replicas"] == 1
    assert body["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "4"}


def test_scaling_reaches_the_replica_set() -> None:
    decision = decided(deployment("web", 7, template=template(image="old")), mine("a", 4))

    assert scaled(decision) == {"a": 7}


def test_paused_deployment_scales_but_does_not_roll() -> None:
    decision = decided(deployment("web", 7, template=template(image="new"), paused=True), mine("a", 4))

    assert (created(decision), scaled(decision)) == ([], {"a": 7})


def test_recreate_waits_for_the_last_old_pod() -> None:
    owner = deployment("web", 4, template=template(image="new"), strategy={"type": "Recreate"})
    old, empty, new = mine("a", 4), mine("a", 0), mine("b", 0, image="new")
    left = run_pod("left", owners=(owned_by(old, "ReplicaSet"),), deleting=True)

    assert scaled(decided(owner, old, new)) == {"a": 0}
    assert scaled(decided(owner, empty, new, pods=(left,))) == {}
    assert scaled(decided(owner, empty, new)) == {"b": 4}


def test_old_replica_sets_beyond_the_history_are_deleted_oldest_first() -> None:
    owner = deployment("web", 1, template=template(image="new"), revisionHistoryLimit=1)
    history = [mine(f"old-{revision}", 0, image=f"old-{revision}", revision=revision) for revision in (1, 2, 3)]

    decision = decided(owner, *history, mine("new", 1, image="new", revision=4))

    assert deleted(decision) == ["old-1", "old-2"]


def test_status_sums_up_the_replica_sets() -> None:
    owner = deployment("web", 4, template=template(image="new"))

    status = status_of(decided(owner, mine("a", 3), mine("b", 2, image="new", available=1)).actions)

    counts = {name: status[name] for name in status if name.endswith("eplicas")}
    assert counts == {
        "replicas": 5,
        "updatedReplicas": 2,
        "readyReplicas": 4,
        "availableReplicas": 4,
        "unavailableReplicas": 1,
        "terminatingReplicas": 0,
    }
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "Available": "True",
        "Progressing": "True",
    }


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(4, "25%", "25%", Bounds(1, 1), id="defaults"),
        pytest.param(3, "25%", "25%", Bounds(1, 0), id="surge up, unavailable down"),
        pytest.param(10, "33%", "33%", Bounds(4, 3), id="a third"),
        pytest.param(10, 2, 0, Bounds(2, 0), id="counts"),
        pytest.param(10, 0, 0, Bounds(0, 1), id="never both 0"),
        pytest.param(1, "0%", "99%", Bounds(0, 1), id="rounded to 0"),
    ],
)
def test_bounds_of_a_rollout(replicas: int, surge: int | str, unavailable: int | str, expected: Bounds) -> None:
    strategy = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}

    assert rollout.bounds(spec_of(replicas=replicas, strategy=strategy)) == expected


def spec_of(**fields: Any) -> DeploymentSpec:
    return msgspec.convert(fields, DeploymentSpec)


def sized(name: str, replicas: int, available: int) -> ReplicaSet:
    return replica_set(name, replicas, status={"availableReplicas": min(replicas, available)})


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(
            sized("new", 1, 0), sized("a", 3, 2), {}, id="a broken old pod stays while a new one is not ready"
        ),
        pytest.param(sized("new", 1, 1), sized("a", 3, 2), {"uid-a": 2}, id="a broken old pod goes first"),
        pytest.param(sized("new", 1, 1), sized("a", 3, 3), {"uid-a": 2}, id="an old pod makes way"),
    ],
)
def test_old_pods_go_as_new_ones_get_ready(new: ReplicaSet, old: ReplicaSet, expected: dict[str, int]) -> None:
    spec = spec_of(replicas=4, strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})

    assert rollout.rescale(spec, new, [old], old_pods=3) == expected


@given(st.data())
def test_rollout_stays_in_bounds_and_ends(data: st.DataObject) -> None:
    replicas = data.draw(st.integers(0, 8), label="replicas")
    strategy = {
        "rollingUpdate": {
            "maxSurge": data.draw(st.integers(0, 3), label="surge"),
            "maxUnavailable": data.draw(st.integers(0, 3), label="unavailable"),
        }
    }
    spec = spec_of(replicas=replicas, strategy=strategy)
    limits = rollout.bounds(spec)
    wanted = {"a": replicas, "new": 0}
    available = dict(wanted)

    for turn in range(200):
        new, old = sized("new", wanted["new"], available["new"]), [sized("a", wanted["a"], available["a"])]
        scale = rollout.rescale(spec, new, old, old_pods=wanted["a"])
        for uid, count in scale.items():
            wanted[uid.removeprefix("uid-")] = count
        available = {name: min(available[name], wanted[name]) for name in wanted}
        assert sum(wanted.values()) <= replicas + limits.surge
        assert sum(available.values()) >= replicas - limits.unavailable
        if not scale and available == {"a": 0, "new": replicas}:
            return
        if available["new"] < wanted["new"] and (turn % 2 or data.draw(st.booleans(), label="a pod gets ready")):
            available["new"] += 1
    raise AssertionError(f"never ends: wanted {wanted}, available {available}")

"""What the node controllers decide about silent nodes, taints and evictions."""

from typing import Any

import msgspec
import pytest

from gangline.contract.timestamps import timestamp
from gangline.sandbox.controllers.evictions import Evictions
from gangline.sandbox.controllers.nodes import Nodes
from gangline.sandbox.objects.core import LEASE_NAMESPACE, Lease, RunNode, RunPod
from gangline.sandbox.reconciling.actions import Patch
from gangline.sandbox.reconciling.world import Pace
from tests.support.workloads import deleted, later, patches, run_pod, world_of


def node(ready: str = "True", *taints: dict[str, Any], unschedulable: bool = False) -> RunNode:
    return msgspec.convert(
        {
            "metadata": {"name": "n", "uid": "uid-n", "resourceVersion": "7"},
            "spec": {"taints": list(taints), "unschedulable": unschedulable},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        },
        RunNode,
    )


def lease(renewed: float) -> Lease:
    spec = {"renewTime": timestamp(later(renewed)), "leaseDurationSeconds": 40}
    return msgspec.convert({"metadata": {"name": "n", "namespace": LEASE_NAMESPACE, "uid": "l"}, "spec": spec}, Lease)


def taint(key: str, effect: str = "NoExecute", added: float = 0.0) -> dict[str, Any]:
    return {"key": key, "effect": effect, "timeAdded": timestamp(later(added))}


def pod(*tolerations: dict[str, Any], ready: float | None = None) -> RunPod:
    base = msgspec.to_builtins(run_pod("p", node="n", phase="Running", ready=ready))
    base["spec"]["tolerations"] = list(tolerations)
    return msgspec.convert(base, RunPod)


UNREACHABLE, NOT_READY = "node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"


def test_a_node_whose_lease_has_run_out_is_unknown() -> None:
    early = Nodes().decide(node(), world_of(lease(renewed=0), now=later(39)))
    (patch,) = patches(Nodes().decide(node(), world_of(lease(renewed=0), now=later(41))), "status")

    assert not early.actions
    assert early.again_in_s == pytest.approx(1, abs=0.1)
    assert isinstance(patch.body, dict)
    assert patch.body["status"]["conditions"][0]["reason"] == "NodeStatusUnknown"


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(node("True"), None, id="fine"),
        pytest.param(node("Unknown"), [(UNREACHABLE, "NoExecute"), (UNREACHABLE, "NoSchedule")], id="unknown"),
        pytest.param(node("False"), [(NOT_READY, "NoExecute"), (NOT_READY, "NoSchedule")], id="not ready"),
        pytest.param(node("True", taint(UNREACHABLE), taint("own")), [("own", "NoExecute")], id="back again"),
        pytest.param(node("True", taint(NOT_READY)), [], id="the last one goes"),
        pytest.param(
            node("True", unschedulable=True), [("node.kubernetes.io/unschedulable", "NoSchedule")], id="cordoned"
        ),
    ],
)
def test_taints_follow_conditions(seen: RunNode, expected: list[tuple[str, str]] | None) -> None:
    decision = Nodes().decide(seen, world_of(seen))
    written = [
        each.body["spec"]["taints"] or []
        for each in decision.actions
        if isinstance(each, Patch) and isinstance(each.body, dict)
    ]

    assert [[(each["key"], each["effect"]) for each in taints] for taints in written] == (
        [] if expected is None else [expected]
    )


@pytest.mark.parametrize(
    ("tolerations", "seconds", "goes", "again_in_s"),
    [
        pytest.param((), 0, True, None, id="at once"),
        pytest.param(({"operator": "Exists"},), 9999, False, None, id="never"),
        pytest.param(
            ({"key": NOT_READY, "operator": "Exists", "tolerationSeconds": 300},), 100, False, 200, id="stays a while"
        ),
        pytest.param(
            ({"key": NOT_READY, "operator": "Exists", "tolerationSeconds": 300},), 300, True, None, id="until then"
        ),
        pytest.param(
            ({"key": NOT_READY, "operator": "Exists", "tolerationSeconds": 2**63 - 1},), 0, False, 2.0**63, id="ages"
        ),
        pytest.param(({"key": "other", "operator": "Exists"},), 0, True, None, id="tolerates something else"),
    ],
)
def test_pods_leave_a_node_that_they_do_not_tolerate(
    tolerations: tuple[dict[str, Any], ...], seconds: float, goes: bool, again_in_s: float | None
) -> None:
    world = world_of(node("False", taint(NOT_READY)), now=later(seconds))

    decision = Evictions().decide(pod(*tolerations), world)

    assert (deleted(decision), decision.again_in_s) == (["p"] if goes else [], again_in_s)


def test_speed_shortens_how_long_a_taint_is_tolerated() -> None:
    patient = pod({"key": NOT_READY, "operator": "Exists", "tolerationSeconds": 300})
    tainted = node("False", taint(NOT_READY))
    early, late = [world_of(tainted, now=later(seconds), pace=Pace(speed=60)) for seconds in (3, 5)]

    assert Evictions().decide(patient, early).again_in_s == 2
    assert deleted(Evictions().decide(patient, late)) == ["p"]


def test_pods_of_an_unreachable_node_are_not_ready() -> None:
    waiting = pod({"operator": "Exists"}, ready=0.0)
    (patch,) = patches(Evictions().decide(waiting, world_of(node("Unknown", taint(UNREACHABLE)))), "status")

    assert isinstance(patch.body, dict)
    assert patch.body["status"]["conditions"][0] | {"lastTransitionTime": ""} == {
        "type": "Ready",
        "status": "False",
        "reason": "NodeNotReady",
        "message": "Node is not ready",
        "lastTransitionTime": "",
    }

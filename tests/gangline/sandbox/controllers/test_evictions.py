"""What becomes of pods whose node does not exist."""

import pytest

from gangline.sandbox.controllers.evictions import Evictions
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.reconciling.actions import Decision
from gangline.sandbox.reconciling.world import Pace
from tests.support.workloads import deleted, later, run_node, run_pod, status_of, world_of


def decided(evictions: Evictions, pod: RunPod, seconds: float) -> Decision:
    return evictions.decide(pod, world_of(run_node("n", {}), now=later(seconds), pace=Pace(lost_node_s=40.0)))


def test_pod_is_failed_and_then_removed_when_its_node_has_been_missing_for_long_enough() -> None:
    pod, ended = run_pod("a", node="lost"), run_pod("a", node="lost", phase="Failed")
    evictions = Evictions()

    assert decided(evictions, pod, 0) == Decision(again_in_s=40.0)
    assert decided(evictions, pod, 30) == Decision(again_in_s=10.0)
    assert status_of(decided(evictions, pod, 40).actions)["phase"] == "Failed"
    assert deleted(decided(evictions, ended, 40)) == ["a"]


@pytest.mark.parametrize("pod", [run_pod("a"), run_pod("a", node="n")])
def test_pods_without_a_node_or_with_a_living_one_are_left_alone(pod: RunPod) -> None:
    assert decided(Evictions(), pod, 99) == Decision()

"""What the disruption controller decides: how many pods may be evicted."""

from typing import Any

import msgspec
import pytest

from gangline.sandbox.controllers import disruption
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.policy import Budget
from gangline.sandbox.reconciling.actions import Decision
from tests.support.workloads import metadata, run_pod, status_of, world_of

SELECTOR = {"matchLabels": {"app": "web"}}


def budget(status: dict[str, Any] | None = None, **spec: Any) -> Budget:
    body = {"metadata": metadata("web", generation=2), "spec": {"selector": SELECTOR, **spec}, "status": status or {}}
    return msgspec.convert(body, Budget)


def pods(*, ready: int, waiting: int = 0) -> list[RunPod]:
    labels = {"app": "web"}
    made = [run_pod(f"ready-{index}", node="n", phase="Running", ready=0, labels=labels) for index in range(ready)]
    return made + [run_pod(f"waiting-{index}", labels=labels) for index in range(waiting)]


def decided(of: Budget, *existing: RunPod) -> Decision:
    return disruption.decide(of, world_of(of, *existing))


@pytest.mark.parametrize(
    ("spec", "ready", "waiting", "desired", "allowed"),
    [
        pytest.param({"minAvailable": 2}, 3, 0, 2, 1, id="count"),
        pytest.param({"minAvailable": 2}, 1, 3, 2, 0, id="too few are healthy"),
        pytest.param({"minAvailable": "50%"}, 3, 0, 2, 1, id="percentage is rounded up"),
        pytest.param({"maxUnavailable": 1}, 3, 0, 2, 1, id="unavailable"),
        pytest.param({"maxUnavailable": 1}, 2, 1, 2, 0, id="one is unavailable already"),
        pytest.param({"maxUnavailable": "10%"}, 3, 0, 2, 1, id="unavailable percentage is rounded up"),
        pytest.param({"maxUnavailable": 9}, 3, 0, 0, 3, id="more than there are"),
        pytest.param({}, 3, 0, 0, 3, id="neither"),
        pytest.param({"minAvailable": 1}, 0, 0, 1, 0, id="no pods"),
    ],
)
def test_disruptions_are_allowed_down_to_what_is_desired(
    spec: dict[str, Any], ready: int, waiting: int, desired: int, allowed: int
) -> None:
    status = status_of(decided(budget(**spec), *pods(ready=ready, waiting=waiting)).actions)

    assert status == {
        "currentHealthy": ready,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": ready + waiting,
        "observedGeneration": 2,
        "disruptedPods": None,
    }


def test_evicted_pod_counts_no_more_and_is_forgotten_when_it_is_gone() -> None:
    status = {"disruptedPods": {"ready-0": "2026-11-30T12:00:00Z", "gone": "2026-11-30T12:00:00Z"}}

    written = status_of(decided(budget(status, minAvailable=1), *pods(ready=3)).actions)

    assert (written["currentHealthy"], written["disruptionsAllowed"]) == (2, 1)
    assert written["disruptedPods"] == {"gone": None, "ready-0": "2026-11-30T12:00:00Z"}


def test_nothing_is_written_when_nothing_has_changed() -> None:
    settled = {"expectedPods": 1, "currentHealthy": 1, "desiredHealthy": 1, "observedGeneration": 2}

    assert decided(budget(settled, minAvailable=1), *pods(ready=1)) == Decision()

"""The judge itself: it passes a clean cluster and fails on each planted violation."""

from typing import Any

import pytest

from tests.support import judge


def pod(name: str, *, node: str = "", phase: str = "Pending", group: str = "g", cpu: str = "1", **more: Any) -> Any:
    conditions = more.pop("conditions", None)
    if conditions is None:
        conditions = [
            {"type": "PodScheduled", "status": "True"}
            if node
            else {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        ]
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": more.pop("uid", name),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"scheduling.x-k8s.io/pod-group": group} if group else {},
            **more,
        },
        "spec": {
            "schedulerName": "gangline",
            "nodeName": node or None,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        },
        "status": {"phase": phase, "conditions": conditions},
    }


def node(name: str = "n", cpu: str = "4") -> Any:
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}}


def group(minimum: int = 2, **status: Any) -> Any:
    return {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"minMember": minimum}, "status": status}


RUNNING: dict[str, Any] = {"phase": "Running", "scheduled": 2, "running": 2}
TWO = [pod("a", node="n", phase="Running"), pod("b", node="n", phase="Running")]


def rules(pods: list[Any], groups: list[Any], nodes: list[Any]) -> list[str]:
    return [violation.rule for violation in judge.violations(judge.read(pods, nodes, groups))]


def test_a_true_cluster_is_clean() -> None:
    waiting = [pod("c", group="", cpu="9")]

    assert rules(TWO + waiting, [group(**RUNNING)], [node()]) == []


@pytest.mark.parametrize(
    ("pods", "groups", "nodes", "expected"),
    [
        pytest.param(
            [TWO[0], pod("b")],
            [group(phase="Scheduling", scheduled=1, running=1)],
            [node()],
            "partly-bound",
            id="half-a-gang",
        ),
        pytest.param(TWO, [group(**RUNNING)], [node(cpu="1")], "overcommitted", id="node-over-committed"),
        pytest.param(TWO, [group(**{**RUNNING, "running": 1})], [node()], "untrue-counts", id="count-of-a-status"),
        pytest.param(TWO, [group(**{**RUNNING, "phase": "Pending"})], [node()], "untrue-phase", id="phase"),
        pytest.param(
            [
                pod(
                    "a",
                    group="",
                    node="n",
                    conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
                )
            ],
            [],
            [node()],
            "bound-but-unscheduled",
            id="stale-condition-on-a-bound-pod",
        ),
        pytest.param([pod("a", group="", conditions=[])], [], [node()], "waits-without-reason", id="silent-wait"),
    ],
)
def test_a_planted_violation_is_found(pods: list[Any], groups: list[Any], nodes: list[Any], expected: str) -> None:
    assert rules(pods, groups, nodes) == [expected]


def test_history_counts_gangs_that_are_partly_bound_at_each_prefix() -> None:
    history = judge.History()
    history.apply("PodGroup", "ADDED", group())
    for name in ("a", "b"):
        history.apply("Pod", "ADDED", pod(name))
    assert not history.partial

    history.apply("Pod", "MODIFIED", pod("a", node="n"))
    assert history.partial == {"ns/g"}

    history.apply("Pod", "MODIFIED", pod("b", node="n"))
    assert not history.partial
    assert history.most_partial == 1


def test_history_sees_a_pod_that_moves() -> None:
    history = judge.History()
    history.apply("Pod", "ADDED", pod("a", node="n"))
    history.apply("Pod", "MODIFIED", pod("a", node="m"))

    assert [violation.rule for violation in history.violations] == ["moved"]

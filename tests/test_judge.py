"""The judge itself: it passes a clean cluster and fails on each planted violation."""

import re
from pathlib import Path
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


def said(reason: str) -> Any:
    return [{"type": "PodScheduled", "status": "False", "reason": reason}]


RUNNING: dict[str, Any] = {"phase": "Running", "scheduled": 2, "running": 2}
TWO = [pod("a", node="n", phase="Running"), pod("b", node="n", phase="Running")]


def rules(pods: list[Any], groups: list[Any], nodes: list[Any]) -> list[str]:
    return [violation.rule for violation in judge.violations(judge.read(pods, nodes, groups))]


def test_the_judge_knows_nothing_of_ours_but_the_contract() -> None:
    """It would repeat our mistakes."""
    source = Path(judge.__file__).read_text(encoding="utf-8")
    imported = re.findall(r"^(?:from|import) ((?:gangline|scheduler|controller|tests)\S*)", source, re.MULTILINE)

    assert imported
    assert [name for name in imported if not name.startswith("gangline.contract.")] == []


def test_a_true_cluster_is_clean() -> None:
    waiting = [pod("c", group="", cpu="9")]

    assert rules(TWO + waiting, [group(**RUNNING)], [node()]) == []


@pytest.mark.parametrize(
    ("pods", "groups", "nodes", "expected"),
    [
        pytest.param(
            [TWO[0], pod("b")],
            [group(phase="Scheduling", scheduled=1, running=1)],
            [node(cpu="1")],
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
        pytest.param(
            [pod("a", group="", cpu="9", conditions=[])], [], [node()], "waits-without-reason", id="silent-wait"
        ),
        pytest.param([pod("a", group="")], [], [node()], "waits-though-it-fits", id="idle-single"),
        pytest.param(
            [pod("a"), pod("b")], [group(phase="Scheduling")], [node()], "waits-though-it-fits", id="idle-gang"
        ),
        pytest.param(
            [*TWO, pod("c")], [group(**RUNNING)], [node()], "waits-though-it-fits", id="idle-surplus-of-a-gang"
        ),
        pytest.param([pod("a")], [group(phase="Pending")], [node()], "untrue-reason", id="incomplete-says-no-room"),
        pytest.param(
            [pod("a", conditions=said("GangIncomplete")), pod("b", conditions=said("GangIncomplete"))],
            [group(phase="Scheduling")],
            [node(cpu="1")],
            "untrue-reason",
            id="complete-says-incomplete",
        ),
        pytest.param([pod("a"), pod("b")], [], [node()], "untrue-reason", id="group-is-missing"),
        pytest.param(
            [pod("a"), pod("b", conditions=said("HeldForGang"))],
            [group(phase="Scheduling")],
            [node(cpu="1")],
            "divided-gang",
            id="members-say-different-things",
        ),
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


def half_started() -> judge.History:
    history = judge.History()
    history.apply("PodGroup", "ADDED", group())
    for name in ("a", "b"):
        history.apply("Pod", "ADDED", pod(name))
    history.apply("Pod", "MODIFIED", pod("a", node="n"))
    assert history.half_started == {"ns/g"}
    return history


def test_history_blames_binds_alone_only_where_nothing_else_happened() -> None:
    history = half_started()
    history.apply("Pod", "MODIFIED", pod("a", node="n", phase="Running"))
    assert history.half_started == {"ns/g"}

    history.apply("Pod", "ADDED", pod("c"))
    assert history.half_started == {"ns/g"}, "one more member explains nothing"

    history.apply("Pod", "MODIFIED", pod("b", node="n"))
    assert not history.partial


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("Pod", "DELETED", pod("b")), id="a-member-that-was-to-follow-is-deleted"),
        pytest.param(("Pod", "MODIFIED", pod("b", group="other")), id="it-is-relabelled"),
        pytest.param(("PodGroup", "MODIFIED", group(3)), id="minMember-is-raised"),
        pytest.param(("Node", "DELETED", node("n")), id="a-node-goes"),
    ],
)
def test_history_excuses_a_gang_that_something_befalls_while_binds_are_in_flight(change: tuple[str, str, Any]) -> None:
    history = half_started()
    history.apply(*change)

    assert history.excused == {"ns/g"}
    assert not history.half_started


def test_history_excuses_a_gang_that_lost_a_member() -> None:
    history = half_started()
    history.apply("Pod", "MODIFIED", pod("b", node="n"))
    history.apply("Pod", "DELETED", pod("b", node="n"))

    assert history.excused == {"ns/g"}
    assert not history.half_started


def test_history_excuses_a_gang_whose_pod_was_relabelled_into_it() -> None:
    history = judge.History()
    history.apply("PodGroup", "ADDED", group())
    history.apply("Pod", "ADDED", pod("a", node="n", group="other"))
    history.apply("Pod", "MODIFIED", pod("a", node="n"))

    assert history.excused == {"ns/g"}


def test_history_rebuilds_the_cluster_from_a_log() -> None:
    history = judge.History()
    for revision, (resource, object_) in enumerate((("pods", pod("a")), ("pods", pod("b")), ("nodes", node()))):
        history.apply_line(
            {
                "revision": revision,
                "type": "ADDED",
                "group": "",
                "resource": resource,
                "key": object_["metadata"]["name"],
                "object": object_,
            }
        )
    history.apply_line(
        {"revision": 9, "type": "DELETED", "group": "", "resource": "pods", "key": "a", "object": pod("a")}
    )

    assert [one.metadata.name for one in history.cluster().pods] == ["b"]
    assert [one.metadata.name for one in history.cluster().nodes] == ["n"]
    assert history.revision == 9


def test_history_excuses_a_bind_that_was_on_its_way_when_a_sibling_was_deleted() -> None:
    history = judge.History()
    history.apply("PodGroup", "ADDED", group())
    for name in ("a", "b"):
        history.apply("Pod", "ADDED", pod(name))
    history.apply("Pod", "DELETED", pod("b"))

    history.apply("Pod", "MODIFIED", pod("a", node="n"))

    assert history.most_half_started == 0
    assert history.excused == {"ns/g"}


def test_history_excuses_a_gang_that_another_hand_began() -> None:
    history = judge.History()
    history.apply("PodGroup", "ADDED", group())
    history.apply("Pod", "ADDED", pod("a"))
    history.bound_by_others.add(pod("a")["metadata"]["uid"])

    history.apply("Pod", "MODIFIED", pod("a", node="n"))

    assert history.most_half_started == 0
    assert history.excused == {"ns/g"}


def test_history_does_not_excuse_a_gang_that_was_never_complete() -> None:
    history = judge.History()
    history.apply("PodGroup", "ADDED", group())
    history.apply("Pod", "ADDED", pod("a"))

    history.apply("Pod", "MODIFIED", pod("a", node="n"))

    assert history.most_half_started == 1
    assert not history.excused

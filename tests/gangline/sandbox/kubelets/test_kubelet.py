"""What the kubelets decide, pod by pod."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.sandbox.kubelets.admission import Admissions
from gangline.sandbox.kubelets.kubelet import Kubelets
from gangline.sandbox.kubelets.nodes import KUBELET_LABEL, STOPPED_ANNOTATION
from gangline.sandbox.kubelets.podlife import (
    EXIT_CODE_ANNOTATION,
    READY_DELAY_ANNOTATION,
    RUN_SECONDS_ANNOTATION,
    START_DELAY_ANNOTATION,
)
from gangline.sandbox.kubelets.run import heartbeat_for
from gangline.sandbox.objects.core import RunNode, RunPod
from gangline.sandbox.objects.podstate import is_backing_off
from gangline.sandbox.reconciling.actions import Decision, Delete
from gangline.sandbox.reconciling.world import Pace
from tests.support.workloads import later, run_node, run_pod, status_of, world_of

NODE = run_node("n", {"cpu": "4", "memory": "8Gi"})
HEARTBEAT_S = 10.0


class Bench:
    """Kubelets that have just been told of all this, as after a restart."""

    def __init__(
        self, *pods: RunPod, nodes: tuple[RunNode, ...] = (NODE,), every_node: bool = True, speed: float = 1.0
    ) -> None:
        self.world = world_of(*nodes, pace=Pace(speed=speed))
        self.kubelets = Kubelets(every_node=every_node, heartbeat_s=HEARTBEAT_S)
        for pod in pods:
            self.kubelets.observe(None, pod)

    def decide(self, pod: RunPod, seconds: float = 0.0) -> Decision:
        return self.kubelets.decide_pod(pod, msgspec.structs.replace(self.world, now=later(seconds)))


def decided(pod: RunPod, seconds: float = 0.0) -> Decision:
    return Bench(pod).decide(pod, seconds)


def decided_node(node: RunNode) -> Decision:
    return Kubelets(every_node=True, heartbeat_s=HEARTBEAT_S).decide_node(node, world_of(node))


def conditions_of(status: dict[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in status["conditions"]}


def test_bound_pod_is_accepted_and_its_containers_are_created() -> None:
    status = status_of(decided(run_pod("a", node="n")).actions)

    assert status["phase"] == "Pending"
    assert status["startTime"] == "2026-11-30T12:00:00Z"
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert conditions_of(status)["Initialized"] == "True"
    assert conditions_of(status)["Ready"] == "False"


def test_accepted_pod_runs_and_is_ready() -> None:
    status = status_of(decided(run_pod("a", node="n", started=0)).actions)

    assert status["phase"] == "Running"
    assert status["podIP"] == status["podIPs"][0]["ip"]
    assert status["containerStatuses"][0]["state"] == {"running": {"startedAt": "2026-11-30T12:00:00Z"}}
    assert conditions_of(status) == dict.fromkeys(
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"], "True"
    )


@pytest.mark.parametrize(
    ("annotations", "phase", "exit_code", "reason"),
    [
        pytest.param({RUN_SECONDS_ANNOTATION: "5"}, "Succeeded", 0, "Completed", id="no exit code is success"),
        pytest.param({RUN_SECONDS_ANNOTATION: "5", EXIT_CODE_ANNOTATION: "0"}, "Succeeded", 0, "Completed", id="zero"),
        pytest.param({RUN_SECONDS_ANNOTATION: "5", EXIT_CODE_ANNOTATION: "3"}, "Failed", 3, "Error", id="not zero"),
        pytest.param({RUN_SECONDS_ANNOTATION: "0"}, "Succeeded", 0, "Completed", id="at once"),
    ],
)
def test_pod_ends_as_its_annotations_say(annotations: dict[str, str], phase: str, exit_code: int, reason: str) -> None:
    pod = run_pod("a", node="n", phase="Running", started=0, annotations=annotations)

    status = status_of(decided(pod, seconds=5).actions)

    assert status["phase"] == phase
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (exit_code, reason)
    assert conditions_of(status)["Ready"] == "False"


@pytest.mark.parametrize(
    ("pod", "again_in_s"),
    [
        pytest.param(run_pod("a", node="n", phase="Running", started=0, ready=0), None, id="runs for ever"),
        pytest.param(
            run_pod("a", node="n", phase="Running", started=0, ready=0, annotations={RUN_SECONDS_ANNOTATION: "5"}),
            3.0,
            id="runs on",
        ),
        pytest.param(
            run_pod("a", node="n", started=0, annotations={START_DELAY_ANNOTATION: "2.5"}), 0.5, id="starts later"
        ),
        pytest.param(run_pod("a", node="n", phase="Succeeded", started=0), None, id="finished"),
        pytest.param(run_pod("a"), None, id="no node"),
        pytest.param(run_pod("a", node="other"), None, id="unknown node"),
    ],
)
def test_nothing_is_written_while_there_is_nothing_to_say(pod: RunPod, again_in_s: float | None) -> None:
    assert decided(pod, seconds=2) == Decision(again_in_s=again_in_s)


@pytest.mark.parametrize(
    ("pod", "phase"),
    [
        pytest.param(
            run_pod("a", node="n", phase="Running", started=0, deleting=True), "Failed", id="killed by signal"
        ),
        pytest.param(
            run_pod("a", node="n", phase="Running", started=0, deleting=True, annotations={EXIT_CODE_ANNOTATION: "0"}),
            "Succeeded",
            id="handles the signal",
        ),
        pytest.param(run_pod("a", node="n", deleting=True), "Failed", id="never started"),
    ],
)
def test_deleted_pod_is_finished_before_it_is_removed(pod: RunPod, phase: str) -> None:
    decision = decided(pod)

    assert status_of(decision.actions)["phase"] == phase
    assert not [action for action in decision.actions if isinstance(action, Delete)]


def test_finished_pod_that_is_deleted_is_removed_by_its_uid_without_grace() -> None:
    pod = run_pod("a", node="n", phase="Failed", started=0, deleting=True)

    (action,) = decided(pod).actions

    assert isinstance(action, Delete)
    assert (action.uid, action.grace_period_s) == ("uid-a", 0)


@pytest.mark.parametrize(
    ("requests", "allocatable", "reason"),
    [
        pytest.param({"cpu": "3"}, {"cpu": "4"}, "OutOfcpu", id="cpu"),
        pytest.param({"memory": "600Mi"}, {"cpu": "9", "memory": "1Gi"}, "OutOfmemory", id="memory"),
        pytest.param({"cpu": "1"}, {"cpu": "9", "pods": "1"}, "OutOfpods", id="slots"),
        pytest.param({"example.com/gpu": "1"}, {"example.com/gpu": "1"}, "OutOfexample.com/gpu", id="extended"),
    ],
)
def test_pod_that_does_not_fit_fails_on_its_node(
    requests: dict[str, str], allocatable: dict[str, str], reason: str
) -> None:
    first = run_pod("first", node="n", phase="Running", started=0, requests=requests)
    second = run_pod("second", node="n", requests=requests)
    over = Bench(first, second, nodes=(run_node("n", allocatable),))

    status = status_of(over.decide(second).actions)

    assert (status["phase"], status["reason"]) == ("Failed", reason)
    assert "capacity" in status["message"]


def test_room_of_a_finished_pod_is_free_again() -> None:
    first = run_pod("first", node="n", phase="Running", started=0, cpu="4")
    second = run_pod("second", node="n", cpu="4")
    over = Bench(first, second)

    over.kubelets.observe(first, run_pod("first", node="n", phase="Succeeded", started=0, cpu="4"))

    assert status_of(over.decide(second).actions)["phase"] == "Pending"


def test_room_of_a_pod_replaced_under_its_name_is_counted_once() -> None:
    old = run_pod("a", node="n", phase="Running", started=0, cpu="4", uid="old")
    new = run_pod("a", node="n", cpu="4", uid="new")
    over = Bench()

    over.kubelets.observe(None, old)
    over.kubelets.observe(old, None)
    over.kubelets.observe(None, new)

    assert status_of(over.decide(new).actions)["phase"] == "Pending"


def test_pod_accepted_before_its_status_is_seen_holds_its_room() -> None:
    pods = (run_pod("first", node="n", cpu="3"), run_pod("second", node="n", cpu="3"))
    over = Bench(*pods)

    phases = [status_of(over.decide(pod).actions)["phase"] for pod in pods]

    assert phases == ["Pending", "Failed"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (RUN_SECONDS_ANNOTATION, "soon"),
        (RUN_SECONDS_ANNOTATION, "-1"),
        (RUN_SECONDS_ANNOTATION, "nan"),
        (START_DELAY_ANNOTATION, "inf"),
        (START_DELAY_ANNOTATION, ""),
        (EXIT_CODE_ANNOTATION, "256"),
        (EXIT_CODE_ANNOTATION, "-1"),
        (EXIT_CODE_ANNOTATION, "one"),
    ],
)
def test_illegal_annotation_fails_the_pod_and_says_what_is_legal(name: str, value: str) -> None:
    status = status_of(decided(run_pod("a", node="n", annotations={name: value})).actions)

    assert (status["phase"], status["reason"]) == ("Failed", "InvalidAnnotation")
    assert name in status["message"]
    assert repr(value) in status["message"]
    assert "give a" in status["message"]


@pytest.mark.parametrize("quantity", ["lots", "-1", "9e99"])
def test_unreadable_request_fails_the_pod(quantity: str) -> None:
    status = status_of(decided(run_pod("a", node="n", cpu=quantity)).actions)

    assert (status["phase"], status["reason"]) == ("Failed", "UnexpectedAdmissionError")


def test_nodes_of_others_are_left_alone() -> None:
    theirs, ours = run_node("theirs", {"cpu": "1"}), run_node("ours", {"cpu": "1"}, labels={KUBELET_LABEL: "simulated"})
    pods = (run_pod("a", node="theirs"), run_pod("b", node="ours"))
    some = Bench(*pods, nodes=(theirs, ours), every_node=False)

    decisions = [some.decide(pod) for pod in pods]

    assert [bool(decision.actions) for decision in decisions] == [False, True]


def test_a_node_that_is_not_ready_is_made_so() -> None:
    bare = RunNode(metadata=NODE.metadata)

    status = status_of(decided_node(bare).actions)
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert [each["type"] for each in status["addresses"]] == ["InternalIP", "Hostname"]
    assert status["allocatable"]["pods"] == "110"


def test_of_a_ready_node_the_lease_alone_is_renewed_and_again_later() -> None:
    decision = decided_node(NODE)

    (lease,) = decision.actions
    assert lease.resource.plural == "leases"
    assert decision.again_in_s == HEARTBEAT_S


@pytest.mark.parametrize(("nodes", "seconds"), [(0, 10.0), (200, 10.0), (20_000, 1000.0)])
def test_many_nodes_are_heard_of_less_often(nodes: int, seconds: float) -> None:
    assert heartbeat_for(nodes) == seconds


Step = tuple[str, int, int]
STEPS = st.lists(st.tuples(st.sampled_from(["admit", "release"]), st.integers(0, 5), st.integers(1, 4)), max_size=40)


@given(STEPS)
def test_safety_accepted_pods_never_exceed_the_node(steps: list[Step]) -> None:
    admissions = Admissions()
    held: dict[str, int] = {}

    for what, index, cpu in steps:
        uid = f"pod-{index}"
        if what == "release":
            admissions.release(uid)
            held.pop(uid, None)
        elif admissions.admit(uid, "n", {"cpu": cpu, "pods": 1}, {"cpu": 6, "pods": 3}) is None:
            held.setdefault(uid, cpu)

        used = admissions.used("n")
        assert used.get("cpu", 0) == sum(held.values()) <= 6
        assert used.get("pods", 0) == len(held) <= 3


def after(pod: RunPod, decision: Decision, policy: str) -> RunPod:
    """The pod with this restartPolicy, once what was decided has been written."""
    body = msgspec.to_builtins(pod)
    body["spec"]["restartPolicy"] = policy
    body["status"] |= status_of(decision.actions)
    return msgspec.convert(body, RunPod)


@pytest.mark.parametrize(
    ("policy", "exit_code", "ends"),
    [
        ("Always", 0, False),
        ("Always", 1, False),
        ("OnFailure", 1, False),
        ("OnFailure", 0, True),
        ("Never", 1, True),
    ],
)
def test_restart_policy_says_whether_containers_start_again(policy: str, exit_code: int, ends: bool) -> None:
    notes = {RUN_SECONDS_ANNOTATION: "5", EXIT_CODE_ANNOTATION: str(exit_code)}
    pod = after(run_pod("a", node="n", phase="Running", started=0, ready=0, annotations=notes), Decision(), policy)

    exited = after(pod, decided(pod, seconds=5), policy)

    assert (exited.status.phase in ("Succeeded", "Failed")) == ends
    assert is_backing_off(exited) != ends


def test_containers_start_again_at_once_and_then_ever_later() -> None:
    notes = {RUN_SECONDS_ANNOTATION: "5", EXIT_CODE_ANNOTATION: "1"}
    pod = after(run_pod("a", node="n", phase="Running", started=0, ready=0, annotations=notes), Decision(), "Always")
    watcher = Bench()
    waits = []
    moment = 0.0
    for _ in range(6):
        decision = watcher.decide(pod, moment)
        waits.append(decision.again_in_s)
        moment += decision.again_in_s or 0.0
        if decision.actions:
            pod = after(pod, decision, "Always")

    assert waits == [5.0, None, None, 5.0, None, 10.0]
    statuses = pod.status.container_statuses or ()
    assert [(each.restart_count, each.last_state is not None) for each in statuses] == [(2, True)]


def test_pod_is_ready_later_when_it_says_so() -> None:
    notes = {READY_DELAY_ANNOTATION: "3"}
    started = after(
        run_pod("a", node="n", started=0, annotations=notes),
        decided(run_pod("a", node="n", started=0, annotations=notes)),
        "Always",
    )
    later_status = status_of(decided(started, seconds=3).actions)

    assert started.status.phase == "Running"
    assert decided(started, seconds=1) == Decision(again_in_s=2.0)
    assert conditions_of(later_status)["Ready"] == "True"
    assert later_status["containerStatuses"][0]["state"] == {"running": {"startedAt": "2026-11-30T12:00:00Z"}}


def test_a_stopped_kubelet_does_nothing() -> None:
    node = msgspec.structs.replace(
        NODE, metadata=msgspec.structs.replace(NODE.metadata, annotations={STOPPED_ANNOTATION: "true"})
    )
    pod = run_pod("a", node="n")

    assert Bench(pod, nodes=(node,)).decide(pod) == Decision()


def test_speed_shortens_what_takes_time() -> None:
    pod = run_pod("a", node="n", phase="Running", started=0, ready=0, annotations={RUN_SECONDS_ANNOTATION: "3600"})
    assert Bench(speed=60).decide(pod) == Decision(again_in_s=60.0)


FAILING = {RUN_SECONDS_ANNOTATION: "5", EXIT_CODE_ANNOTATION: "1"}


@pytest.mark.parametrize(
    ("pod", "seconds", "told"),
    [
        pytest.param(run_pod("a", node="n"), 0, [], id="accepted"),
        pytest.param(run_pod("a", node="n", started=0), 0, ["Pulled", "Created", "Started"], id="started"),
        pytest.param(run_pod("a", node="n", phase="Running", started=0), 0, [], id="ready later"),
        pytest.param(run_pod("a", node="n", phase="Running", started=0, deleting=True), 0, ["Killing"], id="stopped"),
        pytest.param(run_pod("a", node="n", started=0, deleting=True), 0, [], id="never started"),
        pytest.param(run_pod("a", node="n", cpu="99"), 0, ["OutOfcpu"], id="does not fit"),
        pytest.param(
            after(run_pod("a", node="n", phase="Running", started=0, annotations=FAILING), Decision(), "Always"),
            5,
            ["BackOff"],
            id="will be started again",
        ),
    ],
)
def test_kubelet_tells_what_happens_to_containers(pod: RunPod, seconds: float, told: list[str]) -> None:
    assert [note.reason for note in decided(pod, seconds).notes] == told

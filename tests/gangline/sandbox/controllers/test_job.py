"""What the Job controller decides."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from gangline.contract.timestamps import timestamp
from gangline.sandbox.controllers import indexed
from gangline.sandbox.controllers.job import Jobs
from gangline.sandbox.objects.batch import Job
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.reconciling.actions import Decision
from gangline.sandbox.reconciling.world import Pace
from tests.support.workloads import (
    NOW,
    created,
    deleted,
    job,
    later,
    owned_by,
    run_pod,
    status_of,
    world_of,
)

OWNER = job("sums")


def mine(name: str, **facts: Any) -> RunPod:
    return run_pod(name, owners=(owned_by(OWNER, "Job"),), **facts)


class Bench:
    """The controller with its caches, told of changes as watches would tell them."""

    def __init__(self, owner: Job, *pods: RunPod) -> None:
        self.world = world_of(owner, pace=Pace(job_backoff_s=10.0))
        self.pods = self.world.all(RunPod)
        self.owner = owner
        self.controller = Jobs()
        for pod in pods:
            self.see(pod)

    def see(self, pod: RunPod) -> None:
        self.controller.observe(self.pods.put(pod), pod)

    def lose(self, pod: RunPod) -> None:
        self.controller.observe(self.pods.remove(pod.metadata.key), None)

    def decide(self, now: datetime = NOW) -> Decision:
        return self.controller.decide(self.owner, msgspec.structs.replace(self.world, now=now))


def conditions_of(decision: Decision) -> dict[str, str]:
    return {each["type"]: each["reason"] for each in status_of(decision.actions).get("conditions", ())}


@pytest.mark.parametrize(
    ("spec", "pods", "made"),
    [
        pytest.param({}, (), 1, id="one by default"),
        pytest.param({"parallelism": 3, "completions": 7}, (), 3, id="as many as may run at once"),
        pytest.param({"parallelism": 3, "completions": 2}, (), 2, id="no more than are needed"),
        pytest.param(
            {"parallelism": 3, "completions": 7},
            tuple(mine(f"p{i}", phase="Succeeded") for i in range(6)),
            1,
            id="the last wave",
        ),
        pytest.param(
            {"parallelism": 3, "completions": 7}, (mine("a"), mine("b", phase="Running")), 1, id="one missing"
        ),
        pytest.param({"parallelism": 2}, (mine("a", phase="Succeeded"), mine("b")), 0, id="work queue is winding down"),
        pytest.param({"parallelism": 0}, (), 0, id="none may run"),
        pytest.param({"suspend": True}, (), 0, id="suspended"),
    ],
)
def test_pods_are_made_while_more_are_wanted(spec: dict[str, Any], pods: tuple[RunPod, ...], made: int) -> None:
    assert len(created(Bench(job("sums", **spec), *pods).decide())) == made


def test_made_pod_carries_the_labels_of_its_template() -> None:
    (body,) = created(Bench(OWNER).decide())

    assert body["metadata"]["labels"] == {"app": "sums"}
    assert body["metadata"]["ownerReferences"][0]["controller"] is True


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        pytest.param({"completions": 2}, (mine("a", phase="Succeeded"), mine("b", phase="Succeeded")), id="enough"),
        pytest.param({"parallelism": 3}, (mine("a", phase="Succeeded"),), id="work queue: one success, nobody left"),
        pytest.param({"completions": 0}, (), id="nothing to do"),
    ],
)
def test_job_completes(spec: dict[str, Any], pods: tuple[RunPod, ...]) -> None:
    decision = Bench(job("sums", **spec), *pods).decide()

    assert conditions_of(decision) == dict.fromkeys(["SuccessCriteriaMet", "Complete"], "CompletionsReached")
    assert status_of(decision.actions)["completionTime"] == timestamp(NOW)


def test_first_failure_beyond_the_limit_fails_the_job_and_removes_the_others() -> None:
    bench = Bench(job("sums", parallelism=3, backoffLimit=0), mine("a", phase="Failed"), mine("b"), mine("c"))

    first = bench.decide()
    assert deleted(first) == ["b", "c"]
    assert conditions_of(first) == {"FailureTarget": "BackoffLimitExceeded"}

    for name in ("b", "c"):
        bench.see(mine(name, phase="Failed", deleting=True))
    last = bench.decide()
    assert conditions_of(last) == dict.fromkeys(["FailureTarget", "Failed"], "BackoffLimitExceeded")
    assert status_of(last.actions)["failed"] == 3


def test_replacements_wait_longer_after_each_failure() -> None:
    bench = Bench(job("sums"), mine("a", phase="Failed"))

    first = bench.decide()
    assert (created(first), first.again_in_s) == ([], 10.0)
    assert len(created(bench.decide(later(10)))) == 1

    bench.see(mine("b", phase="Failed"))
    assert bench.decide(later(11)).again_in_s == 20.0


def test_pods_that_are_deleted_after_their_end_stay_counted() -> None:
    bench = Bench(job("sums", completions=3), mine("a", phase="Succeeded"), mine("b", phase="Failed"))
    bench.decide()
    bench.lose(mine("a"))
    bench.lose(mine("b"))

    status = status_of(bench.decide().actions)

    assert (status["succeeded"], status["failed"]) == (1, 1)


def test_counts_never_fall_below_what_the_status_says() -> None:
    bench = Bench(job("sums", completions=2, status={"succeeded": 2, "failed": 1}), mine("c", phase="Succeeded"))

    decision = bench.decide()

    assert conditions_of(decision)["Complete"] == "CompletionsReached"
    assert status_of(decision.actions)["failed"] == 1


def test_running_pod_that_somebody_deletes_is_a_failure() -> None:
    bench = Bench(job("sums", backoffLimit=0), mine("a", phase="Running"))

    bench.decide()
    bench.lose(mine("a"))

    assert conditions_of(bench.decide())["FailureTarget"] == "BackoffLimitExceeded"


def test_nothing_is_kept_of_pods_that_outlive_their_job() -> None:
    bench = Bench(job("sums"), mine("a", phase="Running"))
    bench.decide()

    bench.controller.forget(bench.owner, None)
    bench.lose(mine("a", phase="Failed"))

    assert status_of(bench.decide().actions)["failed"] is None


def test_suspending_removes_the_pods_without_blame_and_resuming_starts_anew() -> None:
    status = {"active": 1, "startTime": timestamp(NOW)}
    bench = Bench(job("sums", suspend=True, backoffLimit=0, status=status), mine("a", phase="Running"))

    suspended = bench.decide()
    assert deleted(suspended) == ["a"]
    assert conditions_of(suspended) == {"Suspended": "JobSuspended"}
    assert status_of(suspended.actions)["startTime"] is None

    bench.see(mine("a", phase="Failed", deleting=True))
    bench.lose(mine("a"))
    assert "FailureTarget" not in conditions_of(bench.decide())


def test_less_parallelism_removes_the_surplus() -> None:
    bench = Bench(job("sums", parallelism=1, completions=9), mine("a", phase="Running"), mine("b"))

    assert deleted(bench.decide()) == ["b"]


def test_deadline_ends_the_job() -> None:
    bench = Bench(job("sums", activeDeadlineSeconds=30, status={"startTime": timestamp(NOW)}), mine("a"))

    assert bench.decide().again_in_s == 30.0
    late = bench.decide(later(30))
    assert conditions_of(late)["FailureTarget"] == "DeadlineExceeded"
    assert deleted(late) == ["a"]


def test_what_a_deadline_stops_counts_as_failed_and_is_not_why_the_job_fails() -> None:
    spec = {"activeDeadlineSeconds": 30, "backoffLimit": 0, "parallelism": 2, "completions": 2}
    bench = Bench(job("sums", **spec, status={"startTime": timestamp(NOW)}), mine("a"), mine("b"))

    bench.decide(later(30))
    bench.lose(mine("a"))
    bench.see(mine("b", phase="Failed", deleting=True))
    last = bench.decide(later(31))

    assert conditions_of(last) == dict.fromkeys(["FailureTarget", "Failed"], "DeadlineExceeded")
    assert status_of(last.actions)["failed"] == 2


def test_a_deadline_as_long_as_can_be_is_none() -> None:
    bench = Bench(job("sums", activeDeadlineSeconds=2**63 - 1, status={"startTime": timestamp(NOW)}), mine("a"))

    assert (deleted(bench.decide()), bench.decide().again_in_s) == ([], 2.0**63)


def test_ended_job_is_left_alone_until_its_time_to_live_is_over() -> None:
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": timestamp(NOW)}

    assert Bench(job("sums", status={"conditions": [complete]})).decide() == Decision()
    mortal = Bench(job("sums", ttlSecondsAfterFinished=60, status={"conditions": [complete]}))
    assert mortal.decide().again_in_s == 60.0
    assert deleted(mortal.decide(later(60))) == ["sums"]


def test_indexed_job_makes_each_index_once() -> None:
    bench = Bench(
        job("sums", parallelism=3, completions=4, completionMode="Indexed"),
        mine("a", phase="Succeeded", annotations={indexed.COMPLETION_INDEX: "1"}),
        mine("b", phase="Running", annotations={indexed.COMPLETION_INDEX: "0"}),
    )

    decision = bench.decide()

    bodies = created(decision)
    assert [body["metadata"]["annotations"][indexed.COMPLETION_INDEX] for body in bodies] == ["2", "3"]
    assert [body["metadata"]["generateName"] for body in bodies] == ["sums-2-", "sums-3-"]
    assert bodies[0]["spec"]["hostname"] == "sums-2"
    assert bodies[0]["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"
    assert status_of(decision.actions)["completedIndexes"] == "1"


@pytest.mark.parametrize(
    ("indexes", "text"), [((), ""), ((4,), "4"), ((0, 1, 2, 5), "0-2,5"), ((1, 3, 4, 9, 10), "1,3-4,9-10")]
)
def test_completed_indexes_are_written_as_runs(indexes: tuple[int, ...], text: str) -> None:
    assert indexed.render(indexes) == text
    assert indexed.parse(text) == set(indexes)


def exited(name: str, code: int, *conditions: str) -> RunPod:
    """A pod of the Job that failed with this code, and with these conditions."""
    body = msgspec.to_builtins(mine(name, phase="Failed"))
    body["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": {"exitCode": code}}}]
    body["status"]["conditions"] = [{"type": type_, "status": "True"} for type_ in conditions]
    return msgspec.convert(body, RunPod)


FAIL_42 = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
IGNORE_DISRUPTION = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
FAIL_OTHERS = {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "NotIn", "values": [1, 2]}}


@pytest.mark.parametrize(
    ("rules", "pod", "failed", "message"),
    [
        pytest.param(
            [FAIL_42],
            exited("a", 42),
            1,
            "Container main for pod team/a failed with exit code 42 matching FailJob rule at index 0",
            id="an exit code that nothing helps against",
        ),
        pytest.param([FAIL_42], exited("a", 1), 1, None, id="another exit code"),
        pytest.param(
            [IGNORE_DISRUPTION, FAIL_42], exited("a", 42, "DisruptionTarget"), 0, None, id="the first rule counts"
        ),
        pytest.param(
            [FAIL_OTHERS],
            exited("a", 3),
            1,
            "Container main for pod team/a failed with exit code 3 matching FailJob rule at index 0",
            id="all but these exit codes",
        ),
        pytest.param([{**FAIL_42, "action": "Count"}], exited("a", 42), 1, None, id="counts"),
    ],
)
def test_failure_policy_judges_failed_pods(
    rules: list[dict[str, Any]], pod: RunPod, failed: int, message: str | None
) -> None:
    decision = Bench(job("sums", podFailurePolicy={"rules": rules}), pod).decide()
    status = status_of(decision.actions)

    assert (status["failed"] or 0) == failed
    assert [each["message"] for each in status["conditions"] or () if each["type"] == "Failed"] == (
        [message] if message else []
    )


def test_restarts_count_towards_the_limit() -> None:
    body = msgspec.to_builtins(mine("a", phase="Running"))
    body["spec"]["restartPolicy"] = "OnFailure"
    body["status"]["containerStatuses"] = [{"name": "main", "restartCount": 3}]

    decision = Bench(job("sums", backoffLimit=2), msgspec.convert(body, RunPod)).decide()

    assert conditions_of(decision) == {"FailureTarget": "BackoffLimitExceeded"}
    assert deleted(decision) == ["a"]

"""What a failed pod means for its Job: the first rule of `podFailurePolicy` that matches it says (Kubernetes batch/v1).

`FailIndex` counts as an ordinary failure: limits for each index are not kept here.
"""

from msgspec import Struct

from gangline.sandbox.objects.batch import ExitCodes, FailureRule, Job
from gangline.sandbox.objects.core import RunPod


class Failure(Struct, frozen=True, kw_only=True):
    """What a pod's failure does: nothing, counts, or (`fatal`: why) ends the Job."""

    counts: bool = True
    fatal: str | None = None


def judged(job: Job, pod: RunPod) -> Failure:
    """Apply the Job's rules to a pod that has failed."""
    policy = job.spec.pod_failure_policy
    for index, rule in enumerate(policy.rules if policy else ()):
        reason = _matching(rule, pod)
        if reason is not None:
            fatal = f"{reason} matching FailJob rule at index {index}" if rule.action == "FailJob" else None
            return Failure(counts=rule.action != "Ignore", fatal=fatal)
    return Failure()


def _matching(rule: FailureRule, pod: RunPod) -> str | None:
    """Say what of the pod matches a rule."""
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        for container, code in _exits(pod):
            if _has(rule.on_exit_codes, container, code):
                return f"Container {container} for pod {name} failed with exit code {code}"
        return None
    conditions = {(each.type, each.status) for each in pod.status.conditions or ()}
    for pattern in rule.on_pod_conditions or ():
        if (pattern.type, pattern.status) in conditions:
            return f"Pod {name} has condition {pattern.type}"
    return None


def _exits(pod: RunPod) -> list[tuple[str, int]]:
    ended = [(each.name, each.state.terminated) for each in pod.status.container_statuses or () if each.state]
    return [(name, state.exit_code) for name, state in ended if state is not None and state.exit_code]


def _has(codes: ExitCodes, container: str, code: int) -> bool:
    return codes.container_name in (None, container) and (code in codes.values) == (codes.operator == "In")

"""What a step expects of the cluster, as named checks; each tells what it saw."""

from collections import Counter
from collections.abc import Callable, Collection

from msgspec import Struct

from gangline.cli.walk.view import Finding, View, is_running, is_waiting, reason_of
from gangline.contract.podgroup import Phase
from gangline.sandbox.objects.core import RunPod

Check = Callable[[View], Finding]


class Expectation(Struct, frozen=True, kw_only=True):
    """A sentence and how to tell whether it is true: once the step has settled, or (`always`) all the way through."""

    says: str
    check: Check
    always: bool = False


def pods_are(app: str, *, running: int, waiting: int) -> Expectation:
    """Expect so many pods to run, so many to wait, and no others."""

    def check(view: View) -> Finding:
        pods = view.pods_of(app)
        seen = (sum(map(is_running, pods)), sum(map(is_waiting, pods)), len(pods))
        return Finding(seen == (running, waiting, running + waiting), _phases(pods))

    parts = [f"{count} {word}" for count, word in ((running, "Running"), (waiting, "Pending")) if count]
    return Expectation(says=f"pods of {app}: {', '.join(parts)}", check=check)


def no_pods(app: str) -> Expectation:
    """Expect that no pod of the name is left."""

    def check(view: View) -> Finding:
        left = [pod.metadata.name for pod in view.pods.cache if (pod.metadata.labels or {}).get("app") == app]
        return Finding(not left, f"{len(left)} left")

    return Expectation(says=f"no pod of {app} is left", check=check)


def never_more_than(app: str, bound: int) -> Expectation:
    """Expect that at no moment more pods than that have a node."""

    def check(view: View) -> Finding:
        count = sum(bool(pod.spec.node_name) for pod in view.pods_of(app))
        return Finding(count <= bound, f"{count} pods have a node")

    return Expectation(says=f"at no moment more than {bound} pods of {app} have a node", check=check, always=True)


def none_bound_but(app: str, old_uids: Collection[str]) -> Expectation:
    """Expect that, besides these earlier pods, at no moment any pod has a node."""

    def check(view: View) -> Finding:
        bound = [pod for pod in view.pods_of(app) if pod.spec.node_name and pod.metadata.uid not in old_uids]
        return Finding(not bound, f"{len(bound)} new pods have a node")

    return Expectation(says=f"at no moment any of the new pods of {app} has a node", check=check, always=True)


def untouched(app: str, uids: Collection[str]) -> Expectation:
    """Expect that these pods run all the way through."""

    def check(view: View) -> Finding:
        running = {pod.metadata.uid for pod in view.pods_of(app) if is_running(pod)}
        return Finding(running >= set(uids), f"{len(running & set(uids))} of {len(uids)} run on")

    return Expectation(says=f"the {len(uids)} that run are not touched", check=check, always=True)


def group_is(name: str, phase: Phase, **counts: int) -> Expectation:
    """Expect a phase, and counts of the status by field name."""

    def check(view: View) -> Finding:
        group = view.group(name)
        if group is None:
            return Finding(holds=False, evidence="no such PodGroup")
        seen = {count: getattr(group.status, count) or 0 for count in counts}
        evidence = ", ".join([f"phase {group.status.phase or 'not set'}", *(f"{n} {v}" for n, v in seen.items())])
        return Finding(group.status.phase == phase and seen == counts, evidence)

    wanted = ", ".join([f"phase {phase}", *(f"{name} {count}" for name, count in counts.items())])
    return Expectation(says=f"PodGroup {name}: {wanted}", check=check)


def no_group_object(app: str) -> Expectation:
    """Expect that nobody has made a PodGroup of the name."""

    def check(view: View) -> Finding:
        return Finding(view.group(app) is None, "none" if view.group(app) is None else "there is one")

    return Expectation(says="there is no PodGroup object, the gang is an annotation", check=check, always=True)


def every_waiting_pod_says(app: str, *texts: str) -> Expectation:
    """Expect `PodScheduled=False, reason Unschedulable` on each waiting pod, with these texts in the message."""

    def check(view: View) -> Finding:
        said = [reason_of(pod) for pod in view.pods_of(app) if is_waiting(pod)]
        holds = bool(said) and all(
            reason == "Unschedulable" and all(text in message for text in texts) for reason, message in said
        )
        return Finding(holds, _shown(said))

    quoted = " and ".join(f"“{text}”" for text in texts)
    return Expectation(says=f"every waiting pod of {app} says {quoted}", check=check)


def job_completed(name: str, succeeded: int) -> Expectation:
    """Expect a Complete Job with so many successes."""

    def check(view: View) -> Finding:
        job = view.job(name)
        if job is None:
            return Finding(holds=False, evidence="no such Job")
        types = [each.type for each in job.status.conditions or () if each.status == "True"]
        evidence = f"succeeded {job.status.succeeded}, conditions {', '.join(types) or 'none'}"
        return Finding("Complete" in types and job.status.succeeded == succeeded, evidence)

    return Expectation(says=f"Job {name}: Complete, {succeeded} succeeded", check=check)


def replaced(app: str, lost_uid: str) -> Expectation:
    """Expect that the lost pod has gone for good."""

    def check(view: View) -> Finding:
        is_gone = view.pods.cache.by_uid(lost_uid) is None
        return Finding(is_gone, "gone" if is_gone else "still there")

    return Expectation(says=f"the killed pod of {app} is gone", check=check)


def _phases(pods: Collection[RunPod]) -> str:
    counts = Counter(pod.status.phase or "Pending" for pod in pods)
    return ", ".join(f"{count} {phase}" for phase, count in sorted(counts.items())) or "no pods"


def _shown(said: Collection[tuple[str, str]]) -> str:
    counts = Counter(f"{reason}: {message}" if reason else "nothing yet" for reason, message in said)
    return "; ".join(f"{count} pods: {text}" for text, count in counts.most_common()) or "no pod waits"

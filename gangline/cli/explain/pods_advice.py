"""Advice on pods: what is to be done where members are missing, or are not as they should be."""

import difflib
from collections.abc import Iterable, Iterator, Sequence

from gangline.cli.cluster.owners import Owner
from gangline.cli.cluster.survey import Survey
from gangline.cli.explain.case import Case
from gangline.cli.explain.commands import change_template, kubectl, patch
from gangline.cli.explain.past import owners_of, why_no_more_pods
from gangline.cli.terminal import counted
from gangline.contract.counting import is_finished, is_foreign
from gangline.contract.membership import GangKind
from gangline.contract.names import API_VERSION, POD_GROUP_LABEL
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup


def incomplete(case: Case, survey: Survey, names: Sequence[str]) -> Iterator[str]:
    """Say how the missing members come to be, or how to start without them."""
    namespace, name = case.key.namespace, case.key.name
    if case.gated:
        yield from gates(case)
    lacks = case.need - len(case.waiting) - len(case.gated) - len(case.foreign) - len(case.unplaceable)
    if lacks > 0:
        yield from _more_pods(case, survey, names)
    here = len(case.waiting) + case.counts.succeeded
    if case.key.kind is GangKind.POD_GROUP and not case.counts.bound and 0 < here < case.min_member:
        fewer = patch(namespace, f"pg {name}", {"spec": {"minMember": here}})
        yield f"or start with the {here} that {'is' if here == 1 else 'are'} here: {fewer}"


def _more_pods(case: Case, survey: Survey, names: Sequence[str]) -> Iterator[str]:
    namespace, problem = case.key.namespace, why_no_more_pods(case, survey)
    if "quota" in problem:
        yield f"look at what the quota leaves, then raise it or ask for less: {kubectl(namespace, 'describe quota')}"
    owners = [owner for owner in owners_of(case, survey) if not _is_made_by_another(owner, survey)]
    makers = {(owner.kind, owner.metadata.name): owner for owner in owners}
    for kind, made_by in sorted({*case.makers, *makers}):
        step = _of_maker(case, kind, made_by, makers.get((kind, made_by)), problem)
        if step:
            yield step
    if not case.makers and not makers:
        label = f"`{POD_GROUP_LABEL}: {case.key.name}`"
        yield f"create the missing pods in namespace {namespace}, with the label {label} and `schedulerName: {names[0]}`"


def _is_made_by_another(owner: Owner, survey: Survey) -> bool:
    controller = owner.metadata.controller
    return controller is not None and any(one.metadata.uid == controller.uid for one in survey.owners)


def _of_maker(case: Case, kind: str, name: str, owner: Owner | None, problem: str) -> str:
    namespace, minimum = case.key.namespace, case.min_member
    target = f"{kind.lower()}/{name}"
    describe = kubectl(namespace, f"describe {target}")
    if owner is not None and owner.is_suspended:
        return f"{kind} {name} is suspended; let it go on: {patch(namespace, target, {'spec': {'suspend': False}})}"
    enough = owner is not None and owner.wanted is not None and owner.wanted >= minimum
    match kind:
        case "StatefulSet" if owner is None or owner.is_ordered:
            return (
                f"re-create StatefulSet {name} with `podManagementPolicy: Parallel`: an ordered one makes its next pod "
                "only when the one before is ready, which a gang never lets happen"
            )
        case _ if problem or enough:
            return f"see what stops {kind} {name} from making its pods: {describe}"
        case "Job":
            return _job(case, name, owner)
        case "Deployment" | "ReplicaSet" | "StatefulSet":
            scale = kubectl(namespace, f"scale {target} --replicas {minimum}")
            return f"let {kind} {name} make {minimum} pods{_instead(owner)}: {scale}"
        case _:
            return f"see why {kind} {name} makes no more pods: {describe}"


def _instead(owner: Owner | None) -> str:
    return f" instead of {owner.wanted}" if owner is not None and owner.wanted is not None else ""


def _job(case: Case, name: str, owner: Owner | None) -> str:
    namespace, minimum = case.key.namespace, case.min_member
    if owner is None or (owner.completions is not None and owner.completions < minimum):
        return f"raise parallelism (and completions) of Job {name} to {minimum} or more, or lower minMember"
    raised = patch(namespace, f"job/{name}", {"spec": {"parallelism": minimum}})
    return f"let Job {name} run {minimum} pods at once{_instead(owner)}: {raised}"


def gates(case: Case) -> Iterator[str]:
    """Name the gates, and who may take them away."""
    gated = {member.uid for member in case.gated}
    pods = [pod for pod in case.pods if pod.metadata.uid in gated]
    named = sorted({str(gate.get("name")) for pod in pods for gate in pod.spec.scheduling_gates or ()})
    look = (
        kubectl(case.key.namespace, "get workloads.kueue.x-k8s.io")
        if any(name.startswith("kueue.x-k8s.io/") for name in named)
        else kubectl(case.key.namespace, f"get pod {pods[0].metadata.name} -o jsonpath='{{.spec.schedulingGates}}'")
    )
    yield f"find out what {' and '.join(named)} waits for, only whoever put that gate there should take it away: {look}"


def no_group(case: Case, groups: Iterable[PodGroup]) -> Iterator[str]:
    """Say how to create the group that pods name, or to name the one that was meant."""
    namespace, name = case.key.namespace, case.key.name
    here = [group.metadata.name for group in groups if group.metadata.namespace == namespace]
    close = difflib.get_close_matches(name, here, n=1)
    if close:
        labels = {"metadata": {"labels": {POD_GROUP_LABEL: close[0]}}}
        yield f"if PodGroup {close[0]} is meant, correct the label: {change_template(case, case.pods, labels)}"
    members = sum(not is_finished(member) for member in case.members)
    manifest = (
        f"{{apiVersion: {API_VERSION}, kind: PodGroup, metadata: {{name: {name}}}, spec: {{minMember: {members}}}}}"
    )
    either = "or create it" if close else "create it"
    yield f"{either}, here for the {counted(members, 'pod')} that {'names' if members == 1 else 'name'} it: `echo '{manifest}' | kubectl -n {namespace} apply -f -`"
    elsewhere = [group.metadata.namespace for group in groups if group.metadata.name == name]
    if elsewhere:
        yield f"the PodGroup {name} of namespace {elsewhere[0]} does not count: a group and its pods share a namespace"
    elif not close:
        yield f"or correct the label {POD_GROUP_LABEL} in the pod template"


def mismatch(case: Case, names: Sequence[str]) -> Iterator[str]:
    """Say how pods that name another scheduler come to name ours; a pod without a gang is that scheduler's affair."""
    uids = {member.uid for member in case.members if is_foreign(member)}
    pods = [pod for pod in case.pods if pod.metadata.uid in uids] or list(case.pods)
    change = change_template(case, pods, {"spec": {"schedulerName": names[0]}})
    if case.key.kind is GangKind.POD:
        look = kubectl(case.key.namespace, f"describe pod {pods[0].metadata.name}")
        yield f"look at what {_other(pods)} says of it, it belongs to no gang and needs none: {look}"
        yield f"only if Gangline is to place it, set `schedulerName: {names[0]}` in the template of {_named(pods)}: {change}"
        return
    yield f"set `schedulerName: {names[0]}` in the template of {_named(pods)}: {change}"
    yield f"or, if a scheduler of ours has another name here, say so: `gangline why --scheduler-name {_other(pods)} ...`"


def _named(pods: Sequence[Pod]) -> str:
    first = ", ".join(pod.metadata.name for pod in pods[:3])
    return f"{first} and {len(pods) - 3} more" if len(pods) > 3 else first


def _other(pods: Sequence[Pod]) -> str:
    return pods[0].spec.scheduler_name or "default-scheduler"

"""Advice: the next step for each reason, as something to paste where that is possible."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from gangline.cli.cluster.survey import Survey
from gangline.cli.cluster.views import GangView
from gangline.cli.explain.answer import State
from gangline.cli.explain.case import Case
from gangline.cli.explain.commands import change_template, kubectl, why
from gangline.cli.explain.pods_advice import gates, incomplete, mismatch, no_group
from gangline.cli.explain.room import ClassRoom
from gangline.cli.explain.room_advice import room_advice
from gangline.contract.meta import Key
from scheduler.core.reasons import Reason

_PODS: Final = "kubectl get pods -A -l app.kubernetes.io/name=gangline-scheduler"
_LOG: Final = "kubectl -n gangline-system logs -l app.kubernetes.io/name=gangline-scheduler --tail 20"
_WEBHOOKS: Final = "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"
_MAY_BIND: Final = (
    "auth can-i create pods --subresource=binding --as system:serviceaccount:gangline-system:gangline-scheduler"
)


class Known(Struct, frozen=True, kw_only=True):
    """What advice is made of beside the case: all that was read, what the scheduler says, and what it is called."""

    survey: Survey
    scheduler_names: tuple[str, ...]
    live: GangView | None
    holders: tuple[GangView, ...] = ()
    problems: tuple[str, ...] = ()


def advise(case: Case, reason: str, rooms: Sequence[ClassRoom], known: Known) -> Iterator[str]:
    """Say what to do next about a gang that gives this reason."""
    if known.live is not None and known.live.retry_in_seconds is not None:
        yield f"it is tried again in {known.live.retry_in_seconds:.0f} s by itself"
    match reason:
        case Reason.UNSCHEDULABLE:
            yield from room_advice(case, rooms)
        case Reason.GANG_INCOMPLETE | State.NO_PODS:
            yield from incomplete(case, known.survey, known.scheduler_names)
        case Reason.POD_GROUP_NOT_FOUND:
            yield from no_group(case, known.survey.groups)
        case Reason.SCHEDULER_MISMATCH:
            yield from mismatch(case, known.scheduler_names)
        case Reason.BIND_FAILED:
            yield from _refused(case, known)
        case Reason.HELD_FOR_GANG:
            yield from _held(known)
        case State.GATED:
            yield from gates(case)
        case _:
            yield from _of_objects(case, reason)
            yield from _by_state(case, reason, known)


def _refused(case: Case, known: Known) -> Iterator[str]:
    if known.live is None:
        yield "it tries again by itself, with a pause that grows from 2 s to 2 min"
    yield f"if the API server's words above name a webhook or a policy, look at these: `{_WEBHOOKS}`"
    yield f"if they say that the scheduler may not, see what it may: {kubectl(case.key.namespace, _MAY_BIND)}"


def _held(known: Known) -> Iterator[str]:
    for holder in known.holders:
        seconds = max(hold.ends_in_seconds for hold in holder.holds)
        key = Key(holder.namespace, holder.name)
        yield (
            f"wait: the room is held for {holder.title}, which has lost a member, for {seconds:.0f} s at most; "
            f"see what it waits for: {why(key)}"
        )
    if not known.holders:
        yield "wait: room is held for 30 s at most after a member was lost, then this gang is tried again"


def _of_objects(case: Case, reason: str) -> Iterator[str]:
    namespace = case.key.namespace
    anew = change_template(case, case.pods)
    match reason:
        case Reason.POD_GROUP_INVALID:
            yield f"correct it: {kubectl(namespace, f'edit pg {case.key.name}')}"
        case Reason.INVALID_GANG_LINK:
            yield f"correct labels and annotations in the pod template: {anew}"
        case Reason.INVALID_POD:
            yield f"correct the quantity in the pod template: {anew}"
        case Reason.UNSUPPORTED:
            yield f"drop that requirement from the pod template (a preferred or ScheduleAnyway form is fine): {anew}"
            yield "or leave these pods to another schedulerName"
        case _:
            return


def _by_state(case: Case, reason: str, known: Known) -> Iterator[str]:
    namespace = case.key.namespace
    match reason:
        case State.NOT_SCHEDULED_YET if known.problems:
            yield f"let the scheduler become ready; its log has more: `{_LOG}`"
        case State.NOT_SCHEDULED_YET:
            yield f"see whether a scheduler runs and is ready: `{_PODS}`"
            yield f"see what it says: `{_LOG}`"
            names = ", ".join(sorted(known.scheduler_names))
            yield f"see whether it answers to these pods' schedulerName ({names}): its option --scheduler-name"
        case State.BINDING | State.JUST_CREATED:
            yield "ask again in a few seconds"
        case State.STARTING:
            starting = [pod.metadata.name for pod in case.pods if pod.spec.node_name and pod.status.phase == "Pending"]
            first = starting[0] if starting else case.key.name
            yield f"look at image pulls, volumes and probes: {kubectl(namespace, f'describe pod {first}')}"
        case State.FAILED:
            failed = next((pod.metadata.name for pod in case.pods if pod.status.phase == "Failed"), case.key.name)
            yield (
                f"look at why: {kubectl(namespace, f'logs {failed}')} and {kubectl(namespace, f'describe pod {failed}')}"
            )
        case State.DELETING:
            held = next((pod.metadata.name for pod in case.pods if pod.metadata.deletion_timestamp), case.key.name)
            finalizers = kubectl(namespace, f"get pod {held} -o jsonpath='{{.metadata.finalizers}}'")
            yield f"wait until it is gone; a finalizer may hold it: {finalizers}"
        case _:
            return

"""What pods were told by a scheduler, in their conditions."""

from collections.abc import Iterable

from gangline.contract.membership import Single, link_of
from gangline.contract.meta import Condition
from gangline.contract.pod import Pod
from scheduler.core.gang import NO_GROUP


def told(pods: tuple[Pod, ...]) -> Condition | None:
    """Return what the waiting pods of a gang were last told, the newest."""
    found = [
        condition
        for pod in pods
        if not pod.spec.node_name
        for condition in pod.status.conditions or ()
        if condition.type == "PodScheduled" and condition.status == "False"
    ]
    dated = [condition for condition in found if condition.last_transition_time is not None]
    return max(dated, key=lambda one: str(one.last_transition_time)) if dated else next(iter(found), None)


def speak_of_budgets(pods: Iterable[Pod]) -> bool:
    """Tell by what pods were told whether a scheduler forms gangs of budgets: of these pods, by nothing of their own."""
    return any(
        (said := told((pod,))) is not None and NO_GROUP in (said.message or "") and isinstance(link_of(pod), Single)
        for pod in pods
    )

"""What the controller keeps of a pod that names a PodGroup."""

import sys
from typing import Final

from msgspec import Struct

from gangline.contract.counting import MemberFacts, facts_of
from gangline.contract.pod import Pod

_OWNERS: Final = 16
_WORDS: Final = 1024


class Said(Struct, frozen=True, kw_only=True):
    """What a waiting pod says of itself: reason and message of its `PodScheduled=False`."""

    reason: str
    message: str


class Member(Struct, frozen=True, kw_only=True):
    """A pod that names a PodGroup; whether it counts is for `contract.counting` to say.

    `owners` are the names of its owners as `occupiedBy` shows them.
    """

    facts: MemberFacts
    owners: str
    scheduler_name: str
    said: Said | None


def member_of(pod: Pod, scheduler_names: frozenset[str]) -> Member:
    """Reduce a pod to a member; long lists and texts are cut, so that one pod cannot fill a status."""
    owners = sorted(
        f"{pod.metadata.namespace}/{owner.name}" for owner in (pod.metadata.owner_references or ())[:_OWNERS]
    )
    return Member(
        facts=facts_of(pod, scheduler_names),
        owners=sys.intern(",".join(owners)),
        scheduler_name=sys.intern(pod.spec.scheduler_name or ""),
        said=_said_by(pod),
    )


def _said_by(pod: Pod) -> Said | None:
    if pod.spec.node_name:
        return None
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return Said(reason=condition.reason or "", message=(condition.message or "")[:_WORDS])
    return None

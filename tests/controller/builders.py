"""Pods and PodGroups for the controller's tests; a test shows only the facts that matter to it."""

from collections.abc import Iterable
from datetime import UTC, datetime

from gangline.contract.meta import Condition, ObjectMeta, OwnerReference
from gangline.contract.names import POD_GROUP_LABEL
from gangline.contract.pod import ContainerState, ContainerStatus, Pod, PodSpec, PodStatus, TerminatedState
from gangline.contract.podgroup import PodGroup, PodGroupSpec, PodGroupStatus

CREATED_S = 1_000_000
"""When the pods of a test are created, unless it says otherwise; seconds since the epoch."""
ENDED_S = CREATED_S + 100
"""When those that end do."""
NOW = ENDED_S + 100.0
"""Late enough for every finish to have settled."""

PHASES = {"P": "Pending", "B": "Pending", "R": "Running", "S": "Succeeded", "F": "Failed", "U": "Unknown"}


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def pod(
    letter: str = "P",
    name: str = "pod-0",
    *,
    namespace: str = "ns",
    group: str | None = "pg",
    uid: str | None = None,
    created_s: float = CREATED_S,
    ended_s: float = ENDED_S,
    owners: Iterable[str] = (),
    scheduler_name: str = "gangline",
    deleting: bool = False,
    gated: bool = False,
    said: tuple[str, str] | None = None,
) -> Pod:
    """One pod; letters are Pending without (P) and with (B) a node, Running, Succeeded, Failed, Unknown."""
    conditions = (Condition(type="PodScheduled", status="False", reason=said[0], message=said[1]),) if said else None
    ended = ContainerState(terminated=TerminatedState(finished_at=at(ended_s))) if letter in "SF" else None
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"{namespace}-{name}",
            resource_version="1",
            creation_timestamp=at(created_s),
            deletion_timestamp=at(NOW) if deleting else None,
            labels={} if group is None else {POD_GROUP_LABEL: group},
            owner_references=tuple(OwnerReference(kind="ReplicaSet", name=owner, uid=owner) for owner in owners),
        ),
        spec=PodSpec(
            node_name=None if letter == "P" else "node-0",
            scheduler_name=scheduler_name,
            scheduling_gates=({"name": "wait"},) if gated else None,
        ),
        status=PodStatus(
            phase=PHASES[letter],
            conditions=conditions,
            container_statuses=(ContainerStatus(name="main", state=ended),) if ended else None,
        ),
    )


def pods(letters: str, *, said: tuple[str, str] | None = None, ended_s: float = ENDED_S) -> list[Pod]:
    """Pods pod-0, pod-1 ...; `-` leaves one out."""
    return [
        pod(letter, f"pod-{number}", said=said, ended_s=ended_s)
        for number, letter in enumerate(letters)
        if letter != "-"
    ]


def group(
    min_member: int | None = 3,
    *,
    name: str = "pg",
    namespace: str = "ns",
    status: PodGroupStatus | None = None,
    timeout_s: int | None = None,
    generation: int = 1,
    version: str = "1",
) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"{namespace}-{name}",
            resource_version=version,
            generation=generation,
            creation_timestamp=at(CREATED_S),
        ),
        spec=PodGroupSpec(min_member=min_member, schedule_timeout_seconds=timeout_s),
        status=status or PodGroupStatus(),
    )

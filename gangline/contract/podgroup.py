"""The PodGroup object: the contract between users, the scheduler and the controller.

Descriptions here become the text of `kubectl explain`; `contract.crd` builds the CRD from these Structs. Limits
stand in the CRD alone: an object that was stored before them, or past them, still decodes.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from gangline.contract.meta import ApiObject, Condition, Int64, OrDefault
from gangline.contract.pod import Quantity

INT32_MAX: Final = 2**31 - 1
"""Kubernetes 1.35 was seen not to hold integers to `format: int32`; a limit says it to every version."""


class Phase(StrEnum):
    """Phases of a PodGroup, as Coscheduling names them."""

    PENDING = "Pending"
    SCHEDULING = "Scheduling"
    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"


class PodGroupSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """What you ask for. Every field can be left out, and edited at any time."""

    min_member: Annotated[
        Int64 | None,
        Meta(
            description=(
                "How many members must be able to run before any of them starts: they are bound together or not at "
                "all. Members that have succeeded count, members that have failed or are being deleted do not. Further "
                "members beyond this number start one by one as room allows. Raising it on a running group evicts "
                "nobody. Default: 1."
            ),
            extra_json_schema={"minimum": 1, "maximum": INT32_MAX},
        ),
    ] = None
    min_resources: Annotated[
        dict[str, Quantity] | None,
        Meta(
            description=(
                "Resources that all usable nodes together must have free of other groups' pods before the group is "
                "tried, by resource name, for example `cpu: 16` or `memory: 64Gi`. A quick check in addition to the "
                "members' own requests, which always hold; once a member is bound it is not asked again. Default: no "
                "such check."
            )
        ),
    ] = None
    schedule_timeout_seconds: Annotated[
        Int64 | None,
        Meta(
            description=(
                "After how many seconds of scheduling a complete group is reported with a Warning event and the "
                "condition TimedOut. Reporting is all it does: the group holds nothing while it waits, and goes on "
                "trying. Absent, 0 or negative: 60."
            ),
            extra_json_schema={"minimum": -INT32_MAX - 1, "maximum": INT32_MAX},
        ),
    ] = None
    priority_class_name: Annotated[
        str | None,
        Meta(
            description=(
                "Name of a PriorityClass that caps the group's place in the order of scheduling. The group has the "
                "lowest priority of its unfinished members; this class can only lower it. It changes nothing for pods "
                "that run."
            )
        ),
    ] = None


class PodGroupStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """What has become of the group, written by the controller.

    Counts are of the current run of the group's pods, and true in every phase.
    """

    # A free string, so that another writer's word can be read.
    phase: Annotated[
        str | None,
        Meta(
            description=(
                "Pending: fewer members exist than minMember. Scheduling: enough exist, and fewer than minMember run "
                "or have succeeded. Running: minMember run or have succeeded. Finished: minMember have succeeded and "
                "none is left. Failed: a member has failed and the group cannot reach minMember any more; a new run of "
                "the same pods starts over."
            )
        ),
    ] = None
    occupied_by: Annotated[
        str | None,
        Meta(description="Owners of the group's oldest member, each as namespace/name, sorted and joined by commas."),
    ] = None
    scheduled: Annotated[
        Int64 | None, Meta(description="Members that have a node and have not finished, whether they run yet or not.")
    ] = None
    running: Annotated[Int64 | None, Meta(description="Members whose pod phase is Running.")] = None
    succeeded: Annotated[Int64 | None, Meta(description="Members whose pod phase is Succeeded.")] = None
    failed: Annotated[Int64 | None, Meta(description="Members whose pod phase is Failed.")] = None
    schedule_start_time: Annotated[
        datetime | None,
        Meta(
            description=(
                "When the group became complete, with no member gated, and fewer than minMember bound or succeeded. "
                "scheduleTimeoutSeconds counts from here; absent while nothing is being waited for."
            )
        ),
    ] = None
    conditions: Annotated[
        tuple[Condition, ...] | None,
        Meta(
            description=(
                "Details behind the phase, one for each type. Scheduled: minMember are bound or have succeeded; while "
                "False its reason and message say what is missing and what would help. TimedOut: scheduling takes "
                "longer than scheduleTimeoutSeconds. SchedulerMismatch: waiting members name a scheduler that does not "
                "look after this group."
            ),
            extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = None
    observed_generation: Annotated[
        Int64 | None,
        Meta(
            description="The metadata.generation that this status was computed from.",
            extra_json_schema={"format": "int64"},
        ),
    ] = None


class PodGroup(ApiObject, frozen=True, kw_only=True, rename="camel"):
    """A PodGroup is a group of pods that start together or not at all (a gang).

    Create it in the namespace of its pods, and give each pod the label `scheduling.x-k8s.io/pod-group` with the
    group's name and the `schedulerName` of the gang scheduler.
    """

    spec: OrDefault[PodGroupSpec] = PodGroupSpec()
    status: OrDefault[PodGroupStatus] = PodGroupStatus()

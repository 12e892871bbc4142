"""The PodGroup object: the contract between users, the scheduler and the controller.

Descriptions here become the text of `kubectl explain`; `contract.crd` builds the CRD from these Structs.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from gangline.contract.meta import ApiObject, Condition, OrDefault
from gangline.contract.pod import Quantity


class Phase(StrEnum):
    """Phases of a PodGroup, as Coscheduling names them."""

    PENDING = "Pending"
    SCHEDULING = "Scheduling"
    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"


class PodGroupSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the user asks for."""

    min_member: int | None = None
    min_resources: dict[str, Quantity] | None = None
    schedule_timeout_seconds: int | None = None
    priority_class_name: str | None = None


class PodGroupStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the controller says; `phase` is a free string so that another writer's word can be read."""

    phase: str | None = None
    occupied_by: str | None = None
    scheduled: int | None = None
    running: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    schedule_start_time: datetime | None = None
    conditions: tuple[Condition, ...] | None = None
    observed_generation: int | None = None


class PodGroup(ApiObject, frozen=True, kw_only=True, rename="camel"):
    """A group of pods that start together or not at all."""

    spec: OrDefault[PodGroupSpec] = PodGroupSpec()
    status: OrDefault[PodGroupStatus] = PodGroupStatus()

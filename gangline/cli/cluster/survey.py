"""The survey: one reading of everything in a cluster that decides who starts, and what could not be read of it."""

from datetime import datetime

from msgspec import Struct

from gangline.cli.cluster.owners import Owner
from gangline.contract.meta import ApiObject, OrDefault
from gangline.contract.names import DEFAULT_SCHEDULER_NAME
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget, PriorityClass


class Regarding(Struct, frozen=True, kw_only=True):
    """The object that an Event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Series(Struct, frozen=True, kw_only=True, rename="camel"):
    """How often an Event was repeated, and when last."""

    count: int = 1
    last_observed_time: datetime | None = None


class RecordedEvent(ApiObject, frozen=True, kw_only=True, rename="camel"):
    """A Kubernetes Event, the fields that we read."""

    regarding: OrDefault[Regarding] = Regarding()
    type: str = ""
    reason: str = ""
    note: str | None = None
    event_time: datetime | None = None
    series: Series | None = None
    deprecated_last_timestamp: datetime | None = None

    @property
    def last_seen(self) -> datetime | None:
        """When it happened last."""
        repeated = self.series.last_observed_time if self.series else None
        return repeated or self.event_time or self.deprecated_last_timestamp or self.metadata.creation_timestamp


class Profile(Struct, frozen=True):
    """How a scheduler is set up: whose pods are its own, and whether PodDisruptionBudgets form gangs."""

    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER_NAME,)
    budget_gangs: bool = False


class Survey(Struct, frozen=True, kw_only=True):
    """Objects as they were listed `at` a time; `unread` says in words what is missing.

    `budgets` are there only where they form gangs, `events` and `owners` only of the namespace in question.
    """

    at: datetime
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    groups: tuple[PodGroup, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()
    events: tuple[RecordedEvent, ...] = ()
    owners: tuple[Owner, ...] = ()
    unread: tuple[str, ...] = ()

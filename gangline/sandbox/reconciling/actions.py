"""What a kubelet or a controller wants written, as values: decisions return them, `reconciler` carries them out."""

from typing import Any, Protocol

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.kube.wire.events import EventType
from gangline.kube.wire.requests import MERGE_PATCH, STRATEGIC_PATCH
from gangline.kube.wire.resources import Resource
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.objects.writing import status_patch, timed


class Reported(Identified, Protocol):
    """Whatever has a status that one controller writes whole."""

    @property
    def status(self) -> Struct:
        """As the API server has it."""


class Create(Struct, frozen=True, kw_only=True):
    """Create this object."""

    resource: Resource
    namespace: str
    body: dict[str, Any]


class Patch(Struct, frozen=True, kw_only=True):
    """Change an object; the body carries UID or resourceVersion where the change rests on what was seen."""

    resource: Resource
    key: Key
    body: dict[str, Any] | list[dict[str, Any]]
    subresource: str | None = None
    content_type: str = MERGE_PATCH


class Delete(Struct, frozen=True, kw_only=True):
    """Delete the object with this UID."""

    resource: Resource
    key: Key
    uid: str
    grace_period_s: int | None = None
    propagation: str | None = None


Action = Create | Patch | Delete


class Note(Struct, frozen=True):
    """What an Event about the object says."""

    reason: str
    message: str
    type: EventType = "Normal"


class Decision(Struct, frozen=True, kw_only=True):
    """Writes that do not depend on each other, and when to look again although nothing has changed."""

    actions: tuple[Action, ...] = ()
    notes: tuple[Note, ...] = ()
    """What is told once everything has been written."""
    again_in_s: float | None = None


def create(type_: type[Any], metadata: dict[str, Any], **rest: Any) -> Create:
    """Build the creation of an object of the kind that is read as this type."""
    resource = RESOURCES[type_]
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **rest}
    return Create(resource=resource, namespace=metadata.get("namespace", ""), body=body)


def amend(thing: Identified, subresource: str | None = None, **body: Any) -> Patch:
    """Build a merge patch of an object, if nobody has written it since it was seen."""
    metadata = {"resourceVersion": thing.metadata.resource_version}
    return Patch(
        resource=RESOURCES[type(thing)],
        key=thing.metadata.key,
        body={"metadata": metadata, **body},
        subresource=subresource,
    )


def set_status(thing: Reported, status: Struct, *shown_zeros: str, times: str = "", **more: Any) -> tuple[Patch, ...]:
    """Build the patch after which the status is this, if it is not yet.

    Fields that are 0 or empty are left out as Kubernetes does, but for `shown_zeros`; `times` is the field in which
    conditions repeat the time of their last change, and `more` are fields that the Struct does not have.
    """
    if status == thing.status:
        return ()
    written = status_patch(status, *shown_zeros)
    if times:
        written["conditions"] = timed(written["conditions"] or [], times) or None
    return (amend(thing, "status", status=written | more),)


def report(thing: Identified, **status: Any) -> Patch:
    """Build a strategic patch of an object's status: conditions merge by type, whoever else writes some."""
    return Patch(
        resource=RESOURCES[type(thing)],
        key=thing.metadata.key,
        body={"metadata": {"uid": thing.metadata.uid}, "status": status},
        subresource="status",
        content_type=STRATEGIC_PATCH,
    )


def delete(thing: Identified, *, grace_period_s: int | None = None, propagation: str | None = None) -> Delete:
    """Build the deletion of an object; pods go gracefully unless a grace period says otherwise."""
    return Delete(
        resource=RESOURCES[type(thing)],
        key=thing.metadata.key,
        uid=thing.metadata.uid,
        grace_period_s=grace_period_s,
        propagation=propagation,
    )

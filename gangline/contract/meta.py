"""Metadata that every Kubernetes object carries, as partial Structs: only the fields that we read."""

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct


class Key(NamedTuple):
    """Name of an object inside its kind; namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(Struct, frozen=True, kw_only=True, rename="camel"):
    """A link from an object to its owner."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """The metadata fields that we read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.namespace, self.name)

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls this object, if one does."""
        return next((owner for owner in self.owner_references or () if owner.controller), None)


class Condition(Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition as `metav1.Condition` and `v1.PodCondition` have it."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: datetime | None = None
    observed_generation: int | None = None

"""Metadata that every Kubernetes object carries, as partial Structs: only the fields that we read."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

T = TypeVar("T")

if TYPE_CHECKING:
    OrDefault = Annotated[T, "null on the wire"]
else:
    OrDefault = T | None
"""A field that null leaves at its default, so that readers never see None. For classes based on ApiObject."""

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""An integer as the API has them: larger ones do not decode, so that whatever was read can be written again."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_seconds(time: datetime) -> float:
    """Seconds since 1970; a time without a zone is taken as UTC."""
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH).total_seconds()


def is_older(version: str, than: str) -> bool:
    """Tell whether one resourceVersion of a kind is from before another (KEP-5504); what is no number does not compare."""
    return version.isdecimal() and than.isdecimal() and (len(version), version) < (len(than), than)


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
    generation: Int64 | None = None
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


def created_time(metadata: ObjectMeta) -> float:
    """Seconds since 1970 at which an object was created, 0 where it does not say."""
    return epoch_seconds(metadata.creation_timestamp) if metadata.creation_timestamp else 0.0


class Condition(Struct, frozen=True, kw_only=True, rename="camel"):
    """One finding about an object, and since when it has been so."""

    type: Annotated[str, Meta(description="What the condition is about, in CamelCase.")] = ""
    status: Annotated[
        str,
        Meta(
            description="True, False or Unknown.",
            extra_json_schema={"enum": ["True", "False", "Unknown"]},
        ),
    ] = ""
    reason: Annotated[str | None, Meta(description="Why, as one CamelCase word for programs.")] = None
    message: Annotated[str | None, Meta(description="Why, as a sentence for people.")] = None
    last_transition_time: Annotated[datetime | None, Meta(description="When the status last changed.")] = None
    observed_generation: Annotated[
        Int64 | None,
        Meta(
            description="The metadata.generation that the condition was computed from.",
            extra_json_schema={"format": "int64"},
        ),
    ] = None


class ApiObject(Struct, frozen=True, kw_only=True, rename="camel"):
    """An object of the API: null in place of metadata, spec or status means the same as leaving it out."""

    metadata: OrDefault[ObjectMeta] = ObjectMeta()

    def __post_init__(self) -> None:
        for name, default in zip(self.__struct_fields__, self.__struct_defaults__, strict=True):
            if getattr(self, name) is None:
                force_setattr(self, name, default)

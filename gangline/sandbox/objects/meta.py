"""What every object has, as far as kubelets and controllers read it."""

import re
from typing import Protocol

from msgspec import Struct

from gangline.contract.meta import ObjectMeta, OwnerReference


class OwnerLink(OwnerReference, frozen=True, kw_only=True, rename="camel"):
    """An owner, and whether its foreground deletion waits for this object."""

    block_owner_deletion: bool | None = None


class Meta(ObjectMeta, frozen=True, kw_only=True, rename="camel"):
    """Metadata with what ends an object."""

    owner_references: tuple[OwnerLink, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class Identified(Protocol):
    """Whatever has metadata."""

    @property
    def metadata(self) -> Meta:
        """Name, UID, owners."""


class Thing(Struct, frozen=True, kw_only=True, rename="camel"):
    """An object of any kind: its metadata alone."""

    metadata: Meta = Meta()


def number_in(thing: Identified, annotation: str) -> int | None:
    """Read a number from an annotation; None where there is none of up to nine digits."""
    text = (thing.metadata.annotations or {}).get(annotation, "")
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None

"""What a kubelet or a controller wants written, as values: decisions return them, `reconciler` carries them out."""

from typing import Any

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.kube.wire.requests import MERGE_PATCH
from gangline.kube.wire.resources import Resource


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


class Decision(Struct, frozen=True, kw_only=True):
    """Writes that do not depend on each other, and when to look again although nothing has changed."""

    actions: tuple[Action, ...] = ()
    again_in_s: float | None = None

"""Whose child an object is: finding, adopting and releasing by selector, as upstream's controllers do."""

from typing import Any, Generic, TypeVar

from msgspec import Struct

from gangline.contract.policy import LabelSelector
from gangline.contract.selectors import label_selector_matches
from gangline.kube.wire.requests import STRATEGIC_PATCH
from gangline.kube.wire.resources import Resource
from gangline.sandbox.actions import Action, Patch
from gangline.sandbox.cache import Cache
from gangline.sandbox.objects import Identified

T = TypeVar("T", bound=Identified)


class Claim(Struct, Generic[T], frozen=True, kw_only=True):
    """The children of an owner, and the writes that make the others its own or no longer its own."""

    children: tuple[T, ...]
    actions: tuple[Action, ...] = ()


def owner_reference(owner: Identified, resource: Resource) -> dict[str, Any]:
    """Build the reference by which a child names its controller."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controlled(owner: Identified, children: Cache[T]) -> list[T]:
    """List the objects whose controller is this owner."""
    return [child for child in children.owned_by(owner.metadata.uid) if _controller_uid(child) == owner.metadata.uid]


def claim(
    owner: Identified, selector: LabelSelector, children: Cache[T], *, owner_kind: Resource, child_kind: Resource
) -> Claim[T]:
    """Keep children that match the selector, release those that no longer do, adopt orphans that match."""
    mine: list[T] = []
    actions: list[Action] = []
    for child in controlled(owner, children):
        if label_selector_matches(selector, child.metadata.labels):
            mine.append(child)
        elif not child.metadata.deletion_timestamp:
            actions.append(_own(child, child_kind, {"$patch": "delete", "uid": owner.metadata.uid}))
    if owner.metadata.deletion_timestamp is None:
        actions += [
            _own(child, child_kind, owner_reference(owner, owner_kind))
            for child in children.orphans_in(owner.metadata.namespace)
            if child.metadata.deletion_timestamp is None and label_selector_matches(selector, child.metadata.labels)
        ]
    return Claim(children=tuple(mine), actions=tuple(actions))


def _controller_uid(child: Identified) -> str | None:
    controller = child.metadata.controller
    return None if controller is None else controller.uid


def _own(child: Identified, kind: Resource, reference: dict[str, Any]) -> Patch:
    body = {"metadata": {"uid": child.metadata.uid, "ownerReferences": [reference]}}
    return Patch(resource=kind, key=child.metadata.key, body=body, content_type=STRATEGIC_PATCH)

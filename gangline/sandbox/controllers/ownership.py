"""Whose child an object is: finding, making, adopting and releasing, as upstream's controllers do."""

from typing import Any, Generic, TypeVar

from msgspec import Struct

from gangline.contract.policy import LabelSelector
from gangline.contract.selectors import label_selector_matches
from gangline.kube.wire.requests import STRATEGIC_PATCH
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.actions import Action, Create, Patch, create
from gangline.sandbox.reconciling.cache import Cache

T = TypeVar("T", bound=Identified)


class Claim(Struct, Generic[T], frozen=True, kw_only=True):
    """The children of an owner, and the writes that make the others its own or no longer its own."""

    children: tuple[T, ...]
    actions: tuple[Action, ...] = ()


def owner_reference(owner: Identified) -> dict[str, Any]:
    """Build the reference by which a child names its controller."""
    return {
        "apiVersion": RESOURCES[type(owner)].api_version,
        "kind": RESOURCES[type(owner)].kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def create_child(owner: Identified, type_: type[Any], metadata: dict[str, Any], spec: dict[str, Any]) -> Create:
    """Build the creation of an object that this owner controls."""
    own = {"namespace": owner.metadata.namespace, "ownerReferences": [owner_reference(owner)]}
    return create(type_, {**metadata, **own}, spec=spec)


def controlled(owner: Identified, children: Cache[T]) -> list[T]:
    """List the objects whose controller is this owner."""
    uid = owner.metadata.uid
    return [
        child
        for child in children.owned_by(uid)
        if child.metadata.controller is not None and child.metadata.controller.uid == uid
    ]


def claim(owner: Identified, selector: LabelSelector, children: Cache[T]) -> Claim[T]:
    """Keep children that match the selector, release those that no longer do, adopt orphans that match."""
    mine: list[T] = []
    actions: list[Action] = []
    for child in controlled(owner, children):
        if label_selector_matches(selector, child.metadata.labels):
            mine.append(child)
        elif not child.metadata.deletion_timestamp:
            actions.append(_own(child, {"$patch": "delete", "uid": owner.metadata.uid}))
    if owner.metadata.deletion_timestamp is None:
        actions += [
            _own(child, owner_reference(owner))
            for child in children.orphans_in(owner.metadata.namespace)
            if child.metadata.deletion_timestamp is None and label_selector_matches(selector, child.metadata.labels)
        ]
    return Claim(children=tuple(mine), actions=tuple(actions))


def _own(child: Identified, reference: dict[str, Any]) -> Patch:
    body = {"metadata": {"uid": child.metadata.uid, "ownerReferences": [reference]}}
    return Patch(resource=RESOURCES[type(child)], key=child.metadata.key, body=body, content_type=STRATEGIC_PATCH)

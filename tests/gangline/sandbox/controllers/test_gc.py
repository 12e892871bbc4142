"""What the garbage collector decides."""

from typing import Any

import msgspec
import pytest

from gangline.contract.timestamps import timestamp
from gangline.kube.wire.resources import POD_GROUPS, PODS
from gangline.sandbox.controllers.gc import Dependent, collect, release
from gangline.sandbox.objects.meta import Identified, Thing
from gangline.sandbox.reconciling.actions import Delete, Patch
from tests.support.workloads import NOW, metadata


def thing(
    name: str, *owner_uids: str, finalizers: tuple[str, ...] = (), deleting: bool = False, blocks: bool = True
) -> Thing:
    links = [{"kind": "Owner", "name": uid, "uid": uid, "blockOwnerDeletion": blocks} for uid in owner_uids]
    fields: dict[str, Any] = {"ownerReferences": links, "finalizers": list(finalizers)}
    if deleting:
        fields["deletionTimestamp"] = timestamp(NOW)
    return msgspec.convert({"metadata": metadata(name, **fields)}, Thing)


def found(*owners: Thing) -> dict[str, Thing]:
    return {owner.metadata.uid: owner for owner in owners}


LIVE = thing("live")
FOREGROUND = thing("fore", finalizers=("foregroundDeletion",), deleting=True)


@pytest.mark.parametrize(
    ("owner_uids", "absent", "propagation"),
    [
        pytest.param(("gone",), {"gone"}, "Background", id="its only owner is gone"),
        pytest.param(("gone", "lost"), {"gone", "lost"}, "Background", id="all owners are gone"),
        pytest.param(("uid-fore",), set(), "Foreground", id="its owner waits for it"),
        pytest.param(("uid-fore", "gone"), {"gone"}, "Foreground", id="one gone, one waits"),
    ],
)
def test_object_without_a_living_owner_is_deleted(
    owner_uids: tuple[str, ...], absent: set[str], propagation: str
) -> None:
    owners = found(LIVE, FOREGROUND)

    action = collect(PODS, thing("child", *owner_uids), frozenset(absent), owners.get)

    assert isinstance(action, Delete)
    assert (action.uid, action.propagation) == ("uid-child", propagation)


@pytest.mark.parametrize("owner_uids", [("uid-live",), ("unsure",), ("uid-live", "uid-fore"), ()])
def test_object_with_a_living_or_unknown_owner_stays(owner_uids: tuple[str, ...]) -> None:
    assert collect(PODS, thing("child", *owner_uids), frozenset(), found(LIVE, FOREGROUND).get) is None


def test_dead_owner_beside_a_living_one_is_dropped() -> None:
    action = collect(POD_GROUPS, thing("child", "gone", "uid-live"), frozenset({"gone"}), found(LIVE).get)

    assert isinstance(action, Patch)
    assert action.body == [
        {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": "gone"},
        {"op": "remove", "path": "/metadata/ownerReferences/0"},
    ]


def dependents(*things: Identified) -> list[Dependent]:
    return [Dependent(PODS, each) for each in things]


def test_foreground_owner_waits_for_dependents_that_block_it() -> None:
    assert release(PODS, FOREGROUND, dependents(thing("child", "uid-fore"))) == []

    (patch,) = release(PODS, FOREGROUND, dependents(thing("child", "uid-fore", blocks=False)))
    assert isinstance(patch.body, list)
    assert patch.body[-1] == {"op": "remove", "path": "/metadata/finalizers/0"}


def test_orphaning_owner_first_lets_go_of_its_dependents() -> None:
    owner = thing("owner", finalizers=("keep", "orphan"), deleting=True)

    (first,) = release(PODS, owner, dependents(thing("child", "uid-owner")))
    (last,) = release(PODS, owner, dependents())

    assert first.key.name == "child"
    assert isinstance(last.body, list)
    assert last.body[-1] == {"op": "remove", "path": "/metadata/finalizers/1"}


def test_other_finalizers_are_not_ours_to_remove() -> None:
    assert release(PODS, thing("owner", finalizers=("keep",), deleting=True), dependents()) == []
    assert release(PODS, thing("owner", finalizers=("orphan",)), dependents()) == []

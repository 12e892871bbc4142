"""The smallest merge patch from the stored status of a PodGroup to the one that is called for."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from gangline.contract.meta import Condition
from gangline.contract.podgroup import PodGroupStatus

_WIRE_NAMES: Final = {field.name: field.encode_name for field in msgspec.structs.fields(PodGroupStatus)}

StatusPatch = dict[str, object]


def status_patch(stored: PodGroupStatus, wanted: PodGroupStatus, *, ignored: AbstractSet[str]) -> StatusPatch:
    """Return what to send as `status`, by wire name; empty when nothing differs.

    A count of 0, an empty text and an absent field are the same; each is sent as null, which removes it
    (the form that upstream's controller leaves behind). Fields in `ignored` are never compared.
    """
    return {
        wire_name: _encoded(getattr(wanted, name))
        for name, wire_name in _WIRE_NAMES.items()
        if wire_name not in ignored and _encoded(getattr(stored, name)) != _encoded(getattr(wanted, name))
    }


def pruned_fields(patch: StatusPatch, replied: Mapping[str, object]) -> frozenset[str]:
    """Return the fields that were sent and did not come back: the CRD in the cluster does not have them."""
    return frozenset(name for name, value in patch.items() if value is not None and name not in replied)


def _encoded(value: object) -> object:
    if not value:
        return None
    if isinstance(value, tuple):
        return [_condition(condition) for condition in value]
    return msgspec.to_builtins(value)


def _condition(condition: Condition) -> dict[str, object]:
    """Leave absent fields out: inside a list a null would be stored, and refused by the schema."""
    encoded: dict[str, object] = msgspec.to_builtins(condition)
    return {name: value for name, value in encoded.items() if value is not None}

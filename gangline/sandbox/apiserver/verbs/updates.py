"""What an update leaves as it is, and what it counts as."""

from typing import Any

import msgspec

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import NAMESPACES, PODS, Kind
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.verbs.paths import Target

KEPT = (
    *("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "namespace"),
    "resourceVersion",
)


def check_identity(target: Target, meta: Object, old: Object) -> None:
    """Check that new metadata is of the object that is there; raises 400, 409 and 422."""
    if meta.get("name", target.name) != target.name:
        raise failures.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({target.name})"
        )
    given = meta.get("resourceVersion")
    if given and given != old["resourceVersion"]:
        if not str(given).isdigit():
            raise failures.internal(f'strconv.ParseUint: parsing "{given}": invalid syntax')
        raise failures.stale(target.kind, target.name)
    keeps_metadata = target.kind.custom and target.subresource == "status"
    if meta.get("uid") and meta["uid"] != old["uid"] and not keeps_metadata:
        cause = Cause.invalid("metadata.uid", meta["uid"], "field is immutable")
        raise failures.invalid(target.kind, target.name, [cause])


def keep_metadata(target: Target, meta: Object, old: Object) -> None:
    """Give new metadata what no caller may set."""
    meta["name"] = target.name
    for field in KEPT:
        meta.pop(field, None)
        if field in old:
            meta[field] = old[field]


def isolated(kind: Kind, subresource: str, new: Object, old: Object) -> Object:
    """Return what a write through a subresource, or through the main resource, makes of an object."""
    if subresource == "status":
        refused = ("ownerReferences",) if kind is PODS else ()
        meta = old["metadata"] if kind.custom else _restored(new["metadata"], old["metadata"], refused)
        return _restored({**copied(old), "metadata": copied(meta)}, new, ("status",))
    if subresource == "finalize":
        return new
    return _restored(new, copied(old), ("status",)) if "status" in kind.subresources else new


def copied(item: Any) -> Any:
    """Return a copy that shares nothing; patched objects share with the stored one what did not change."""
    return msgspec.json.decode(msgspec.json.encode(item))


def _restored(item: Object, source: Object, fields: tuple[str, ...]) -> Object:
    """Return `item` with the fields as `source` has them."""
    kept = {key: value for key, value in item.items() if key not in fields}
    return {**kept, **{field: source[field] for field in fields if field in source}}


def count_generation(kind: Kind, new: Object, old: Object) -> None:
    """Begin a new generation if what is wanted has changed."""
    if "generation" in new["metadata"] and _intent(new, kind) != _intent(old, kind):
        new["metadata"]["generation"] += 1


def _intent(item: Object, kind: Kind) -> Any:
    """Return the part of an object whose changes count as generations."""
    if not kind.custom:
        return item.get("spec")
    hidden = ("metadata", "status") if "status" in kind.subresources else ("metadata",)
    return {key: value for key, value in item.items() if key not in hidden}


def is_held(item: Object, kind: Kind) -> bool:
    """Whether something holds an object that is being deleted."""
    if kind is NAMESPACES and (item.get("spec") or {}).get("finalizers"):
        return True
    return bool(item["metadata"].get("finalizers") or item["metadata"].get("deletionGracePeriodSeconds"))

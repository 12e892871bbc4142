"""Deletion: preconditions, grace periods, propagation policies and finalizers (`registry/rest/delete.go`)."""

from datetime import timedelta

import msgspec
from msgspec import Struct

from gangline.contract.timestamps import timestamp
from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.kinds import NAMESPACES, PODS, Kind
from gangline.sandbox.apiserver.store import Change, Object, Version
from gangline.sandbox.apiserver.strategies.choice import strategy_of
from gangline.sandbox.apiserver.strategies.strategy import Write
from gangline.sandbox.apiserver.verbs.paths import Target
from gangline.sandbox.apiserver.verbs.updates import is_held
from gangline.sandbox.apiserver.verbs.verbs import Verbs

_LONGEST_S = 10**9  # what is longer is no date any more
_COLLECTORS_FINALIZERS = {"Foreground": ["foregroundDeletion"], "Orphan": ["orphan"], "Background": []}


class Preconditions(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the object must still be."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    """How to delete (`metav1.DeleteOptions`); what is None is left to the kind."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    preconditions: Preconditions | None = None
    dry_run: tuple[str, ...] | None = None

    @property
    def is_dry(self) -> bool:
        """Whether nothing is to be kept."""
        return bool(self.dry_run)


def delete(verbs: Verbs, target: Target, options: DeleteOptions) -> tuple[Version, bool]:
    """Delete, or begin to; says whether the object is gone. Raises 404 and 409."""
    version = verbs.get(target)
    old = version.object
    check_preconditions(target, old["metadata"], options)
    if target.kind is NAMESPACES and target.name in ("default", "kube-system", "kube-public"):
        raise failures.forbidden(target.kind, target.name, "this namespace may not be deleted")
    asked_s = options.grace_period_seconds
    grace_s = strategy_of(target.kind).grace_s(old, 1 if asked_s is not None and asked_s < 0 else asked_s)
    propagation = options.propagation_policy or ("Orphan" if target.kind.orphans_by_default else None)
    new = _marked(verbs, target.kind, old, grace_s, _finalizers(old["metadata"], propagation))
    write = Write(kind=target.kind, new=new, old=old, subresource="", state=verbs.state)
    if not is_held(new, target.kind):
        if target.kind is PODS:
            return _let_go(verbs, target, write, dry_run=options.is_dry), True
        last = msgspec.structs.replace(write, new={**new, "metadata": old["metadata"]})
        return verbs.commit(Change.DELETED, target, last, dry_run=options.is_dry), True
    if new == old:
        return version, False
    return verbs.commit(Change.MODIFIED, target, write, dry_run=options.is_dry), False


def _let_go(verbs: Verbs, target: Target, write: Write, *, dry_run: bool) -> Version:
    """Delete a pod that nothing holds: it is marked as leaving first, as one is that has a grace period."""
    marked = verbs.commit(Change.MODIFIED, target, write, dry_run=dry_run)
    if dry_run:
        return marked
    last = msgspec.structs.replace(write, new=marked.object)
    return verbs.commit(Change.DELETED, target, last, dry_run=False)


def check_preconditions(target: Target, metadata: Object, options: DeleteOptions) -> None:
    """Check that the object is the one that the caller means; raises 409."""
    wanted = options.preconditions or Preconditions()
    for noun, given, found, fate in (
        ("UID", wanted.uid, metadata["uid"], "deleted and then recreated"),
        ("ResourceVersion", wanted.resource_version, metadata["resourceVersion"], "modified"),
    ):
        if given and given != found:
            why = f"the {noun} in the precondition ({given}) does not match the {noun} in record ({found})"
            why += f". The object might have been {fate}"
            raise failures.conflict(target.kind, target.name, why, noun=target.kind.kind)


def _finalizers(metadata: Object, propagation: str | None) -> list[str]:
    """Return the finalizers after the policy has added or removed those of the garbage collector."""
    finalizers: list[str] = metadata["finalizers"] if isinstance(metadata.get("finalizers"), list) else []
    if propagation is None:
        return finalizers
    kept = [name for name in finalizers if name not in ("foregroundDeletion", "orphan")]
    return kept + _COLLECTORS_FINALIZERS.get(propagation, [])


def _marked(verbs: Verbs, kind: Kind, old: Object, grace_s: int, finalizers: list[str]) -> Object:
    """Return the object as one that is being deleted; a second deletion can only shorten the grace period."""
    metadata = {**old["metadata"]}
    before_s = metadata.get("deletionGracePeriodSeconds") or 0
    is_first = not metadata.get("deletionTimestamp")
    if is_first or grace_s < before_s:
        metadata["deletionTimestamp"] = timestamp(verbs.state.now() + timedelta(seconds=min(grace_s, _LONGEST_S)))
        metadata["deletionGracePeriodSeconds"] = grace_s
    if is_first and "generation" in metadata:
        metadata["generation"] += 1
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    new = {**old, "metadata": metadata}
    if kind is NAMESPACES:
        new["status"] = {**(old.get("status") or {}), "phase": "Terminating"}
        metadata.pop("deletionGracePeriodSeconds", None)
    return new

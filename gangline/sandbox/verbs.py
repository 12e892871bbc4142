"""The verbs, the same for all kinds: create, get, update, patch, delete. No I/O: a request is a function call.

What a kind does of its own is in its strategy. Every function either commits one version and returns it, or
raises a `Failure` and changes nothing.
"""

import secrets
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Struct

from gangline.sandbox import failures, forms
from gangline.sandbox.failures import Cause
from gangline.sandbox.kinds import NAMESPACES, Kind
from gangline.sandbox.store import Change, Object, Version
from gangline.sandbox.strategies.strategy import ClusterState, Strategy, Write, rfc3339

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SERVER_METADATA = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "namespace",
)


class Target(Struct, frozen=True, kw_only=True):
    """What a request is about; `name` is empty for collections."""

    kind: Kind
    namespace: str
    name: str
    subresource: str = ""

    @property
    def key(self) -> str:
        """Key in the store."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class DeleteOptions(Struct, frozen=True, kw_only=True):
    """How to delete."""

    grace_period_s: int | None = None
    propagation: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


class Verbs:
    """The verbs on one cluster's state."""

    def __init__(self, state: ClusterState, strategies: Callable[[Kind], Strategy]) -> None:
        self.state = state
        self._strategies = strategies

    def get(self, target: Target) -> Version:
        """The current version; raises 404."""
        version = self.state.store.get(target.kind.resource, target.key)
        if version is None:
            raise failures.not_found(target.kind, target.name)
        return version

    def create(self, target: Target, body: Object, *, dry_run: bool = False) -> Version:
        """Commit a new object; `body` belongs to the server from now on."""
        kind = target.kind
        new = self._received(target, body)
        metadata = new["metadata"]
        self._check_namespace(target, metadata)
        name = metadata.get("name") or self._generated_name(target, metadata)
        metadata["name"] = name
        target = Target(kind=kind, namespace=target.namespace, name=name)
        for field in _SERVER_METADATA:
            metadata.pop(field, None)
        if target.namespace:
            metadata["namespace"] = target.namespace
        metadata.update(uid=str(uuid.uuid4()), creationTimestamp=self.state.timestamp())
        if kind.counts_generation or kind.custom:
            metadata["generation"] = 1
        if "status" in kind.subresources:
            new.pop("status", None)
        write = Write(kind=kind, new=new, old=None, subresource="", state=self.state)
        strategy = self._strategies(kind)
        strategy.prepare(write)
        self._check_valid(write, strategy)
        if self.state.store.get(kind.resource, target.key) is not None:
            raise failures.already_exists(kind, name)
        return self._commit(Change.ADDED, target, write, dry_run=dry_run)

    def update(self, target: Target, body: Object, *, dry_run: bool = False) -> Version:
        """Replace an object, or the part of it that a subresource shows."""
        kind = target.kind
        old = self.state.store.get(kind.resource, target.key)
        if old is None and kind.creates_on_update and not target.subresource:
            return self.create(target, body, dry_run=dry_run)
        if old is None:
            raise failures.not_found(kind, target.name)
        new = self._received(target, body)
        metadata = new["metadata"]
        if metadata.get("name", target.name) != target.name:
            raise failures.bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
            )
        if not metadata.get("resourceVersion") and not kind.unconditional_update:
            raise failures.invalid(
                kind,
                target.name,
                [Cause.invalid("metadata.resourceVersion", 0, "must be specified for an update")],
            )
        return self._replace(target, old, new, dry_run=dry_run)

    def patch(self, target: Target, change: Callable[[Object], Object], *, dry_run: bool = False) -> Version:
        """Replace an object by what `change` makes of it; `change` must not alter its argument."""
        old = self.get(target)
        shown = forms.shown(old.object, target.kind) if target.kind.renames else old.object
        patched = change(shown)
        if not isinstance(patched, dict) or not isinstance(patched.get("metadata"), dict):
            raise failures.bad_request("the patch leaves no object")
        return self._replace(target, old, self._received(target, _own(patched)), dry_run=dry_run)

    def delete(self, target: Target, options: DeleteOptions) -> tuple[Version, bool]:
        """Delete, or begin to; says whether the object is gone."""
        version = self.get(target)
        metadata = version.object["metadata"]
        if options.uid and options.uid != metadata["uid"]:
            raise failures.wrong_uid(target.kind, target.key, target.name, wanted=options.uid, found=metadata["uid"])
        if options.resource_version and options.resource_version != metadata["resourceVersion"]:
            raise failures.conflict(
                target.kind,
                target.name,
                "Precondition failed: ResourceVersion in precondition: "
                f"{options.resource_version}, ResourceVersion in object meta: {metadata['resourceVersion']}",
            )
        return self._begin_deletion(target, version, options)

    def _begin_deletion(self, target: Target, version: Version, options: DeleteOptions) -> tuple[Version, bool]:
        kind, old = target.kind, version.object
        metadata = old["metadata"]
        finalizers = _finalizers_for(metadata.get("finalizers") or [], options.propagation)
        grace_s = self._strategies(kind).grace_s(old, options.grace_period_s)
        deleting = metadata.get("deletionTimestamp")
        if deleting:
            grace_s = min(grace_s, metadata.get("deletionGracePeriodSeconds") or 0)
        namespace_finalizers = kind is NAMESPACES and (old.get("spec") or {}).get("finalizers")
        if not grace_s and not finalizers and not namespace_finalizers:
            return self._remove(target, old, dry_run=options.dry_run), True
        new_metadata = {**metadata, "deletionGracePeriodSeconds": grace_s}
        if finalizers != (metadata.get("finalizers") or []):
            new_metadata["finalizers"] = finalizers
        if not deleting or grace_s < (metadata.get("deletionGracePeriodSeconds") or 0):
            new_metadata["deletionTimestamp"] = rfc3339(self.state.now() + timedelta(seconds=grace_s))
        if not deleting and "generation" in metadata:
            new_metadata["generation"] = metadata["generation"] + 1
        new = {**old, "metadata": new_metadata}
        if kind is NAMESPACES:
            new["status"] = {**(old.get("status") or {}), "phase": "Terminating"}
        if new == old:
            return version, False
        write = Write(kind=kind, new=new, old=old, subresource="", state=self.state)
        return self._commit(Change.MODIFIED, target, write, dry_run=options.dry_run), False

    def _remove(self, target: Target, last: Object, *, dry_run: bool) -> Version:
        new = {**last, "metadata": {**last["metadata"]}}
        write = Write(kind=target.kind, new=new, old=last, subresource="", state=self.state)
        return self._commit(Change.DELETED, target, write, dry_run=dry_run)

    def _replace(self, target: Target, version: Version, new: Object, *, dry_run: bool) -> Version:
        kind, old = target.kind, version.object
        metadata, old_metadata = new["metadata"], old["metadata"]
        given = metadata.get("resourceVersion")
        if metadata.get("uid", old_metadata["uid"]) != old_metadata["uid"]:
            raise failures.conflict(
                kind,
                target.name,
                f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {old_metadata['uid']}",
            )
        if given and given != old_metadata["resourceVersion"]:
            raise failures.stale(kind, target.name)
        metadata["name"] = target.name
        metadata["resourceVersion"] = old_metadata["resourceVersion"]
        for field in _SERVER_METADATA:
            if field in old_metadata:
                metadata[field] = old_metadata[field]
            else:
                metadata.pop(field, None)
        new = _isolated(kind, target.subresource, new, old)
        write = Write(kind=kind, new=new, old=old, subresource=target.subresource, state=self.state)
        strategy = self._strategies(kind)
        strategy.prepare(write)
        self._check_valid(write, strategy)
        metadata = new["metadata"]
        if "generation" in metadata and _intent(new, kind) != _intent(old, kind):
            metadata["generation"] += 1
        if _is_over(new, kind):
            return self._commit(Change.DELETED, target, write, dry_run=dry_run)
        if new == old:
            return version
        return self._commit(Change.MODIFIED, target, write, dry_run=dry_run)

    def _commit(self, change: Change, target: Target, write: Write, *, dry_run: bool) -> Version:
        if dry_run:
            return Version(
                revision=self.state.store.revision,
                change=change,
                resource=target.kind.resource,
                key=target.key,
                object=write.new,
                previous=None,
                encoded={},
            )
        version = self.state.store.commit(change, target.kind.resource, target.key, write.new)
        self._strategies(target.kind).committed(write)
        return version

    def _received(self, target: Target, body: Any) -> Object:
        """Check the envelope and lead the body into its stored form."""
        kind = target.kind
        if not isinstance(body, dict):
            raise failures.bad_request("the body is not an object")
        api_version = body.setdefault("apiVersion", kind.api_version)
        if api_version != kind.api_version:
            raise failures.bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version"
                f" ({kind.api_version})"
            )
        if body.setdefault("kind", kind.kind) != kind.kind:
            raise failures.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                f"no kind {failures.quoted(body['kind'])} is registered"
            )
        metadata = body.get("metadata")
        body["metadata"] = metadata = metadata if metadata is not None else {}
        if not isinstance(metadata, dict):
            raise failures.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                "json: cannot unmarshal into Go struct field .metadata of type v1.ObjectMeta"
            )
        if metadata.get("namespace", target.namespace) not in ("", target.namespace):
            raise failures.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        return forms.stored(body, kind, "v1") if kind.renames else body

    def _check_namespace(self, target: Target, metadata: Object) -> None:
        if not target.kind.namespaced:
            return
        namespace = self.state.store.get(NAMESPACES.resource, target.namespace)
        if namespace is None:
            raise failures.not_found(NAMESPACES, target.namespace)
        if (namespace.object.get("status") or {}).get("phase") == "Terminating":
            name = metadata.get("name") or metadata.get("generateName") or ""
            why = f"namespace {target.namespace} is being terminated"
            raise failures.forbidden(
                target.kind,
                name,
                f"unable to create new content in namespace {target.namespace} because it is being terminated",
                causes=[Cause("NamespaceTerminating", why, "metadata.namespace")],
            )

    def _generated_name(self, target: Target, metadata: Object) -> str:
        base = metadata.get("generateName")
        if not base:
            raise failures.invalid(
                target.kind, "", [Cause.required("metadata.name", "name or generateName is required")]
            )
        while True:
            name = base[:58] + "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(5))
            taken = Target(kind=target.kind, namespace=target.namespace, name=name).key
            if self.state.store.get(target.kind.resource, taken) is None:
                return name

    @staticmethod
    def _check_valid(write: Write, strategy: Strategy) -> None:
        causes = strategy.validate(write)
        if causes:
            raise failures.invalid(write.kind, write.new["metadata"].get("name", ""), causes)


def _own(item: Object) -> Object:
    """A copy that shares nothing: patched objects share what did not change with the stored one."""
    copied: Object = msgspec.json.decode(msgspec.json.encode(item))
    return copied


def _finalizers_for(finalizers: list[str], propagation: str | None) -> list[str]:
    """Finalizers that a deletion leaves to the garbage collector."""
    if propagation is None:
        return finalizers
    kept = [name for name in finalizers if name not in ("foregroundDeletion", "orphan")]
    wanted = {"Foreground": ["foregroundDeletion"], "Orphan": ["orphan"]}.get(propagation, [])
    return kept + wanted


def _isolated(kind: Kind, subresource: str, new: Object, old: Object) -> Object:
    """What a write through a subresource, or through the main resource, may change."""
    if subresource == "status":
        if not kind.custom:
            metadata = {**new["metadata"]}
            for field in ("ownerReferences", "finalizers"):
                metadata.pop(field, None)
                if field in old["metadata"]:
                    metadata[field] = old["metadata"][field]
        else:
            metadata = {**old["metadata"]}
        isolated = {**_own(old), "metadata": metadata}
        isolated.pop("status", None)
        if "status" in new:
            isolated["status"] = new["status"]
        return isolated
    if "status" in kind.subresources:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    return new


def _intent(item: Object, kind: Kind) -> Any:
    """The part of an object whose changes count as generations."""
    if not kind.custom:
        return item.get("spec")
    hidden = ("metadata", "status") if "status" in kind.subresources else ("metadata",)
    return {key: value for key, value in item.items() if key not in hidden}


def _is_over(item: Object, kind: Kind) -> bool:
    """Whether an object that is being deleted has nothing left that holds it."""
    metadata = item["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if kind is NAMESPACES:
        return not (item.get("spec") or {}).get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")

"""The verbs, the same for all kinds: create, get, update, patch, delete. No I/O: a request is a function call.

What a kind does of its own is in its strategy. Every function either commits one version and returns it, or
raises a `Failure` and changes nothing. Objects are handled in the version of the request and stored in the kind's.
"""

import secrets
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import NAMESPACES, Kind
from gangline.sandbox.apiserver.schema import bodies, forms, metadata
from gangline.sandbox.apiserver.schema.bodies import FieldValidation
from gangline.sandbox.apiserver.schema.shapes import shape_of
from gangline.sandbox.apiserver.store import Change, Object, Version, Writer
from gangline.sandbox.apiserver.strategies.choice import strategy_of
from gangline.sandbox.apiserver.strategies.strategy import ClusterState, Write
from gangline.sandbox.apiserver.verbs import apply, updates
from gangline.sandbox.apiserver.verbs.paths import Target

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_NAME_ATTEMPTS = 8


class WriteOptions(Struct, frozen=True, kw_only=True):
    """How to write; a dry run keeps nothing; `manager` is empty for applies, which keep their own accounts."""

    dry_run: bool = False
    manager: str = ""
    field_validation: FieldValidation = FieldValidation.WARN


DEFAULT_OPTIONS = WriteOptions()


class Written(Struct, frozen=True):
    """The outcome of a write: the version, and warnings for the caller."""

    version: Version
    warnings: tuple[str, ...] = ()
    is_new: bool = False


class Verbs:
    """The verbs on one cluster's state."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state

    def get(self, target: Target) -> Version:
        """Return the current version; raises 404."""
        version = self.state.store.get(target.kind.resource, target.key)
        if version is None:
            raise failures.not_found(target.kind, target.name)
        return version

    def create(self, target: Target, body: Any, options: WriteOptions = DEFAULT_OPTIONS) -> Written:
        """Commit a new object; `body` belongs to the server from now on."""
        kind = target.kind
        new = bodies.check_envelope(kind, target.namespace, body)
        if "status" in kind.subresources and not kind.keeps_first_status:
            new.pop("status", None)
        warnings, causes = bodies.reviewed(kind, new, None, options.field_validation)
        meta = new["metadata"]
        self._check_namespace(target, meta)
        given_version = meta.get("resourceVersion")
        meta["name"] = name = meta.get("name") or self._generated_name(target, meta)
        target = Target(kind=kind, namespace=target.namespace, name=name)
        self._own_metadata(target, meta)
        write = Write(kind=kind, new=new, old=None, subresource="", state=self.state)
        self._admit(write, causes)
        if given_version:
            raise failures.internal("resourceVersion should not be set on objects to be created")
        if self.state.store.get(kind.resource, target.key) is not None:
            raise failures.already_exists(kind, name)
        writer = self._writer(target, options)
        added = self.commit(Change.ADDED, target, write, dry_run=options.dry_run, writer=writer)
        return Written(added, warnings, is_new=True)

    def update(self, target: Target, body: Any, options: WriteOptions = DEFAULT_OPTIONS) -> Written:
        """Replace an object, or the part of it that a subresource shows."""
        kind = target.kind
        old = self.state.store.get(kind.resource, target.key)
        if old is None and kind.creates_on_update and not target.subresource:
            return self.create(target, body, options)
        if old is None:
            raise failures.not_found(kind, target.name)
        new = bodies.check_envelope(kind, target.namespace, body)
        meta = new["metadata"]
        if not meta.get("resourceVersion") and not kind.unconditional_update:
            cause = Cause.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise failures.invalid_as(kind.plural, kind.group, target.name, [cause])
        uid, found = meta.get("uid"), old.object["metadata"]["uid"]
        if uid and uid != found:
            raise failures.wrong_uid(kind, target.key, target.name, wanted=uid, found=found)
        return self._replace(target, old, new, options)

    def patch(
        self, target: Target, change: Callable[[Object], Any], options: WriteOptions = DEFAULT_OPTIONS
    ) -> Written:
        """Replace an object by what `change` makes of it; `change` must not alter its argument.

        A UID in it is no precondition as in an update, but a field that must not change, where it is looked at.
        """
        old = self.get(target)
        patched = change(forms.shown(old.object, target.kind))
        try:
            new = bodies.check_envelope(target.kind, target.namespace, updates.copied(patched))
            return self._replace(target, old, new, options)
        except bodies.UndecodableBody as problem:
            if target.kind.custom:
                raise
            cause = Cause.invalid("patch", failures.quoted(patched), problem.problem)
            raise failures.invalid_as("", "", "", [cause]) from problem

    def apply(
        self, target: Target, config: Object, options: WriteOptions, *, manager: str, force: bool = False
    ) -> Written:
        """Create or change an object by what its manager wants of it; `options` name no manager."""
        kind, schema = target.kind, shape_of(target.kind)
        apply.check(config, kind, schema)
        config["metadata"].setdefault("name", target.name)
        version = self.state.store.get(kind.resource, target.key)
        entries = apply.entries_of(version, schema, lambda item: forms.shown(item, kind))
        writer = Writer(manager, target.subresource, self.state.timestamp())

        def applied(old: Object | None) -> Object:
            return apply.applied(old, config, schema, entries, writer=writer, force=force)

        if version is None and not target.subresource:
            return self.create(target, applied(None), options)
        return self.patch(target, applied, options)

    def _replace(self, target: Target, version: Version, new: Object, options: WriteOptions) -> Written:
        kind, old = target.kind, forms.shown(version.object, target.kind)
        updates.check_identity(target, new["metadata"], old["metadata"])
        updates.keep_metadata(target, new["metadata"], old["metadata"])
        new = updates.isolated(kind, target.subresource, new, old)
        warnings, causes = bodies.reviewed(kind, new, old, options.field_validation, target.subresource)
        write = Write(kind=kind, new=new, old=old, subresource=target.subresource, state=self.state)
        self._admit(write, causes)
        writer = self._writer(target, options)
        if writer is not None:
            _account(kind, old, new, writer)
        updates.count_generation(kind, new, old)
        if new["metadata"].get("deletionTimestamp") and not updates.is_held(new, kind):
            return Written(self._let_go(target, version, write, dry_run=options.dry_run), warnings)
        if new == old:
            return Written(version, warnings)
        return Written(self.commit(Change.MODIFIED, target, write, dry_run=options.dry_run, writer=writer), warnings)

    def _let_go(self, target: Target, version: Version, write: Write, *, dry_run: bool) -> Version:
        """Remove what nothing holds any more: watchers are told what there was, the caller what he made of it."""
        last = msgspec.structs.replace(write, new=version.object)
        gone = self.commit(Change.DELETED, target, last, dry_run=dry_run)
        shown = forms.stored(write.new, target.kind)
        shown["metadata"]["resourceVersion"] = str(version.revision)
        return msgspec.structs.replace(gone, object=shown, encoded={})

    def _writer(self, target: Target, options: WriteOptions) -> Writer | None:
        """Who writes; None for an apply, which keeps its own accounts."""
        return Writer(options.manager, target.subresource, self.state.timestamp()) if options.manager else None

    def commit(
        self, change: Change, target: Target, write: Write, *, dry_run: bool, writer: Writer | None = None
    ) -> Version:
        """Store what a write came to, unless nothing is to be kept."""
        kind, stored = target.kind, forms.stored(write.new, target.kind)
        if dry_run:
            revision = self.state.store.revision
            return Version(revision=revision, change=change, resource=kind.resource, key=target.key, object=stored)
        version = self.state.store.commit(change, kind.resource, target.key, stored, writer)
        strategy_of(kind).committed(write)
        return version

    def _admit(self, write: Write, causes: list[Cause]) -> None:
        """Default, admit and validate one write; raises Failure."""
        strategy = strategy_of(write.kind)
        strategy.prepare(write)
        new, old = write.new, write.old
        if old is None or new["metadata"] != old["metadata"]:
            before = old["metadata"] if old else None
            causes = [*metadata.broken_rules(write.kind, new["metadata"], before), *causes]
        if not causes and not write.subresource:
            causes = list(strategy.validate(write))
        if causes:
            raise failures.invalid(write.kind, new["metadata"].get("name", ""), causes)

    def _own_metadata(self, target: Target, meta: Object) -> None:
        for field in (*updates.KEPT, "selfLink"):
            meta.pop(field, None)
        if target.namespace:
            meta["namespace"] = target.namespace
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=self.state.timestamp())
        if target.kind.counts_generation or target.kind.custom:
            meta["generation"] = 1

    def _check_namespace(self, target: Target, meta: Object) -> None:
        if not target.kind.namespaced:
            return
        namespace = self.state.store.get(NAMESPACES.resource, target.namespace)
        if namespace is None:
            raise failures.not_found(NAMESPACES, target.namespace)
        if (namespace.object.get("status") or {}).get("phase") == "Terminating":
            why = f"namespace {target.namespace} is being terminated"
            raise failures.forbidden(
                target.kind,
                meta.get("name") or "",
                f"unable to create new content in namespace {target.namespace} because it is being terminated",
                causes=[Cause("NamespaceTerminating", why, "metadata.namespace")],
            )

    def _generated_name(self, target: Target, meta: Object) -> str:
        base = meta.get("generateName")
        if not base:
            cause = Cause.required("metadata.name", "name or generateName is required")
            raise failures.invalid(target.kind, "", [cause])
        name = ""
        for _ in range(_NAME_ATTEMPTS):
            name = str(base)[:58] + "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(5))
            taken = Target(kind=target.kind, namespace=target.namespace, name=name).key
            if self.state.store.get(target.kind.resource, taken) is None:
                break
        return name


def _account(kind: Kind, old: Object, new: Object, writer: Writer) -> None:
    """Keep managedFields, where there are any, in step with a plain write."""
    entries, meta = old["metadata"].get("managedFields"), new["metadata"]
    if not entries or meta.get("managedFields") == []:
        meta.pop("managedFields", None)
        return
    meta["managedFields"] = apply.after_update(old, new, entries, shape_of(kind), writer)

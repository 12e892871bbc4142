"""CustomResourceDefinitions: a definition becomes rows of kinds, served from the moment it is established.

Custom resources have no scale.
"""

from collections.abc import Iterator
from typing import Any

from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import Column, GroupResource, Kind
from gangline.sandbox.apiserver.schema import jsonpath
from gangline.sandbox.apiserver.store import Change, Object
from gangline.sandbox.apiserver.strategies.strategy import Strategy, Write, changed


def prepare(write: Write) -> None:
    """Set defaults and the conditions of an accepted definition."""
    spec = write.new.get("spec") or {}
    names = spec.get("names") or {}
    if "kind" in names:
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    if write.old is not None:
        return
    write.new["status"] = {
        "acceptedNames": {"plural": "", "kind": ""},
        "conditions": None,
        "storedVersions": [version.get("name") for version in spec.get("versions") or () if version.get("storage")],
    }


def _established(definition: Object, now: str) -> Object:
    """Return a definition as it is a moment after its creation."""
    status = {
        **definition["status"],
        "acceptedNames": definition["spec"]["names"],
        "conditions": [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
            _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
        ],
    }
    return {**definition, "status": status}


def _condition(type_: str, reason: str, message: str, now: str) -> Object:
    return {"type": type_, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}


def broken_rules(write: Write) -> Iterator[Cause]:
    """Name what is wrong with a definition."""
    spec, name = write.new.get("spec") or {}, write.new["metadata"]["name"]
    versions = spec.get("versions") or []
    for path in ("group", "names.plural", "names.singular", "names.kind", "names.listKind"):
        if not jsonpath.first(spec, path):
            yield Cause.required(f"spec.{path}")
    if name != f"{jsonpath.first(spec, 'names.plural')}.{spec.get('group')}":
        yield Cause.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield Cause.invalid("spec.versions", versions, detail)
    if not write.new["status"].get("storedVersions"):
        yield Cause.invalid("status.storedVersions", None, "must have at least one stored version")
    for index, version in enumerate(versions):
        if not version.get("name"):
            yield Cause.required(f"spec.versions[{index}].name")
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            yield Cause.required(f"spec.versions[{index}].schema.openAPIV3Schema")
        elif not schema.get("type"):
            path = "spec.validation" if len(versions) == 1 else f"spec.versions[{index}].schema"
            yield Cause.required(f"{path}.openAPIV3Schema.type", "must not be empty at the root")
    yield from changed(write, "spec.group", "spec.scope", "spec.names.plural", "spec.names.kind")


def committed(write: Write) -> None:
    """Serve, serve differently, or stop serving, with the last objects going too."""
    definition, store = write.new, write.state.store
    spec, name = definition["spec"], definition["metadata"]["name"]
    write.state.registry.remove(spec["group"], spec["names"]["plural"])
    if store.get(write.kind.resource, name) is None:
        resource = GroupResource(spec["group"], spec["names"]["plural"])
        for version in store.current(resource):
            store.commit(Change.DELETED, resource, version.key, version.object)
        return
    for kind in kinds_of(definition):
        write.state.registry.add(kind)
    if write.old is None:
        now = _established(definition, write.state.timestamp())
        store.commit(Change.MODIFIED, write.kind.resource, name, now)


def kinds_of(definition: Object) -> list[Kind]:
    """One row per served version."""
    spec = definition["spec"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    return [_kind(spec, version, stored) for version in spec["versions"] if version.get("served")]


def _kind(spec: Object, version: Object, stored: str) -> Kind:
    names = spec["names"]
    return Kind(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        singular_name=names.get("singular", ""),
        list_name=names.get("listKind", ""),
        namespaced=spec.get("scope") == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=("status",) if "status" in (version.get("subresources") or {}) else (),
        verbs=("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"),
        unconditional_update=False,
        selectable=tuple(field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()),
        columns=_columns(version.get("additionalPrinterColumns")),
        stored_as=f"{spec['group']}/{stored}",
        custom=True,
        schema=(version.get("schema") or {}).get("openAPIV3Schema"),
    )


def _columns(columns: list[dict[str, Any]] | None) -> tuple[Column, ...]:
    if not columns:
        return (Column("Age", "date", ".metadata.creationTimestamp"),)
    return tuple(
        Column(source=column["jsonPath"], **{field: value for field, value in column.items() if field != "jsonPath"})
        for column in columns
    )


STRATEGY = Strategy(prepare=prepare, validate=broken_rules, committed=committed)

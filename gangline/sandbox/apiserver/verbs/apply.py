"""Server-side apply: merge by list-map keys, and one set of paths per manager.

A path is a tuple of fieldsV1 elements ("f:spec", 'k:{"name":"c"}', "v:..."). A manager that stops naming a field
removes it unless another manager has it too; a field of another manager with another value is a conflict (409)
unless forced.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.schema.shapes import Schema, below, item_key, items_of
from gangline.sandbox.apiserver.store import Change, Object, Version, Writer

Path = tuple[str, ...]

_ENVELOPE = {("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"), ("f:metadata", "f:namespace")}
_UNOWNED = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")
_PARTS = {("f:metadata",)}
_ABSENT = object()
_FORMS: dict[str, tuple[str, type]] = {"object": ("map", dict), "array": ("list", list)}


class Owner(NamedTuple):
    """Whose fields an entry of managedFields lists."""

    manager: str
    operation: str
    subresource: str


Owned = dict[Owner, set[Path]]


def check(config: Object, kind: Kind, schema: Schema) -> None:
    """Check that a configuration says of which kind it is, and has its shape; gives it metadata. Raises 400 and 500."""
    if not config.get("apiVersion") or not config.get("kind"):
        named = f"{config.get('apiVersion', '/')}, Kind={config.get('kind', '')}"
        raise failures.bad_request(f"invalid object type: {named}")
    metadata = config["metadata"] = {} if config.get("metadata") is None else config["metadata"]
    known = metadata if isinstance(metadata, dict) else {}
    if known.get("managedFields"):
        raise failures.bad_request("metadata.managedFields must be nil")
    for problem in _misshapen(config, schema):
        identity = f"{known.get('namespace', '')}/{known.get('name', '')}"
        what = f"({identity}; {kind.group}/{kind.version}, Kind={kind.kind})"
        raise failures.internal(f"failed to create typed patch object {what}: {problem}")


def _misshapen(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Name fields that the schema does not, and what is no map or no list where it has one."""
    noun, form = _FORMS.get(schema.get("type", ""), ("", object))
    match value:
        case _ if value is not None and not isinstance(value, form):
            yield f"{path}: expected {noun}, got &{{{value if isinstance(value, str) else failures.quoted(value)}}}"
        case dict() if "properties" in schema:
            is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
            for key, inner in value.items():
                if key in schema["properties"]:
                    yield from _misshapen(inner, below(schema, key), f"{path}.{key}")
                elif not is_open and (path or key not in ("apiVersion", "kind")):
                    yield f"{path}.{key}: field not declared in schema"
        case list():
            for index, item in enumerate(value):
                if "x-kubernetes-list-map-keys" in schema and not isinstance(item, dict):
                    what = "a null element" if item is None else "non-map elements"
                    yield f"{path}: element {index}: associative list with keys may not have {what}"
                yield from _misshapen(item, items_of(schema), path)


def applied(
    old: Object | None, config: Object, schema: Schema, entries: list[Object], *, writer: Writer, force: bool
) -> Object:
    """Return the object after an apply; `entries` say who owns what in the old one. Raises 409 with all conflicts."""
    live = old or {"apiVersion": config["apiVersion"], "kind": config["kind"], "metadata": {}}
    owned, mine = _owned(entries), Owner(writer.manager, "Apply", writer.subresource)
    before, wanted = dict(_leaves(live, schema)), dict(_leaves(config, schema))
    contested = {path for path, value in wanted.items() if old is not None and before.get(path, _ABSENT) != value}
    conflicts = {other: paths & contested for other, paths in owned.items() if other != mine and paths & contested}
    if conflicts and not force:
        raise _conflict(conflicts, entries)
    for other, paths in conflicts.items():
        owned[other] -= paths
    dropped = owned.pop(mine, set()).difference(wanted, *owned.values())
    dropped -= _beginnings(wanted)
    merged: Object = _merged(live, config, schema)
    for path in dropped:
        if dropped.isdisjoint(path[:length] for length in range(1, len(path))):
            merged = _without(merged, path, schema)
    owned[mine] = set(wanted)
    now = writer.time if old is None or merged != live else ""
    return {
        **merged,
        "metadata": {**merged["metadata"], "managedFields": _entries(owned, entries, config["apiVersion"], mine, now)},
    }


def entries_of(version: Version | None, schema: Schema, show: Callable[[Object], Object]) -> list[Object]:
    """Who owns what in a stored object.

    Only what was applied once keeps accounts in its metadata; for others they are made of the log, of which the oldest
    version counts as new.
    """
    chain: list[Version] = []
    while version is not None and version.change is not Change.DELETED:
        chain.append(version)
        version = None if version.object["metadata"].get("managedFields") else version.previous
    entries: list[Object] = []
    last: Object = {"metadata": {}}
    for each in reversed(chain):
        now = show(each.object)
        if known := now["metadata"].get("managedFields"):
            entries = known
        elif each.writer is not None:
            entries = after_update(last, now, entries, schema, each.writer)
        last = now
    return entries


def after_update(old: Object, new: Object, entries: list[Object], schema: Schema, writer: Writer) -> list[Object]:
    """Move what a plain write changed from its owners to the writer; a map that is new as a whole is changed too."""
    before, after = dict(_leaves(old, schema)), dict(_leaves(new, schema))
    changed = {path for path, value in after.items() if before.get(path, _ABSENT) != value}
    if not changed and before.keys() == after.keys():
        return entries
    known, present = _beginnings(before), _beginnings(after)
    maps = {path[:length] for path in changed for length in range(1, len(path)) if path[length].startswith("f:")}
    changed |= maps - known - _PARTS
    owned = {owner: (paths - changed) & present for owner, paths in _owned(entries).items()}
    mine = Owner(writer.manager, "Update", writer.subresource)
    owned[mine] = owned.get(mine, set()) | changed
    return _entries(owned, entries, new["apiVersion"], mine, writer.time)


def _beginnings(paths: Iterable[Path]) -> set[Path]:
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


def _owned(entries: list[Object]) -> Owned:
    return {_owner(entry): set(_paths(entry.get("fieldsV1") or {})) for entry in entries}


def _leaves(value: Any, schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the paths that a manager of this value owns, with what is there; that an item is there at all counts."""
    match value:
        case dict() if value and schema.get("x-kubernetes-map-type") != "atomic":
            for key, inner in value.items():
                yield from _leaves(inner, below(schema, key), (*path, f"f:{key}"))
        case list() if schema.get("x-kubernetes-list-type") in ("map", "set"):
            for item in value:
                element = (*path, _element(item, schema))
                yield element, True
                if schema["x-kubernetes-list-type"] == "map":
                    yield from _leaves(item, items_of(schema), element)
        case _ if path not in _ENVELOPE and path[-1][2:] not in _UNOWNED:
            yield path, value


def _element(item: Any, schema: Schema) -> str:
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys is None:
        return "v:" + msgspec.json.encode(item).decode()
    named = {key: value for key, value in item_key(item, keys, items_of(schema)) if value is not None}
    return "k:" + msgspec.json.encode(named, order="sorted").decode()


def _merged(live: Any, config: Any, schema: Schema) -> Any:
    match live, config:
        case dict(), dict() if schema.get("x-kubernetes-map-type") != "atomic":
            merged = dict(live)
            for key, value in config.items():
                merged[key] = _merged(live[key], value, below(schema, key)) if key in live else value
            return merged
        case list(), list() if schema.get("x-kubernetes-list-type") in ("map", "set"):
            items = {_element(item, schema): item for item in live}
            for item in config:
                element = _element(item, schema)
                items[element] = _merged(items[element], item, items_of(schema)) if element in items else item
            return list(items.values())
        case _:
            return config


def _without(value: Any, path: Path, schema: Schema) -> Any:
    """Return a copy without what is at the path; a map that is empty then goes too."""
    element, *rest = path
    match value:
        case dict() if (name := element[2:]) in value:
            inner = _without(value[name], tuple(rest), below(schema, name)) if rest else {}
            return {key: inner if key == name else kept for key, kept in value.items() if key != name or inner != {}}
        case list() if rest:
            inner = items_of(schema)
            return [_without(item, tuple(rest), inner) if _element(item, schema) == element else item for item in value]
        case list():
            return [item for item in value if _element(item, schema) != element]
        case _:
            return value


def _owner(entry: Object) -> Owner:
    return Owner(entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", ""))


def _paths(fields: Object, path: Path = ()) -> Iterator[Path]:
    for element, inner in fields.items():
        if element == ".":
            yield path
        elif inner:
            yield from _paths(inner, (*path, element))
        else:
            yield (*path, element)


def _fields(paths: Iterable[Path]) -> Object:
    """Return paths as nested fieldsV1; one that leads to others is marked with a dot."""
    fields: Object = {}
    for path in sorted(paths, key=len, reverse=True):
        place = fields
        for element in path:
            place = place.setdefault(element, {})
        if place:
            place["."] = {}
    return fields


def _entries(owned: Owned, before: list[Object], api_version: str, writer: Owner, now: str) -> list[Object]:
    known = {_owner(entry): entry for entry in before}
    entries = []
    for owner, paths in owned.items():
        old, fields = known.get(owner, {}), _fields(paths)
        if old and (owner != writer or old.get("fieldsV1") == fields):
            entry = {**old, "fieldsV1": fields}
        else:
            entry = {**owner._asdict(), "apiVersion": api_version, "time": now or old.get("time")}
            entry |= {"fieldsType": "FieldsV1", "fieldsV1": fields}
        if paths:
            entries.append({field: value for field, value in entry.items() if value})
    return sorted(entries, key=lambda entry: (entry["operation"], entry.get("time", ""), entry["manager"]))


def _conflict(conflicts: Owned, entries: list[Object]) -> failures.Failure:
    versions = {_owner(entry): entry["apiVersion"] for entry in entries}
    causes = [
        Cause("FieldManagerConflict", f"conflict with {_named(owner, versions[owner])}", _shown(path))
        for owner, paths in sorted(conflicts.items())
        for path in sorted(paths)
    ]
    noun = "conflict" if len(causes) == 1 else "conflicts"
    listed = ", ".join(f"{cause.message}: {cause.field}" for cause in causes)
    return failures.Failure(409, f"Apply failed with {len(causes)} {noun}: {listed}", causes=causes)


def _named(owner: Owner, api_version: str) -> str:
    through = f' with subresource "{owner.subresource}"' if owner.subresource else ""
    return f'"{owner.manager}"{through}' + (f" using {api_version}" if owner.operation == "Update" else "")


def _shown(path: Path) -> str:
    """Return a path as conflict messages have it."""
    text = ""
    for element in path:
        kind, name = element[:2], element[2:]
        if kind == "k:":
            keys = msgspec.json.decode(name).items()
            name = ",".join(f"{key}={failures.quoted(value)}" for key, value in keys)
        text += f".{name}" if kind == "f:" else f"[{name}]"
    return text

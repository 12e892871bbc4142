"""Server-side apply: merge by list-map keys, and one set of paths per manager.

A path is a tuple of fieldsV1 elements ("f:spec", 'k:{"name":"c"}', "v:..."). A manager that stops naming a field
removes it unless another manager has it too; a field of another manager with another value is a conflict (409)
unless forced.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from gangline.sandbox import failures
from gangline.sandbox.failures import Cause
from gangline.sandbox.kinds import Kind
from gangline.sandbox.shapes import Schema, below, item_key, items_of
from gangline.sandbox.store import Change, Object, Version, Writer

Path = tuple[str, ...]

_ENVELOPE = {("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"), ("f:metadata", "f:namespace")}
_UNOWNED = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")
_PARTS = {("f:metadata",)}
_ABSENT = object()


def applied(
    old: Object | None, config: Object, schema: Schema, entries: list[Object], *, writer: Writer, force: bool
) -> Object:
    """Return the object after an apply; `entries` say who owns what in the old one. Raises 409 with all conflicts."""
    live = old or {"apiVersion": config["apiVersion"], "kind": config["kind"], "metadata": {}}
    owned = _owned(entries)
    mine = (writer.manager, "Apply", writer.subresource)
    wanted = {path for path in leaves(config, schema) if _is_owned(path)}
    contested = {path for path in wanted if old is not None and _differs(live, config, path)}
    conflicts = {other: paths & contested for other, paths in owned.items() if other != mine and paths & contested}
    if conflicts and not force:
        raise _conflict(conflicts, entries)
    for other, paths in conflicts.items():
        owned[other] -= paths
    dropped = (
        owned.get(mine, set()) - wanted - {path for other, paths in owned.items() if other != mine for path in paths}
    )
    merged: Object = _merged(live, config, schema)
    for path in sorted(dropped, key=len, reverse=True):
        if not any(keeper[: len(path)] == path for keeper in wanted):
            merged = _without(merged, path)
    owned[mine] = wanted
    is_changed = old is None or {**merged, "metadata": {**merged["metadata"], "managedFields": 0}} != {
        **live,
        "metadata": {**live["metadata"], "managedFields": 0},
    }
    now = writer.time if is_changed else ""
    metadata = {**merged["metadata"], "managedFields": _entries(owned, entries, config["apiVersion"], mine, now)}
    return {**merged, "metadata": metadata}


def check(config: Object, kind: Kind, schema: Schema) -> None:
    """Check that a configuration says of which kind it is, and names fields of it alone; raises 400 and 500."""
    if not config.get("apiVersion") or not config.get("kind"):
        named = f"{config.get('apiVersion', '/')}, Kind={config.get('kind', '')}"
        raise failures.bad_request(f"invalid object type: {named}")
    metadata = config.get("metadata") or {}
    if metadata.get("managedFields"):
        raise failures.bad_request("metadata.managedFields must be nil")
    for path in _undeclared(config, schema):
        identity = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        what = f"({identity}; {kind.group}/{kind.version}, Kind={kind.kind})"
        raise failures.internal(f"failed to create typed patch object {what}: {path}: field not declared in schema")


def _undeclared(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Yield the fields of a configuration that its schema does not know."""
    match value:
        case dict() if "properties" in schema:
            for key, inner in value.items():
                is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
                if key in schema["properties"]:
                    yield from _undeclared(inner, below(schema, key), f"{path}.{key}")
                elif not is_open and (path or key not in ("apiVersion", "kind")):
                    yield f"{path}.{key}"
        case list():
            for item in value:
                yield from _undeclared(item, items_of(schema), path)


def entries_of(version: Version | None, schema: Schema, show: Callable[[Object], Object]) -> list[Object]:
    """Who owns what in a stored object.

    Only what was applied once keeps accounts in its metadata; for others they are made of the log, of which the oldest
    version counts as new.
    """
    chain: list[Version] = []
    while version is not None and version.change is not Change.DELETED:
        if version.object["metadata"].get("managedFields"):
            break
        chain.append(version)
        version = version.previous
    known = version is not None and version.change is not Change.DELETED
    last = show(version.object) if version is not None and known else {"metadata": {}}
    entries: list[Object] = last["metadata"].get("managedFields") or []
    for each in reversed(chain):
        now = show(each.object)
        if each.writer is not None:
            entries = after_update(last, now, entries, schema, each.writer)
        last = now
    return entries


def after_update(old: Object, new: Object, entries: list[Object], schema: Schema, writer: Writer) -> list[Object]:
    """Move what a plain write changed from its owners to the writer."""
    before, after = set(leaves(old, schema)), set(leaves(new, schema))
    changed = {path for path in after if _is_owned(path) and _differs(old, new, path)}
    if not changed and before == after:
        return entries
    changed |= {path[:length] for path in changed for length in range(1, len(path)) if _is_new(path[:length], old, new)}
    owned = {
        name: {path for path in paths - changed if _at(new, path) is not _ABSENT}
        for name, paths in _owned(entries).items()
    }
    mine = (writer.manager, "Update", writer.subresource)
    owned[mine] = owned.get(mine, set()) | changed
    return _entries(owned, entries, new["apiVersion"], mine, writer.time)


def _is_new(path: Path, old: Object, new: Object) -> bool:
    """Whether a path leads to a map that was not there before."""
    return path not in _PARTS and isinstance(_at(new, path), dict) and _at(old, path) is _ABSENT


def _is_owned(path: Path) -> bool:
    return path not in _ENVELOPE and path[-1][2:] not in _UNOWNED


def _owned(entries: list[Object]) -> dict[tuple[str, str, str], set[Path]]:
    return {_identity(entry): set(_paths(entry.get("fieldsV1") or {})) for entry in entries}


def leaves(value: Any, schema: Schema, path: Path = ()) -> Iterator[Path]:
    """Yield the paths that a manager of this value owns."""
    match value:
        case dict() if value and schema.get("x-kubernetes-map-type") != "atomic":
            for key, inner in value.items():
                yield from leaves(inner, below(schema, key), (*path, f"f:{key}"))
        case list() if schema.get("x-kubernetes-list-type") in ("map", "set"):
            for item in value:
                element = (*path, _element(item, schema))
                yield element
                if schema["x-kubernetes-list-type"] == "map":
                    yield from leaves(item, items_of(schema), element)
        case _:
            yield path


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
            return _merged_list(live, config, schema)
        case _:
            return config


def _merged_list(live: list[Any], config: list[Any], schema: Schema) -> list[Any]:
    places = {_element(item, schema): index for index, item in enumerate(live)}
    merged, inner = list(live), items_of(schema)
    for item in config:
        place = places.get(_element(item, schema))
        if place is None:
            merged.append(item)
        else:
            merged[place] = _merged(live[place], item, inner)
    return merged


def _differs(one: Any, other: Any, path: Path) -> bool:
    """Whether two objects have different values at a leaf; being there at all counts for list items."""
    left, right = _at(one, path), _at(other, path)
    if path[-1][:2] in ("k:", "v:"):
        return (left is _ABSENT) is not (right is _ABSENT)
    return bool(left != right)


def _at(value: Any, path: Path) -> Any:
    for element in path:
        value = _step(value, element)
    return value


def _step(value: Any, element: str) -> Any:
    kind, name = element[:2], element[2:]
    match kind, value:
        case "f:", dict():
            return value.get(name, _ABSENT)
        case "v:", list():
            item = msgspec.json.decode(name)
            return item if item in value else _ABSENT
        case "k:", list():
            return next((item for item in value if _has_keys(item, element)), _ABSENT)
        case _:
            return _ABSENT


def _has_keys(item: Any, element: str) -> bool:
    keys = msgspec.json.decode(element[2:])
    return isinstance(item, dict) and all(item.get(key, value) == value for key, value in keys.items())


def _without(value: Any, path: Path) -> Any:
    """Return a copy without what is at the path."""
    element, *rest = path
    match element[:2], value:
        case "f:", dict() if element[2:] in value:
            name = element[2:]
            if not rest:
                return {key: inner for key, inner in value.items() if key != name}
            inner = _without(value[name], tuple(rest))
            return {key: (inner if key == name else kept) for key, kept in value.items() if key != name or inner != {}}
        case "v:", list():
            return [item for item in value if item != msgspec.json.decode(element[2:])]
        case "k:", list():
            return [
                _without(item, tuple(rest)) if rest and _has_keys(item, element) else item
                for item in value
                if rest or not _has_keys(item, element)
            ]
        case _:
            return value


def _identity(entry: Object) -> tuple[str, str, str]:
    return entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", "")


def _paths(fields: Object, path: Path = ()) -> Iterator[Path]:
    for element, inner in fields.items():
        if element == ".":
            yield path
        elif inner:
            yield from _paths(inner, (*path, element))
        else:
            yield (*path, element)


def _fields(paths: Iterable[Path]) -> Object:
    """Return paths as nested fieldsV1."""
    fields: Object = {}
    for path in sorted(paths):
        place = fields
        for element in path:
            place = place.setdefault(element, {})
    for path in paths:
        place = fields
        for element in path:
            place = place[element]
        if place:
            place["."] = {}
    return fields


def _entries(
    owned: dict[tuple[str, str, str], set[Path]],
    before: list[Object],
    api_version: str,
    writer: tuple[str, str, str],
    now: str,
) -> list[Object]:
    known = {_identity(entry): entry for entry in before}
    entries = []
    for identity, paths in owned.items():
        if not paths:
            continue
        old = known.get(identity)
        fields = _fields(paths)
        if old is not None and (identity != writer or old.get("fieldsV1") == fields):
            entries.append({**old, "fieldsV1": fields})
            continue
        manager, operation, subresource = identity
        time = now or (old or {}).get("time")
        entries.append(
            {
                "manager": manager,
                "operation": operation,
                "apiVersion": api_version,
                **({"time": time} if time else {}),
                "fieldsType": "FieldsV1",
                "fieldsV1": fields,
                **({"subresource": subresource} if subresource else {}),
            }
        )
    return sorted(entries, key=lambda entry: (entry["operation"], entry.get("time", ""), entry["manager"]))


def _conflict(conflicts: dict[tuple[str, str, str], set[Path]], entries: list[Object]) -> failures.Failure:
    versions = {_identity(entry): entry["apiVersion"] for entry in entries}
    causes = [
        Cause("FieldManagerConflict", f"conflict with {_named(identity, versions[identity])}", _shown(path))
        for identity, paths in sorted(conflicts.items())
        for path in sorted(paths)
    ]
    noun = "conflict" if len(causes) == 1 else "conflicts"
    listed = ", ".join(f"{cause.message}: {cause.field}" for cause in causes)
    message = f"Apply failed with {len(causes)} {noun}: {listed}"
    return failures.Failure(409, message, causes=causes)


def _named(identity: tuple[str, str, str], api_version: str) -> str:
    manager, operation, subresource = identity
    through = f' with subresource "{subresource}"' if subresource else ""
    return f'"{manager}"{through}' + (f" using {api_version}" if operation == "Update" else "")


def _shown(path: Path) -> str:
    """Return a path as conflict messages have it."""
    text = ""
    for element in path:
        kind, name = element[:2], element[2:]
        text += f".{name}" if kind == "f:" else f"[{name}]"
        if kind == "k:":
            keys = ",".join(f"{key}={failures.quoted(value)}" for key, value in msgspec.json.decode(name).items())
            text = text.removesuffix(f"[{name}]") + f"[{keys}]"
    return text

"""Discovery documents: which groups, versions and resources are served, in the form that every client reads."""

from typing import Any

from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.registry import Registry

Document = dict[str, Any]

# Group, version and kind of what a subresource takes, where it is not the kind itself; and what can be done with it.
_SUBRESOURCE_KINDS = {
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
}
_SUBRESOURCE_VERBS = {"binding": ["create"], "eviction": ["create"], "finalize": ["update"]}
VERSION = {
    "major": "1",
    "minor": "37",
    "emulationMajor": "1",
    "emulationMinor": "37",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "36",
    "gitVersion": "v1.37.0+gangline",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


def core_versions() -> Document:
    """Return the answer of /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list(registry: Registry) -> Document:
    """Return the answer of /apis."""
    groups = [_group(name, versions) for name, versions in registry.group_versions().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(name: str, registry: Registry) -> Document | None:
    """Return the answer of /apis/<group>."""
    versions = registry.group_versions().get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if name and versions else None


def _group(name: str, versions: list[str]) -> Document:
    named = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": named, "preferredVersion": named[0]}


def resource_list(group_name: str, version: str, registry: Registry) -> Document | None:
    """Return the answer of /api/v1 and /apis/<group>/<version>."""
    kinds = sorted(registry.served_in(group_name, version), key=lambda kind: kind.plural)
    if not kinds:
        return None
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group_name else {}),
        "groupVersion": kinds[0].api_version,
        "resources": [entry for kind in kinds for entry in _entries(kind)],
    }


def _entries(kind: Kind) -> list[Document]:
    main = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": kind.verbs,
        **_other_names(kind),
    }
    return [main, *(_subentry(kind, name) for name in sorted(kind.subresources))]


def _subentry(kind: Kind, name: str) -> Document:
    group, version, shown = _SUBRESOURCE_KINDS.get(name, ("", "", kind.kind))
    return {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": shown,
        "verbs": _SUBRESOURCE_VERBS.get(name, ["get", "patch", "update"]),
        **({"group": group, "version": version} if group else {}),
    }


def _other_names(kind: Kind) -> Document:
    names = {"shortNames": kind.short_names, "categories": kind.categories}
    return {field: each for field, each in names.items() if each}

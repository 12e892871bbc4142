"""Discovery documents: which groups, versions and resources are served; legacy and aggregated forms."""

from typing import Any

from gangline.sandbox.kinds import Kind
from gangline.sandbox.registry import Registry

_SUBRESOURCE_KINDS = {
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


def core_versions() -> dict[str, Any]:
    """Return the answer of /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list(registry: Registry) -> dict[str, Any]:
    """Return the answer of /apis."""
    names = [name for name in registry.group_versions() if name]
    groups = [_group(name, registry) for name in names]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(name: str, registry: Registry) -> dict[str, Any] | None:
    """Return the answer of /apis/<group>."""
    if not name or name not in registry.group_versions():
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, registry)}


def _group(name: str, registry: Registry) -> dict[str, Any]:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version} for version in registry.group_versions()[name]
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(group_name: str, version: str, registry: Registry) -> dict[str, Any] | None:
    """Return the answer of /api/v1 and /apis/<group>/<version>."""
    kinds = [kind for kind in registry.kinds() if (kind.group, kind.version) == (group_name, version)]
    if not kinds:
        return None
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group_name else {}),
        "groupVersion": kinds[0].api_version,
        "resources": [entry for kind in kinds for entry in _entries(kind)],
    }


def _entries(kind: Kind) -> list[dict[str, Any]]:
    main: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        main["shortNames"] = list(kind.short_names)
    if kind.categories:
        main["categories"] = list(kind.categories)
    return [main, *(_subentry(kind, name) for name in sorted(kind.subresources))]


def _subentry(kind: Kind, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _SUBRESOURCE_VERBS.get(name, ["get", "patch", "update"]),
    }
    if name in _SUBRESOURCE_KINDS:
        entry["group"], entry["version"], entry["kind"] = _SUBRESOURCE_KINDS[name]
    elif name == "binding":
        entry["kind"] = "Binding"
    return entry


def aggregated(registry: Registry, *, core: bool) -> dict[str, Any]:
    """Return the answer of /api or /apis as one APIGroupDiscoveryList."""
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [_aggregated_version(name, version, registry) for version in versions],
        }
        for name, versions in registry.group_versions().items()
        if bool(name) is not core
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_version(group_name: str, version: str, registry: Registry) -> dict[str, Any]:
    kinds = [kind for kind in registry.kinds() if (kind.group, kind.version) == (group_name, version)]
    return {"version": version, "resources": [_aggregated_resource(kind) for kind in kinds], "freshness": "Current"}


def _aggregated_resource(kind: Kind) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    if kind.subresources:
        resource["subresources"] = [_aggregated_subresource(kind, name) for name in sorted(kind.subresources)]
    return resource


def _response_kind(kind: Kind, name: str) -> dict[str, str]:
    """Name a kind; a built-in one of the resource's own group has no group here."""
    group, version = (kind.group, kind.version) if kind.custom else ("", "")
    return {"group": group, "version": version, "kind": name}


def _subresponse_kind(kind: Kind, subresource: str) -> dict[str, str]:
    if subresource in _SUBRESOURCE_KINDS:
        return dict(zip(("group", "version", "kind"), _SUBRESOURCE_KINDS[subresource], strict=True))
    return _response_kind(kind, "Binding" if subresource == "binding" else kind.kind)


def _aggregated_subresource(kind: Kind, name: str) -> dict[str, Any]:
    return {
        "subresource": name,
        "responseKind": _subresponse_kind(kind, name),
        "verbs": _SUBRESOURCE_VERBS.get(name, ["get", "patch", "update"]),
    }

"""Makes `types.json` beside `gangline.sandbox.apiserver.schema.shapes`, from the package kubernetes-validate.

That package is needed for this alone, as is a directory of Go modules (`go env GOMODCACHE`, there `k8s.io`), for the
numbers of fields: `python -m tests.gangline.sandbox.types.generate DIRECTORY`. The overlay adds what neither says.
"""

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from gangline.sandbox.apiserver.kinds import BUILT_IN
from gangline.sandbox.apiserver.schema import shapes
from tests.gangline.sandbox.types.numbers import number
from tests.gangline.sandbox.types.overlay import CHECKED_BY_STRATEGIES, OVERLAY

RELEASE = "v1.37.0-local"
TARGET = Path(shapes.__file__).with_name("types.json")
_KEPT = (
    "format",
    "required",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
)
_BESIDES = ("DeleteOptions", "Eviction", "Scale", "Status")
_PRESERVED = {"x-kubernetes-preserve-unknown-fields": True}
_SPECIAL: dict[str, dict[str, Any]] = {
    "Quantity": {"type": "string", "format": "quantity"},
    "IntOrString": {"x-kubernetes-int-or-string": True},
    "RawExtension": {"type": "object", **_PRESERVED},
    "FieldsV1": {"type": "object", **_PRESERVED},
    "JSON": _PRESERVED,
    "JSONSchemaProps": {"type": "object", **_PRESERVED},
}


def generate() -> dict[str, Any]:
    """Return the definitions that the served kinds reach, and which kind has which."""
    package = metadata.distribution("kubernetes-validate")
    path = package.locate_file(f"kubernetes_validate/kubernetes-json-schema/{RELEASE}/_definitions.json")
    source = msgspec.json.decode(Path(str(path)).read_bytes())["$defs"]
    wanted = {(kind.api_version, kind.kind) for kind in BUILT_IN}
    roots = {
        f"{api_version} {kind}": name
        for name, definition in source.items()
        for api_version, kind in _identities(definition)
        if (api_version, kind) in wanted or (kind in _BESIDES and api_version in ("v1", "policy/v1", "autoscaling/v1"))
    }
    found: dict[str, Any] = {}
    waiting = sorted(set(roots.values()))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _reduced(source[name], name)
            waiting.extend(shapes.references(found[name]))
    return {"kinds": dict(sorted(roots.items())), "definitions": dict(sorted(found.items()))}


def _identities(definition: dict[str, Any]) -> list[tuple[str, str]]:
    properties = definition.get("properties", {})
    kinds = properties.get("kind", {}).get("enum") or []
    versions = properties.get("apiVersion", {}).get("enum") or []
    return [(version, kind) for version in versions for kind in kinds]


def _reduced(schema: dict[str, Any], name: str = "") -> dict[str, Any]:
    short = name.rpartition(".")[2]
    if short in _SPECIAL:
        return _SPECIAL[short]
    if "$ref" in schema:
        return {"$ref": schema["$ref"].rpartition("/")[2], **_kept(schema)}
    reduced = _kept(schema)
    types = schema.get("type")
    kind = next((word for word in types if word != "null"), None) if isinstance(types, list) else types
    if kind:
        reduced["type"] = kind
    if "properties" in schema:
        reduced["properties"] = {field: _reduced(inner) for field, inner in sorted(schema["properties"].items())}
    for nested in ("items", "additionalProperties"):
        if isinstance(schema.get(nested), dict):
            reduced[nested] = _reduced(schema[nested])
    return reduced


def _kept(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: schema[key] for key in _KEPT if key in schema}


def lay_over(made: dict[str, Any]) -> None:
    """Add defaults and closed sets, and take away what strategies demand in words of their own."""
    for name, fields in OVERLAY.items():
        for field, rules in fields.items():
            made["definitions"][name]["properties"][field].update(rules)
    for name in CHECKED_BY_STRATEGIES:
        made["definitions"][name].pop("required", None)
    for kind in BUILT_IN:
        if "status" in kind.subresources:
            name = made["kinds"][f"{kind.api_version} {kind.kind}"]
            made["definitions"][name]["properties"]["status"]["default"] = {}


def main() -> None:
    """Write the file."""
    made = generate()
    number(made["definitions"], Path(sys.argv[1]))
    lay_over(made)
    TARGET.write_bytes(msgspec.json.format(msgspec.json.encode(made, order="sorted"), indent=1) + b"\n")


if __name__ == "__main__":
    main()

"""The shapes of built-in kinds: `types.json` with the overlay of defaults and rules laid over it."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gangline.sandbox.kinds import BUILT_IN, Kind
from gangline.sandbox.types.overlay import OVERLAY

_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_CHECKED_BY_STRATEGIES = (
    *(f"io.k8s.api.apps.v1.{kind}Spec" for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
    "io.k8s.api.batch.v1.JobSpec",
    "io.k8s.api.core.v1.PodSpec",
    *(f"{_EXTENSIONS}.CustomResourceDefinition{part}" for part in ("Names", "Spec")),
    "io.k8s.api.core.v1.Taint",
)
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(Path(__file__).with_name("types.json").read_bytes())
    for name, fields in OVERLAY.items():
        properties = document["definitions"][name]["properties"]
        for field, rules in fields.items():
            properties[field] = {**properties[field], **rules}
    for name in _CHECKED_BY_STRATEGIES:
        document["definitions"][name].pop("required", None)
    for kind in BUILT_IN:
        if "status" in kind.subresources:
            name = document["kinds"][f"{kind.api_version} {kind.kind}"]
            document["definitions"][name]["properties"]["status"]["default"] = {}
    return document


def definitions() -> dict[str, dict[str, Any]]:
    """Schemas by definition name."""
    found: dict[str, dict[str, Any]] = _document()["definitions"]
    return found


def definition_name(kind: Kind) -> str | None:
    """Name of a built-in kind's definition; None for custom kinds."""
    return None if kind.custom else definition_of(kind.api_version, kind.kind)


def definition_of(api_version: str, kind: str) -> str | None:
    """Name of the definition of what calls itself so; None when it is no built-in kind."""
    name: str | None = _document()["kinds"].get(f"{api_version} {kind}")
    return name

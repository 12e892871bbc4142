"""Paths that are not resources: health, version, discovery, OpenAPI."""

from typing import Any

from gangline.sandbox import answers, discovery, failures, openapi
from gangline.sandbox.answers import Answer
from gangline.sandbox.registry import Registry

_PATHS = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def answer(path: str, accept: str, registry: Registry) -> Answer | None:
    """Answer a path that is no resource; None when it may be one. Raises 404."""
    parts = path.strip("/").split("/")
    match parts:
        case ["healthz" | "livez" | "readyz", *_]:
            return Answer(body=b"ok", content_type="text/plain; charset=utf-8")
        case ["api" | "apis" as root] if _wants_aggregated(accept):
            return answers.document(discovery.aggregated(registry, core=root == "api"), content_type=_AGGREGATED)
        case [""]:
            return answers.document({"paths": _PATHS})
        case ["version"]:
            return answers.document(discovery.VERSION)
        case ["openapi", *rest]:
            return _found(_openapi(rest, registry), failures.NoSuchPath())
        case ["api" | "apis", *rest] if len(rest) + (parts[0] == "api") <= 2:
            is_known = parts[0] == "api" or registry.is_served("".join(parts[1:2]))
            absence = failures.no_such_resource() if is_known else failures.NoSuchPath()
            return _found(_discovery(parts, registry), absence)
        case _:
            return None


def _openapi(rest: list[str], registry: Registry) -> dict[str, Any] | None:
    match rest:
        case ["v2"]:
            return openapi.version_2(registry)
        case ["v3"]:
            return openapi.index(registry)
        case ["v3", *parts]:
            return openapi.version_3(parts, registry)
        case _:
            return None


def _discovery(parts: list[str], registry: Registry) -> dict[str, Any] | None:
    match parts:
        case ["api"]:
            return discovery.core_versions()
        case ["apis"]:
            return discovery.group_list(registry)
        case ["apis", group]:
            return discovery.group(group, registry)
        case ["api", version]:
            return discovery.resource_list("", version, registry)
        case ["apis", group, version]:
            return discovery.resource_list(group, version, registry)
        case _:
            return None


def _found(body: dict[str, Any] | None, absence: failures.Failure) -> Answer:
    if body is None:
        raise absence
    return answers.document(body)


def _wants_aggregated(accept: str) -> bool:
    return any({"as=APIGroupDiscoveryList", "v=v2"} <= set(choice.strip().split(";")) for choice in accept.split(","))

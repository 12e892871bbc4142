"""Paths that are not resources: health, version, discovery, OpenAPI."""

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.http import answers, discovery, openapi
from gangline.sandbox.apiserver.http.answers import Answer
from gangline.sandbox.apiserver.registry import Registry

_PATHS = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]

_OPENAPI_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""kubectl wants it of whoever applies a List. An empty one describes no kind, and what is in the List is checked here."""


def answer(path: str, registry: Registry) -> Answer | None:
    """Answer a path that is no resource; None when it may be one. Raises 404."""
    parts = path.strip("/").split("/")
    body: discovery.Document | None
    match parts:
        case ["healthz" | "livez" | "readyz", *_]:
            return Answer(body=b"ok", content_type="text/plain; charset=utf-8")
        case [""]:
            body = {"paths": _PATHS}
        case ["version"]:
            body = discovery.VERSION
        case ["api"]:
            body = discovery.core_versions()
        case ["api", version]:
            body = discovery.resource_list("", version, registry)
        case ["apis"]:
            body = discovery.group_list(registry)
        case ["apis", group]:
            body = discovery.group(group, registry)
        case ["apis", group, version]:
            body = discovery.resource_list(group, version, registry)
        case ["openapi", "v2"]:
            return Answer(body=b"", content_type=_OPENAPI_V2)
        case ["openapi", *rest]:
            body = openapi.document(rest, registry)
        case _:
            return None
    if body is None:
        is_known = parts[0] == "api" or registry.is_served(parts[1])
        raise failures.no_such_resource() if is_known else failures.NoSuchPath
    return answers.document(body)

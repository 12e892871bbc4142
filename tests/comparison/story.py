"""What is asked: a story is a sequence of requests in a namespace of its own.

Paths are short: `pods/a/status` is looked up in PATHS; one that begins with a slash is taken as it is, with `{ns}` for
the story's namespace. A string `$create.metadata.uid`, in a path, a body or a query, stands for that field of the
answer to the request `create`.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from tests.support.rest import MEDIA_TYPES

JSON: Final = "application/json"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
PATHS: Final = {
    **{
        plural: f"/api/v1/namespaces/{{ns}}/{plural}"
        for plural in ("pods", "configmaps", "secrets", "services", "serviceaccounts")
    },
    **{
        plural: f"/apis/apps/v1/namespaces/{{ns}}/{plural}" for plural in ("replicasets", "deployments", "statefulsets")
    },
    "jobs": "/apis/batch/v1/namespaces/{ns}/jobs",
    "cronjobs": "/apis/batch/v1/namespaces/{ns}/cronjobs",
    "coreevents": "/api/v1/namespaces/{ns}/events",
    "events": "/apis/events.k8s.io/v1/namespaces/{ns}/events",
    "leases": "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
    "budgets": "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    "podgroups": "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{ns}/podgroups",
    "nodes": "/api/v1/nodes",
    "namespaces": "/api/v1/namespaces",
    "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "definitions": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "rulesreviews": "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "reviews": "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
}


class Request(Struct, frozen=True, kw_only=True):
    """One request; `until` repeats it until the answer has this status, for what a server does in its own time."""

    name: str
    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = {}
    content_type: str = JSON
    accept: str = JSON
    until: int | None = None

    @property
    def is_watch(self) -> bool:
        """Whether the answer is a stream of events."""
        return "watch" in self.query


class Story(Struct, frozen=True):
    """Requests that are sent one after the other; the name is the namespace too."""

    name: str
    requests: tuple[Request, ...]


def story(name: str, *requests: Request) -> Story:
    """Make a story; every request in it has a name of its own."""
    names = [request.name for request in requests]
    assert len(set(names)) == len(names), f"{name}: {sorted(each for each in names if names.count(each) > 1)}"
    return Story(name, requests)


def get(
    name: str, path: str, *, accept: str = JSON, until: int | None = None, after: str = "", **query: str
) -> Request:
    """Read an object or a list; `after` is the answer whose continue token asks for the next page."""
    page = {"continue": f"${after}.metadata.continue"} if after else {}
    return Request(name=name, method="GET", path=path, query={**query, **page}, accept=accept, until=until)


def post(name: str, path: str, body: Any, *, until: int | None = None, **query: str) -> Request:
    return Request(name=name, method="POST", path=path, body=body, query=query, until=until)


def put(name: str, path: str, body: Any, **query: str) -> Request:
    return Request(name=name, method="PUT", path=path, body=body, query=query)


def patch(name: str, path: str, body: Any, form: str = "merge", **query: str) -> Request:
    return Request(name=name, method="PATCH", path=path, body=body, query=query, content_type=MEDIA_TYPES[form])


def delete(name: str, path: str, body: Any = None, **query: str) -> Request:
    return Request(name=name, method="DELETE", path=path, body=body, query=query)


def watch(name: str, path: str, since: str = "", *, accept: str = JSON, **query: str) -> Request:
    """What a watch shows in a second: everything after the answer `since`, or what is there."""
    version = {"resourceVersion": f"${since}.metadata.resourceVersion"} if since else {}
    shown = {"watch": "true", "timeoutSeconds": "1", **version, **query}
    return Request(name=name, method="GET", path=path, query=shown, accept=accept)

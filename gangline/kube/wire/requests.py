"""Builders of requests: every method, path, query, content type and time limit is decided here."""

from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from gangline.contract.meta import Key
from gangline.kube.wire.resources import PODS, Resource

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

PAGE_LIMIT: Final = 500
READ_TIMEOUT_S: Final = 15.0
LIST_TIMEOUT_S: Final = 60.0
WRITE_TIMEOUT_S: Final = 30.0
WATCH_GRACE_S: Final = 30.0
"""How long past its agreed length a watch may stay open before our side ends it."""


class Request(Struct, frozen=True, kw_only=True):
    """One call of the API server. `verb` and `resource` are metric labels; `resource` is `plural[/subresource]`.

    `timeout_s` bounds the whole call; `silence_s`, where given, the time between two pieces of the answer.
    """

    verb: str
    resource: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    content_type: str | None = None
    body: bytes | None = None
    timeout_s: float
    silence_s: float | None = None

    @property
    def target(self) -> str:
        """Path and query as they stand in the request line."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


def get(resource: Resource, key: Key) -> Request:
    """Read one object."""
    return Request(
        verb="get",
        resource=resource.plural,
        method="GET",
        path=resource.path(key.namespace, key.name),
        timeout_s=READ_TIMEOUT_S,
    )


def list_page(
    resource: Resource,
    *,
    namespace: str | None = None,
    label_selector: str | None = None,
    field_selector: str | None = None,
    limit: int = PAGE_LIMIT,
    continue_token: str = "",
) -> Request:
    """Read one page of a collection; `limit` 0 asks for all of it at once.

    No resourceVersion is sent, so the answer is the newest there is and never "too large resource version".
    """
    query = _query(
        labelSelector=label_selector,
        fieldSelector=field_selector,
        limit=str(limit) if limit else None,
        **{"continue": continue_token or None},
    )
    return Request(
        verb="list",
        resource=resource.plural,
        method="GET",
        path=resource.path(namespace),
        query=query,
        timeout_s=LIST_TIMEOUT_S,
    )


def watch(
    resource: Resource,
    *,
    resource_version: str,
    seconds: int,
    silence_s: float,
    namespace: str | None = None,
    label_selector: str | None = None,
    field_selector: str | None = None,
) -> Request:
    """Follow a collection from a resourceVersion, with bookmarks, for `seconds`."""
    query = _query(
        watch="true",
        allowWatchBookmarks="true",
        resourceVersion=resource_version,
        timeoutSeconds=str(seconds),
        labelSelector=label_selector,
        fieldSelector=field_selector,
    )
    return Request(
        verb="watch",
        resource=resource.plural,
        method="GET",
        path=resource.path(namespace),
        query=query,
        timeout_s=seconds + WATCH_GRACE_S,
        silence_s=silence_s,
    )


def create(resource: Resource, namespace: str, body: object) -> Request:
    """Create an object from a dict or a Struct."""
    return Request(
        verb="create",
        resource=resource.plural,
        method="POST",
        path=resource.path(namespace),
        content_type=JSON,
        body=msgspec.json.encode(body),
        timeout_s=WRITE_TIMEOUT_S,
    )


def patch(
    resource: Resource,
    key: Key,
    body: object,
    *,
    subresource: str | None = None,
    content_type: str = MERGE_PATCH,
    field_manager: str | None = None,
) -> Request:
    """Change an object by any of the four kinds of patch; `field_manager` is required by APPLY_PATCH."""
    return Request(
        verb="patch",
        resource=_label(resource, subresource),
        method="PATCH",
        path=resource.path(key.namespace, key.name, subresource),
        query=_query(fieldManager=field_manager, force="true" if content_type == APPLY_PATCH else None),
        content_type=content_type,
        body=msgspec.json.encode(body),
        timeout_s=WRITE_TIMEOUT_S,
    )


def delete(
    resource: Resource,
    key: Key,
    *,
    uid: str | None = None,
    grace_period_s: int | None = None,
    propagation: str | None = None,
) -> Request:
    """Delete an object, and only the one with this UID where given; `propagation` as in DeleteOptions."""
    return Request(
        verb="delete",
        resource=resource.plural,
        method="DELETE",
        path=resource.path(key.namespace, key.name),
        content_type=JSON,
        body=msgspec.json.encode(_delete_options(uid, grace_period_s, propagation)),
        timeout_s=WRITE_TIMEOUT_S,
    )


def bind(key: Key, uid: str, node: str, *, within_s: float = WRITE_TIMEOUT_S) -> Request:
    """Bind the pod with this UID to a node; another pod under the same name is refused with 409.

    The server is told `within_s` too, so that what it could not do by then is not done later.
    """
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": key.namespace, "name": key.name, "uid": uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return Request(
        verb="bind",
        resource="pods/binding",
        method="POST",
        path=PODS.path(key.namespace, key.name, "binding"),
        query=_query(timeout=f"{within_s:.3f}s"),
        content_type=JSON,
        body=msgspec.json.encode(body),
        timeout_s=within_s,
    )


def evict(key: Key, *, uid: str | None = None) -> Request:
    """Ask for the eviction of a pod; 429 says that a disruption budget forbids it now."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": key.namespace, "name": key.name},
        "deleteOptions": _delete_options(uid, None, None),
    }
    return Request(
        verb="evict",
        resource="pods/eviction",
        method="POST",
        path=PODS.path(key.namespace, key.name, "eviction"),
        content_type=JSON,
        body=msgspec.json.encode(body),
        timeout_s=WRITE_TIMEOUT_S,
    )


def _delete_options(uid: str | None, grace_period_s: int | None, propagation: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if uid is not None:
        options["preconditions"] = {"uid": uid}
    if grace_period_s is not None:
        options["gracePeriodSeconds"] = grace_period_s
    if propagation is not None:
        options["propagationPolicy"] = propagation
    return options


def _label(resource: Resource, subresource: str | None) -> str:
    return f"{resource.plural}/{subresource}" if subresource else resource.plural


def _query(**parameters: str | None) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in parameters.items() if value is not None)

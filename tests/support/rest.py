"""A bare HTTP client for tests of API servers: paths and JSON in, status and JSON out. It knows no client code of ours."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp

DEADLINE_S = 60.0
PODS = "/api/v1/namespaces/default/pods"
POD_GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MEDIA_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Reply:
    """An answer: its status, headers and JSON body."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def version(self) -> str:
        """resourceVersion of the object or list in the body."""
        version: str = self.body["metadata"]["resourceVersion"]
        return version

    @property
    def names(self) -> list[str]:
        """Names of a list's items."""
        return [item["metadata"]["name"] for item in self.body["items"]]

    @property
    def verdict(self) -> tuple[int, str, str]:
        """Status, reason and message of a refusal."""
        return self.status, self.body.get("reason", ""), self.body.get("message", "")


class WatchReply:
    """An open watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self) -> dict[str, Any]:
        """The next event; the stream's end is an error."""
        line = await asyncio.wait_for(self._response.content.readline(), DEADLINE_S)
        assert line.endswith(b"\n"), f"the watch ended with {line!r}"
        event: dict[str, Any] = json.loads(line)
        return event

    async def take(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    async def until_cut(self) -> bytes:
        """What comes before the connection breaks; a clean end is an error."""
        received = b""
        try:
            async with asyncio.timeout(DEADLINE_S):
                async for chunk in self._response.content.iter_any():
                    received += chunk
        except aiohttp.ClientError:
            return received
        raise AssertionError(f"the watch ended cleanly after {received!r}")

    async def rest(self) -> list[dict[str, Any]]:
        """Everything until the server ends the watch."""
        body = await asyncio.wait_for(self._response.content.read(), DEADLINE_S)
        return [json.loads(line) for line in body.splitlines()]


class Rest:
    """A client of one API server; an async context manager."""

    def __init__(self, url: str) -> None:
        self._session = aiohttp.ClientSession(url, timeout=aiohttp.ClientTimeout(total=DEADLINE_S))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def get(self, path: str, accept: str = "application/json", **query: str) -> Reply:
        return await self._send("GET", path, query, headers={"Accept": accept})

    async def post(self, path: str, body: Any, **query: str) -> Reply:
        return await self._send("POST", path, query, body, "application/json")

    async def put(self, path: str, body: Any, **query: str) -> Reply:
        return await self._send("PUT", path, query, body, "application/json")

    async def patch(self, path: str, body: Any, form: str = "merge", **query: str) -> Reply:
        return await self._send("PATCH", path, query, body, MEDIA_TYPES[form])

    async def delete(self, path: str, body: Any = None, **query: str) -> Reply:
        return await self._send("DELETE", path, query, body, "application/json")

    @asynccontextmanager
    async def watch(self, path: str, accept: str = "application/json", **query: str) -> AsyncIterator[WatchReply]:
        params = {"watch": "true", **query}
        async with self._session.get(path, params=params, headers={"Accept": accept}) as response:
            assert response.status == 200, await response.text()
            yield WatchReply(response)

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Any = None,
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
        data = None if body is None else io.BytesIO(encoded)
        sent = {**(headers or {}), **({"Content-Type": content_type} if content_type else {})}
        async with self._session.request(method, path, params=query, data=data, headers=sent) as response:
            text = await response.text()
            is_json = response.content_type == "application/json"
            return Reply(response.status, response.headers, json.loads(text) if is_json else text)


def new_event(namespace: str = "default", **more: Any) -> dict[str, Any]:
    """An Event about a pod, in the newer form."""
    return {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "a", "namespace": namespace},
        "note": "hello",
        "reason": "Scheduled",
        "type": "Normal",
        "action": "Binding",
        "reportingController": "gangline",
        "reportingInstance": "gangline-0",
        "eventTime": "2026-11-30T10:00:00.000000Z",
        **more,
    }


def pod(name: str = "a", *, labels: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A small pod."""
    metadata = {"name": name, **({"labels": dict(labels)} if labels else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": "image:1"}], **spec},
    }


def binding(name: str, node: str, *, uid: str = "") -> dict[str, Any]:
    """A binding of a pod."""
    metadata = {"name": name, **({"uid": uid} if uid else {})}
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}

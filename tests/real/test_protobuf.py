"""What a real API server writes as protobuf is read as what it writes as JSON."""

import io
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from gangline.sandbox.apiserver.http.protobuf import decode
from tests.comparison.stories import STORIES
from tests.comparison.story import PATHS
from tests.support.controlplane import ControlPlane
from tests.support.real_cluster import ADMIN

NAMESPACE = "default"
PROTOBUF = "vnd.kubernetes.protobuf"
KINDS = ("pods", "replicasets", "deployments", "statefulsets", "jobs", "budgets", "leases", "events", "configmaps")


async def test_protobuf_is_read_as_json_is(built: Path) -> None:
    compared = 0
    async with ControlPlane(built, controllers=False) as plane:
        context = ssl.create_default_context(cafile=plane.directory / "ca.crt")
        headers = {"Authorization": f"Bearer token-of-{ADMIN}"}
        connector = aiohttp.TCPConnector(ssl=context)
        async with aiohttp.ClientSession(plane.url, headers=headers, connector=connector) as session:
            async for path in created(session):
                as_json, as_protobuf = await read(session, path, "json"), await read(session, path, PROTOBUF)
                assert bare(decode(as_protobuf)) == bare(json.loads(as_json))
                compared += 1

    assert compared > 50


async def created(session: aiohttp.ClientSession) -> AsyncIterator[str]:
    """Create what the comparison creates, as far as the server lets us; the paths of the objects."""
    for resource in KINDS:
        collection = PATHS[resource].replace("{ns}", NAMESPACE)
        requests = [each for story in STORIES for each in story.requests if isinstance(each.body, dict)]
        for each in requests:
            if (each.method, each.path) != ("POST", resource):
                continue
            data = io.BytesIO(json.dumps(each.body).replace("{ns}", NAMESPACE).encode())
            async with session.post(collection, data=data, headers={"Content-Type": "application/json"}) as reply:
                body = await reply.json()
            if reply.status == 201 and not each.query:
                yield f"{collection}/{body['metadata']['name']}"


async def read(session: aiohttp.ClientSession, path: str, form: str) -> bytes:
    async with session.get(path, headers={"Accept": f"application/{form}"}) as reply:
        return await reply.read()


def bare(value: Any) -> Any:
    """A value without what Go's JSON shows although it is empty."""
    match value:
        case dict():
            shown = {key: bare(inner) for key, inner in value.items()}
            return {key: inner for key, inner in shown.items() if inner not in (None, "", 0, [], {})}
        case list():
            return [bare(inner) for inner in value]
        case _:
            return value

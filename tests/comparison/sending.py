"""Sends stories to a server, all at once, and brings the answers home in their normal form."""

import asyncio
import io
import json
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import aiohttp
from msgspec import Struct

from gangline.contract.crd import crd
from tests.comparison.normal import Normal
from tests.comparison.story import PATHS, Request, Story, get, post, story

DEADLINE_S: Final = 90.0
POLL_S: Final = 0.05
HEADERS: Final = ("Content-Type", "Retry-After", "Warning")
USER_AGENT: Final = "comparison/1"
_REFERENCE: Final = re.compile(r"\$([a-z0-9-]+)\.([\w.]+)")


class Answer(Struct, frozen=True):
    """What came back: status, the headers that matter, and the body (a list of events for a watch)."""

    status: int
    headers: dict[str, str]
    body: Any


class Server(Struct, frozen=True, kw_only=True):
    """Where a server is, and how it is spoken to."""

    url: str
    token: str = ""
    authority: str | None = None


async def answers(server: Server, stories: Sequence[Story]) -> dict[str, dict[str, Any]]:
    """Send the stories and return their answers in normal form, by story and request."""
    tls = ssl.create_default_context(cafile=server.authority) if server.authority else None
    connector = aiohttp.TCPConnector(limit=0) if tls is None else aiohttp.TCPConnector(limit=0, ssl=tls)
    headers = {"User-Agent": USER_AGENT, **({"Authorization": f"Bearer {server.token}"} if server.token else {})}
    async with aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session:
        await _tell(session, PROLOGUE)
        told = await asyncio.gather(*(_tell(session, each) for each in stories))
    return {each.name: answers for each, answers in zip(stories, told, strict=True)}


async def _tell(session: aiohttp.ClientSession, told: Story) -> dict[str, Any]:
    raw: dict[str, Answer] = {}
    for _, together in groupby((*_setting(told), *told.requests), key=_turn()):
        filled = [_filled(request, told.name, raw) for request in together]
        sent = await asyncio.gather(*(_sent(session, request) for request in filled))
        raw |= zip((request.name for request in filled), sent, strict=True)
    normal = Normal()
    return {request.name: normal.form(request.name, raw[request.name]) for request in told.requests}


def _turn() -> Callable[[Request], int]:
    """Number the requests, but watches that follow each other alike: they wait for their end together."""
    turn, was_watch = 0, False

    def number(request: Request) -> int:
        nonlocal turn, was_watch
        turn += not (was_watch and request.is_watch)
        was_watch = request.is_watch
        return turn

    return number


def _setting(told: Story) -> tuple[Request, ...]:
    """A namespace, and the account that pods run as; without a token, which would be a volume in each of them."""
    account = {"metadata": {"name": "default"}, "automountServiceAccountToken": False}
    return (
        post("-namespace", "namespaces", {"metadata": {"name": told.name}}),
        post("-account", f"/api/v1/namespaces/{told.name}/serviceaccounts", account),
    )


def _filled(request: Request, namespace: str, known: Mapping[str, Answer]) -> Request:
    """Put in the namespace and what earlier answers said."""
    resource, *rest = request.path.split("/")
    path = request.path if not resource else "/".join((PATHS[resource], *rest))

    def value(text: str) -> str:
        return _REFERENCE.sub(lambda found: _field(known[found[1]].body, found[2]), text)

    return Request(
        name=request.name,
        method=request.method,
        path=value(path.replace("{ns}", namespace)),
        body=_mapped(request.body, lambda text: value(text.replace("{ns}", namespace))),
        query=_mapped(dict(request.query), value),
        content_type=request.content_type,
        accept=request.accept,
        until=request.until,
    )


def _mapped(value: Any, change: Any) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _mapped(inner, change) for key, inner in value.items()}
        case list() | tuple():
            return [_mapped(inner, change) for inner in value]
        case _:
            return value


def _field(body: Any, path: str) -> str:
    for step in path.split("."):
        body = body[int(step)] if step.isdigit() else body[step]
    return str(body)


async def _sent(session: aiohttp.ClientSession, request: Request) -> Answer:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            answer = await _once(session, request)
            if request.until in (None, answer.status):
                return answer
            await asyncio.sleep(POLL_S)


async def _once(session: aiohttp.ClientSession, request: Request) -> Answer:
    headers = {"Accept": request.accept}
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    body = request.body if isinstance(request.body, (str, bytes)) else json.dumps(request.body)
    encoded = body if isinstance(body, bytes) else body.encode()
    data = None if request.body is None else io.BytesIO(encoded)
    async with session.request(
        request.method, request.path, params=request.query, data=data, headers=headers
    ) as response:
        content = await response.read()
        kept = {name: ", ".join(response.headers.getall(name)) for name in HEADERS if name in response.headers}
        return Answer(response.status, kept, _read(content, response.content_type, is_watch=request.is_watch))


def _read(content: bytes, content_type: str, *, is_watch: bool) -> Any:
    if content_type != "application/json":
        return content.decode(errors="replace")
    if is_watch and content.startswith(b'{"type":'):
        return _steady([json.loads(line) for line in content.splitlines()])
    return json.loads(content) if content else None


def _steady(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what depends on the moment: how far bookmarks say that the stream is, and those that say only that."""
    kept = []
    for event in events:
        if event["type"] == "BOOKMARK":
            del event["object"]["metadata"]["resourceVersion"]
            if not event["object"]["metadata"].get("annotations"):
                continue
        kept.append(event)
    return kept


PROLOGUE: Final = story(
    "prologue",
    post("definition", "definitions", crd()),
    get("served", "podgroups", until=200),
)

"""Records what happens in a real cluster as the sandbox's version log has it, for the judge."""

import asyncio
from typing import Any, Final

import msgspec

from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.wire import requests
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.resources import Resource

WATCH_S: Final = 3600
RETRY_S: Final = 0.1
CATCH_UP_S: Final = 90.0

Line = dict[str, Any]
"""One change of the cluster: revision, type, group, resource, key, object."""


class Recording:
    """Changes in the order in which they were seen, numbered from 1.

    Between kinds that order may differ from the server's. After a watch has broken off, what happened meanwhile is
    read off a new list, so that of several changes of one object only the last is there.
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._known: dict[Resource, dict[str, Any]] = {}
        self._seen: dict[Resource, int] = {}
        self._added = asyncio.Event()

    async def follow(self, client: Client, resource: Resource) -> None:
        """Record a kind until cancelled, through restarts of the server too."""
        known = self._known.setdefault(resource, {})
        while True:
            try:
                version = await self._list(client, resource, known)
                await self._watch(client, resource, version, known)
            except ApiError:
                await asyncio.sleep(RETRY_S)

    async def catch_up(self, client: Client) -> None:
        """Wait until everything is here that was committed when this was called, as a list shows it."""
        async with asyncio.timeout(CATCH_UP_S):
            for resource in self._known:
                version, there = await _page(client, resource)
                while self._lacks(resource, there, version):
                    self._added.clear()
                    await self._added.wait()

    def _lacks(self, resource: Resource, there: dict[str, Any], version: int) -> bool:
        """A kind's changes come in the order of their versions; one that is deleted has its place in it too."""
        known, seen = self._known[resource], self._seen.get(resource, 0)
        is_behind = any(_version(one) > seen for one in there.values())
        return is_behind or any(key not in there and _version(one) <= version for key, one in known.items())

    async def _list(self, client: Client, resource: Resource, known: dict[str, Any]) -> str:
        version, there = await _page(client, resource)
        for key in known.keys() - there.keys():
            self._add(resource, "DELETED", known.pop(key))
        for key, one in there.items():
            before = known.get(key)
            if before != one:
                known[key] = one
                self._add(resource, "ADDED" if before is None else "MODIFIED", one)
        self._seen[resource] = version
        self._added.set()
        return str(version)

    async def _watch(self, client: Client, resource: Resource, version: str, known: dict[str, Any]) -> None:
        request = requests.watch(resource, resource_version=version, seconds=WATCH_S, silence_s=WATCH_S)
        async with client.stream(request) as lines:
            async for text in lines:
                line = msgspec.json.decode(text)
                match line["type"]:
                    case "BOOKMARK":
                        continue
                    case "ERROR":
                        return
                    case "DELETED":
                        known.pop(_key(line["object"]), None)
                    case _:
                        known[_key(line["object"])] = line["object"]
                self._seen[resource] = _version(line["object"])
                self._add(resource, line["type"], line["object"])

    def _add(self, resource: Resource, type_: str, one: dict[str, Any]) -> None:
        self.lines.append(
            {
                "revision": len(self.lines) + 1,
                "type": type_,
                "group": resource.group,
                "resource": resource.plural,
                "key": _key(one),
                "object": one,
            }
        )
        self._added.set()


async def _page(client: Client, resource: Resource) -> tuple[int, dict[str, Any]]:
    """Version and content of a whole list, by key."""
    page = msgspec.json.decode(await client.send(requests.list_page(resource, limit=0)))
    return int(page["metadata"]["resourceVersion"]), {_key(one): one for one in page["items"]}


def _version(one: dict[str, Any]) -> int:
    return int(one["metadata"]["resourceVersion"])


def _key(one: dict[str, Any]) -> str:
    metadata = one["metadata"]
    return str(Key(metadata.get("namespace", ""), metadata["name"]))

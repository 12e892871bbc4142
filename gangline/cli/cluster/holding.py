"""Who of several pods is the scheduler: the one that holds its Lease. Anybody may label a pod."""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.client import Client
from gangline.kube.wire.errors import ApiError, NotFound
from gangline.kube.wire.lease import Lease
from gangline.kube.wire.resources import LEASES

LEASE: Final = "gangline-scheduler"
"""The name of the Lease that a scheduler takes in its own namespace."""
ANSWER_S: Final = 5.0
_NAMESPACES_AT_MOST: Final = 10
_HOST_LENGTH: Final = 63
"""A host has the name of its pod, cut here. Who holds the Lease is called by its host and a random part."""


class Holding(Struct, frozen=True):
    """Which pods may be the scheduler; `doubt` says why it may be none of them, and is empty where one is for sure."""

    pods: tuple[Pod, ...]
    doubt: str = ""


class _Found(Struct, frozen=True):
    """What a Lease says: the host that holds it, or why there is none."""

    host: str = ""
    problem: str = ""


async def holding(client: Client, pods: Sequence[Pod]) -> Holding:
    """Find the pod that holds the Lease of its namespace; of several, or of none, say so. Never raises ApiError."""
    namespaces = list(dict.fromkeys(pod.metadata.namespace for pod in pods))[:_NAMESPACES_AT_MOST]
    async with asyncio.TaskGroup() as group:
        tasks = {each: group.create_task(_read(client, Key(each, LEASE)), name="read lease") for each in namespaces}
    found = {namespace: task.result() for namespace, task in tasks.items()}
    holders = tuple(pod for pod in pods if _holds(pod, found.get(pod.metadata.namespace, _Found())))
    if len(holders) == 1:
        return Holding(holders)
    if holders:
        return Holding(holders, f"each of {', '.join(str(pod.metadata.key) for pod in holders)} holds a Lease {LEASE}")
    return Holding(tuple(pods), "; ".join(one.problem or f"{one.host} is no pod that runs" for one in found.values()))


def _holds(pod: Pod, found: _Found) -> bool:
    return found.host == pod.metadata.name[:_HOST_LENGTH]


async def _read(client: Client, key: Key) -> _Found:
    try:
        async with asyncio.timeout(ANSWER_S):
            lease = await client.get(LEASES, key, Lease)
    except NotFound:
        return _Found(problem=f"there is no Lease {key}")
    except TimeoutError:
        return _Found(problem=f"Lease {key} cannot be read: no answer in time")
    except ApiError as error:
        return _Found(problem=f"Lease {key} cannot be read: {error}")
    holder = (lease.spec.holder_identity if lease.spec else None) or ""
    return _Found(host=holder.rpartition("-")[0]) if holder else _Found(problem=f"nobody holds Lease {key}")

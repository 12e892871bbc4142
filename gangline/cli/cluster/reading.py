"""Reading a survey, and what a scheduler that runs says, from a cluster."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import aiohttp
import msgspec
from msgspec import Struct

from gangline.cli.cluster.session import is_missing_kind, no_crd
from gangline.cli.cluster.survey import RecordedEvent, Survey
from gangline.cli.cluster.views import Views, views_of
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PriorityClass
from gangline.kube.client import Client
from gangline.kube.wire.changes import HasMetadata
from gangline.kube.wire.errors import ApiError, Forbidden
from gangline.kube.wire.requests import Request
from gangline.kube.wire.resources import EVENTS, NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, Resource

T = TypeVar("T", bound=HasMetadata)

SCHEDULER_LABEL: Final = ("app.kubernetes.io/name", "gangline-scheduler")
ANSWER_S: Final = 5.0
_PATH: Final = "/debug/gangs"
_ALL: Final = (("limit", "1000000"),)
"""The order of the gangs is only known from all of them."""


class _Answer(Struct):
    gangs: list[dict[str, Any]]


class Live(Struct, frozen=True):
    """What the scheduler that runs says: its views, or None and in words why there are none."""

    views: Views | None
    problem: str = ""


async def read_survey(client: Client, *, events_in: str | None = None) -> Survey:
    """List everything that decides who starts; `events_in` names the namespace whose Events matter.

    What cannot be listed is noted in `unread`; only pods are required: without them ApiError is raised.
    """
    unread: list[str] = []
    async with asyncio.TaskGroup() as group:
        pods = group.create_task(_pods(client, events_in, unread), name="list pods")
        nodes = group.create_task(_listed(client, NODES, Node, unread), name="list nodes")
        groups = group.create_task(_listed(client, POD_GROUPS, PodGroup, unread), name="list podgroups")
        classes = group.create_task(
            _listed(client, PRIORITY_CLASSES, PriorityClass, unread), name="list priority classes"
        )
        events = group.create_task(_events(client, events_in, unread), name="list events")
    found = pods.result()
    if isinstance(found, ApiError):
        raise found
    return Survey(
        at=datetime.now(UTC),
        pods=found,
        nodes=nodes.result(),
        groups=groups.result(),
        priority_classes=classes.result(),
        events=events.result(),
        unread=tuple(unread),
    )


async def read_gangs(client: Client, namespace: str | None) -> Survey:
    """List pods and PodGroups alone, of one namespace or of all. Raises ApiError where pods cannot be listed."""
    unread: list[str] = []
    pods = await _page(client, PODS, Pod, namespace, unread)
    groups = await _listed(client, POD_GROUPS, PodGroup, unread, namespace)
    return Survey(at=datetime.now(UTC), pods=pods, groups=groups, unread=tuple(unread))


async def _pods(client: Client, namespace: str | None, unread: list[str]) -> tuple[Pod, ...] | ApiError:
    """List all pods; where that is forbidden those of one namespace, and say so."""
    try:
        return await _page(client, PODS, Pod, None, unread)
    except Forbidden as error:
        if namespace is None:
            return error
        unread.append(f"pods of other namespaces ({error.message}): what they take from nodes is not counted")
    except ApiError as error:
        return error
    try:
        return await _page(client, PODS, Pod, namespace, unread)
    except ApiError as error:
        return error


async def _listed(
    client: Client, resource: Resource, type_: type[T], unread: list[str], namespace: str | None = None
) -> tuple[T, ...]:
    try:
        return await _page(client, resource, type_, namespace, unread)
    except ApiError as error:
        unread.append(no_crd() if resource is POD_GROUPS and is_missing_kind(error) else f"{resource.plural}: {error}")
        return ()


async def _page(
    client: Client, resource: Resource, type_: type[T], namespace: str | None, unread: list[str]
) -> tuple[T, ...]:
    listing = await client.list_readable(resource, type_, namespace=namespace)
    unread += [f"{resource.kind} {one.key}: {one.message}" for one in listing.unreadable]
    return tuple(listing.items)


async def _events(client: Client, namespace: str | None, unread: list[str]) -> tuple[RecordedEvent, ...]:
    if namespace is None:
        return ()
    return await _listed(client, EVENTS, RecordedEvent, unread, namespace)


async def ask_scheduler(client: Client, pods: Sequence[Pod], address: str | None) -> Live:
    """Ask a scheduler that runs: at an address if one is given, else through the API server's proxy to its pod."""
    if address:
        return await _ask_address(address)
    running = [pod for pod in pods if _is_scheduler(pod) and pod.status.phase == "Running"]
    if not running:
        return Live(None, "no running pod of the scheduler was found in the cluster (give --scheduler-address)")
    problems = []
    for pod in running:
        live = await _ask_pod(client, pod)
        if live.views:
            return live
        problems.append(live.problem or f"pod {pod.metadata.key} knows of no gang: it may be a standby")
    return Live(None, "; ".join(problems))


def _is_scheduler(pod: Pod) -> bool:
    label, value = SCHEDULER_LABEL
    return (pod.metadata.labels or {}).get(label) == value


async def _ask_address(address: str) -> Live:
    url = (address if "://" in address else f"http://{address}").rstrip("/") + _PATH
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_S)) as session,
            session.get(url, params=_ALL) as response,
        ):
            if response.status != 200:
                return Live(None, f"{url} answers {response.status}")
            return _decoded(await response.read(), url)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return Live(None, f"{url} does not answer: {str(error) or type(error).__name__}")


async def _ask_pod(client: Client, pod: Pod) -> Live:
    key = pod.metadata.key
    request = Request(
        verb="get",
        resource="pods/proxy",
        method="GET",
        path=PODS.path(key.namespace, key.name, "proxy") + _PATH,
        query=_ALL,
        timeout_s=ANSWER_S,
    )
    try:
        return _decoded(await client.send(request), f"pod {key}")
    except ApiError as error:
        return Live(None, f"pod {key} cannot be asked through the API server: {error}")


def _decoded(body: bytes, source: str) -> Live:
    try:
        return Live(views_of(msgspec.json.decode(body, type=_Answer).gangs))
    except (msgspec.DecodeError, TypeError) as error:
        return Live(None, f"{source} does not answer as a scheduler of this version does: {error}")

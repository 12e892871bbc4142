"""The scheduler that runs: found in the cluster or at an address, and asked what it says of its gangs and of itself."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final

import aiohttp
import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from gangline.cli.cluster.holding import ANSWER_S, holding
from gangline.cli.cluster.survey import Profile
from gangline.cli.cluster.views import Views, views_of
from gangline.contract.pod import Pod
from gangline.kube.client import Client
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.requests import Request
from gangline.kube.wire.resources import PODS

SCHEDULER_LABEL: Final = ("app.kubernetes.io/name", "gangline-scheduler")
_ASKED_AT_MOST: Final = 10
"""Anybody may label pods so; at worst each takes `ANSWER_S`, all of them at once."""
_PATH: Final = "/debug/gangs"
_ALL: Final = (("limit", "1000000"),)
"""The order of the gangs is only known from all of them."""


class _Itself(Struct, rename="camel"):
    scheduler_names: Annotated[tuple[str, ...], Meta(min_length=1)]
    budget_gangs: bool = False
    problems: tuple[str, ...] = ()


class _Answer(Struct):
    gangs: list[dict[str, Any]]
    scheduler: _Itself | None = None


class Live(Struct, frozen=True, kw_only=True):
    """What the scheduler that runs says: its views, or None and in `silence` why there are none.

    `problems` are its own words for why it is not ready. `profile` is None where it does not tell. `doubt` says why
    another program may have answered.
    """

    views: Views | None = None
    silence: str = ""
    profile: Profile | None = None
    problems: tuple[str, ...] = ()
    doubt: str = ""


async def ask_scheduler(client: Client, pods: Sequence[Pod], address: str | None) -> Live:
    """Ask a scheduler that runs: at an address if one is given, else through the API server's proxy to its pod.

    The pod that holds the scheduler's Lease is the one. Where that cannot be told, of several that answer the one that
    is ready knows best: the others stand by.
    """
    if address:
        return await _ask_address(address)
    installed = [pod for pod in pods if _is_scheduler(pod)]
    running = [pod for pod in installed if pod.status.phase == "Running"]
    if not running:
        return Live(silence=_none_runs(installed))
    may_be = await holding(client, running)
    async with asyncio.TaskGroup() as group:
        asked = may_be.pods[:_ASKED_AT_MOST]
        tasks = [group.create_task(_ask_pod(client, pod), name="ask scheduler") for pod in asked]
    answers = [task.result() for task in tasks]
    ready = [live for live in answers if live.views is not None and not live.problems]
    answering = [live for live in answers if live.views is not None]
    for live in ready or answering:
        return replace(live, doubt=may_be.doubt)
    return Live(silence="; ".join(live.silence for live in answers))


def _is_scheduler(pod: Pod) -> bool:
    label, value = SCHEDULER_LABEL
    return (pod.metadata.labels or {}).get(label) == value


def _none_runs(installed: Sequence[Pod]) -> str:
    if not installed:
        return "no pod of the scheduler is in the cluster (if it runs elsewhere, give --scheduler-address)"
    named = ", ".join(f"{pod.metadata.key} is {pod.status.phase}" for pod in installed[:2])
    return f"no pod of the scheduler runs ({named})"


async def _ask_address(address: str) -> Live:
    url = (address if "://" in address else f"http://{address}").rstrip("/") + _PATH
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_S)) as session,
            session.get(url, params=_ALL) as response,
        ):
            if response.status != 200:
                return Live(silence=f"{url} answers {response.status}")
            return _decoded(await response.read(), url)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return Live(silence=f"{url} does not answer: {str(error) or type(error).__name__}")


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
        return Live(silence=f"pod {key} cannot be asked through the API server: {error}")


def _decoded(body: bytes, source: str) -> Live:
    try:
        answer = msgspec.json.decode(body, type=_Answer)
        views = views_of(answer.gangs)
    except (msgspec.DecodeError, TypeError) as error:
        return Live(silence=f"{source} does not answer as a scheduler of this version does: {error}")
    itself = answer.scheduler
    if itself is None:
        return Live(views=views) if views else Live(silence=f"{source} knows of no gang: it may be a standby")
    return Live(views=views, profile=Profile(itself.scheduler_names, itself.budget_gangs), problems=itself.problems)

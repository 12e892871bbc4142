"""Reading a survey from a cluster."""

import asyncio
from datetime import UTC, datetime
from typing import TypeVar

from msgspec.structs import replace

from gangline.cli.cluster.kinds import OWNERS
from gangline.cli.cluster.owners import Owner, OwnerObject, owner_of
from gangline.cli.cluster.session import is_missing_kind, no_crd
from gangline.cli.cluster.survey import RecordedEvent, Survey
from gangline.cli.cluster.told import speak_of_budgets
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget, PriorityClass
from gangline.kube.client import Client
from gangline.kube.wire.changes import HasMetadata
from gangline.kube.wire.errors import ApiError, Forbidden
from gangline.kube.wire.resources import (
    EVENTS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)

T = TypeVar("T", bound=HasMetadata)


async def read_survey(client: Client, *, about: str | None = None) -> Survey:
    """List everything that decides who starts; of the namespace `about` Events and the owners of pods too.

    What cannot be listed is noted in `unread`; only pods are required: without them ApiError is raised.
    """
    unread: list[str] = []
    async with asyncio.TaskGroup() as group:
        pods = group.create_task(_pods(client, about, unread), name="list pods")
        nodes = group.create_task(_listed(client, NODES, Node, unread), name="list nodes")
        groups = group.create_task(_listed(client, POD_GROUPS, PodGroup, unread), name="list podgroups")
        classes = group.create_task(
            _listed(client, PRIORITY_CLASSES, PriorityClass, unread), name="list priority classes"
        )
        events = group.create_task(_events(client, about, unread), name="list events")
        owners = group.create_task(_owners(client, about, unread), name="list owners")
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
        owners=owners.result(),
        unread=tuple(unread),
    )


async def read_gangs(client: Client, namespace: str | None, *, budget_gangs: bool = False) -> Survey:
    """List pods and what makes gangs of them, of one namespace or of all. Raises ApiError where pods cannot be listed."""
    unread: list[str] = []
    pods = await _page(client, PODS, Pod, namespace, unread)
    groups = await _listed(client, POD_GROUPS, PodGroup, unread, namespace)
    survey = Survey(at=datetime.now(UTC), pods=pods, groups=groups, unread=tuple(unread))
    return await with_budgets(client, survey, namespace) if budget_gangs or speak_of_budgets(pods) else survey


async def with_budgets(client: Client, survey: Survey, namespace: str | None = None) -> Survey:
    """Add PodDisruptionBudgets to a survey, for a scheduler that forms gangs of them."""
    unread = list(survey.unread)
    budgets = await _listed(client, POD_DISRUPTION_BUDGETS, PodDisruptionBudget, unread, namespace)
    return replace(survey, budgets=budgets, unread=tuple(unread))


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


async def _owners(client: Client, namespace: str | None, unread: list[str]) -> tuple[Owner, ...]:
    if namespace is None:
        return ()
    async with asyncio.TaskGroup() as group:
        lists = [
            (kind, group.create_task(_listed(client, kind, OwnerObject, unread, namespace), name=f"list {kind.plural}"))
            for kind in OWNERS
        ]
    read = (owner_of(kind, found) for kind, listed in lists for found in listed.result())
    return tuple(owner for owner in read if owner is not None)

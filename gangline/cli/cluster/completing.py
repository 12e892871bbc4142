"""Completion of names that a cluster knows: quick, and silent where the cluster cannot be asked."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from gangline.cli.cluster.access import Access

if TYPE_CHECKING:
    from gangline.kube.wire.resources import Resource

WITHIN_S: Final = 2.0
_KINDS: Final = ("pod", "podgroup", "job", "deployment", "replicaset", "statefulset")


def complete_target(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete `KIND/NAME`: kinds and PodGroups first, names of the kind after its slash."""
    kind, slash, start = incomplete.partition("/")
    if slash:
        return _items(f"{kind}/{name}" for name in _names(ctx, kind) if name.startswith(start))
    given: tuple[str, ...] = ctx.params.get("target") or ()
    if given:
        return _starting(_names(ctx, given[0]), incomplete)
    return _starting((*(f"{each}/" for each in _KINDS), *_names(ctx, "podgroup")), incomplete)


def complete_gang(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a PodGroup."""
    return _starting(_names(ctx, "podgroup"), incomplete)


def complete_namespace(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a namespace."""
    return _starting(_names(ctx, "namespace"), incomplete)


def complete_context(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a context of the kubeconfig."""
    from gangline.cli.cluster.session import Failure, context_names  # noqa: PLC0415 - heavy

    try:
        return _starting(context_names(_access(ctx)), incomplete)
    except Failure:
        return []


def _starting(names: Sequence[str], incomplete: str) -> list[CompletionItem]:
    return _items(name for name in names if name.startswith(incomplete))


def _items(names: Iterator[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(names)]


def _access(ctx: click.Context) -> Access:
    return Access(ctx.params.get("kubeconfig"), ctx.params.get("context"))


def _names(ctx: click.Context, kind: str) -> Sequence[str]:
    """List the names of a kind, the first page of them; nothing where the cluster does not answer soon."""
    import asyncio  # noqa: PLC0415 - heavy, as all of these are

    from gangline.cli.cluster.kinds import resource_of  # noqa: PLC0415
    from gangline.cli.cluster.session import Failure, namespace_of, talk  # noqa: PLC0415
    from gangline.kube.client import Client  # noqa: PLC0415

    resource = resource_of(kind)
    if resource is None:
        return ()

    async def conversation(client: Client) -> Sequence[str]:
        namespace = namespace_of(access, ctx.params.get("namespace")) if resource.namespaced else None
        async with asyncio.timeout(WITHIN_S):
            return await _first_page(client, resource, namespace)

    access = _access(ctx)
    try:
        return talk(access, conversation)
    except (Failure, TimeoutError, OSError, ValueError):
        return ()


async def _first_page(client: Any, resource: "Resource", namespace: str | None) -> Sequence[str]:
    from gangline.contract.meta import ApiObject  # noqa: PLC0415 - heavy
    from gangline.kube.wire import requests  # noqa: PLC0415
    from gangline.kube.wire.decode import ObjectDecoder  # noqa: PLC0415

    body = await client.send(requests.list_page(resource, namespace=namespace))
    page = ObjectDecoder(ApiObject, resource).page(body)
    return [item.metadata.name for item in page.items if isinstance(item, ApiObject)]

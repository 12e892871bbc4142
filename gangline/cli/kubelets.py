"""`gangline kubelets`: simulated nodes for any API server, the sandbox's or a real one."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from gangline.base.fatal import StartError
from gangline.cli.cluster.access import Access
from gangline.cli.simulated import node_groups, node_options
from gangline.service import lifecycle, logging
from gangline.service.lifecycle import Loops

if TYPE_CHECKING:
    from gangline.kube.client import Client
    from gangline.sandbox.kubelets.nodes import NodeGroup

GRACE_S: Final = 5.0


@click.command()
@click.option("--kubeconfig", metavar="PATH", help="Which API server; else the usual default.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig.")
@node_options
@click.option("--every-node", is_flag=True, help="Run the pods of all nodes, not only of simulated ones.")
@click.option(
    "--log-level", default="info", show_default=True, type=click.Choice(["debug", "info", "warning", "error"])
)
def kubelets(
    *,
    kubeconfig: str | None,
    context: str | None,
    nodes: int,
    cpu: str,
    memory: str,
    cluster: Path | None,
    every_node: bool,
    log_level: str,
) -> None:
    """Bring up simulated nodes and run what is bound to them, until Ctrl-C.

    \b
    Pods say by annotation how they behave:
      sandbox.gangline.dev/start-delay-seconds   how long the containers take to start   (0)
      sandbox.gangline.dev/ready-delay-seconds   how long after that the pod is Ready    (0)
      sandbox.gangline.dev/run-seconds           how long they run                       (for ever)
      sandbox.gangline.dev/exit-code             what they exit with                     (0)

    Containers that exit start again as the pod's restartPolicy says. A node with the annotation
    sandbox.gangline.dev/stopped has a kubelet that does nothing until the annotation is taken away.
    Nodes that exist already are left as they are. A node that is deleted is not brought up again.
    """  # noqa: D301 - click's mark for preformatted text
    groups = node_groups(nodes, cpu, memory, cluster)
    logging.configure("console", log_level)
    access = Access(kubeconfig, context or None)
    main = partial(_simulate, access=access, groups=groups, every_node=every_node)
    raise SystemExit(lifecycle.run(main, grace_s=GRACE_S))


async def _simulate(stop: asyncio.Event, *, access: Access, groups: "Sequence[NodeGroup]", every_node: bool) -> None:
    """Bring up the nodes of some groups, and run their pods until a signal. Raises StartError."""
    from gangline.kube.client import connect  # noqa: PLC0415 - heavy
    from gangline.sandbox.kubelets.run import run_kubelets  # noqa: PLC0415

    async with connect(access.kubeconfig, access.context, user_agent="gangline-kubelets") as client:
        created = await _registered(client, groups)
        total = sum(len(group.node_names) for group in groups)
        click.echo(f"{total} nodes, {created} of them new; Ctrl-C ends their kubelets, the Node objects stay")
        async with Loops(stop) as loops:
            loops.start("kubelets", run_kubelets(client, every_node=every_node))
            await stop.wait()


async def _registered(client: "Client", groups: "Sequence[NodeGroup]") -> int:
    from gangline.kube.wire.errors import ApiError  # noqa: PLC0415 - heavy
    from gangline.sandbox.kubelets.run import register_nodes  # noqa: PLC0415

    try:
        return await register_nodes(client, groups)
    except* ApiError as refused:  # all of them at once, and one says enough
        raise StartError(f"cannot register nodes: {refused.exceptions[0]}") from None

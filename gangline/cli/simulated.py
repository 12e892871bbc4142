"""Options that describe simulated nodes, the same for every command that brings some up."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from gangline.sandbox.kubelets.nodes import NodeGroup

F = TypeVar("F", bound=Callable[..., Any])

_SAID_BY_THE_FILE: Final = ("nodes", "cpu", "memory")


def node_options(command: F) -> F:
    """Add --nodes, --cpu, --memory and --cluster; the command gets `nodes`, `cpu`, `memory` and `cluster`."""
    count = click.option(
        "--nodes", default=3, show_default=True, metavar="N", type=click.IntRange(min=0), help="How many equal nodes."
    )
    cpu = click.option("--cpu", default="8", show_default=True, metavar="QUANTITY", help="CPU of each node.")
    memory = click.option(
        "--memory", default="32Gi", show_default=True, metavar="QUANTITY", help="Memory of each node."
    )
    cluster = click.option(
        "--cluster",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Nodes from a cluster file instead: groups with labels, taints and allocatable.",
    )
    return count(cpu(memory(cluster(command))))


def node_groups(nodes: int, cpu: str, memory: str, cluster: Path | None) -> "tuple[NodeGroup, ...]":
    """Return the nodes that these options describe. Raises UsageError for what no node can be."""
    from gangline.sandbox.kubelets.nodes import ClusterFileError, checked, read_cluster_file, uniform  # noqa: PLC0415

    if cluster is not None:
        _refuse_both()
    try:
        return read_cluster_file(cluster) if cluster else checked(uniform(nodes, cpu=cpu, memory=memory))
    except ClusterFileError as error:
        raise click.UsageError(str(error)) from error


def _refuse_both() -> None:
    """Refuse options that say what the cluster file says."""
    context = click.get_current_context()
    given = [
        f"--{name}" for name in _SAID_BY_THE_FILE if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)} and --cluster exclude each other: the file describes the nodes")

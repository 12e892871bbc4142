"""Options that every command which talks with a cluster has, spelled as kubectl spells them."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec import Struct

from gangline.cli.cluster.completing import complete_context, complete_namespace
from gangline.contract.names import DEFAULT_SCHEDULER_NAME

F = TypeVar("F", bound=Callable[..., Any])


class Scope(Struct, frozen=True):
    """Which namespaces: one by name, the context's own (None), or `every` one."""

    namespace: str | None
    every: bool


def access_options(command: F) -> F:
    """Add --kubeconfig and --context; the command gets `kubeconfig` and `context`."""
    kubeconfig = click.option(
        "--kubeconfig", metavar="PATH", help="The kubeconfig file; else $KUBECONFIG, else ~/.kube/config."
    )
    context = click.option(
        "--context",
        metavar="NAME",
        shell_complete=complete_context,
        help="Context of the kubeconfig; else its current one.",
    )
    return kubeconfig(context(command))


def namespace_option(command: F) -> F:
    """Add -n."""
    return click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        shell_complete=complete_namespace,
        help="Namespace; else that of the context, else default.",
    )(command)


def scope_options(command: F) -> F:
    """Add -n and -A."""
    every = click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
    return namespace_option(every(command))


def output_option(*formats: str) -> Callable[[F], F]:
    """Add -o with these formats besides the default table or text."""
    return click.option("-o", "--output", "form", type=click.Choice(formats), help="Another form of output.")


def scheduler_name_option(command: F) -> F:
    """Add --scheduler-name; the command gets `scheduler_names`, empty where none was given."""
    return click.option(
        "--scheduler-name",
        "scheduler_names",
        multiple=True,
        envvar="GANGLINE_SCHEDULER_NAME",
        metavar="NAME",
        help=f"What pods call our scheduler, {DEFAULT_SCHEDULER_NAME} unless given; give it again for more names.",
    )(command)


def profile_options(command: F) -> F:
    """Add --scheduler-name and --budget-gangs; the command gets `scheduler_names` and `budget_gangs`."""
    budgets = click.option(
        "--budget-gangs",
        is_flag=True,
        envvar="GANGLINE_BUDGET_GANGS",
        help="PodDisruptionBudgets form gangs, as the scheduler's option of this name lets them.",
    )
    return scheduler_name_option(budgets(command))


def examples(*lines: str) -> str:
    """Write an epilog of examples, as `--help` shows it at the end; a comment begins with #, an empty line parts two."""
    text = "\n".join(f"  {line}".rstrip() for line in lines)
    return "\b\nExamples:\n" + text.replace("\n\n", "\n\n\b\n")

"""Options that every command which talks with a cluster has, spelled as kubectl spells them."""

import functools
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import click
from msgspec import Struct

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.completing import complete_context, complete_namespace
from gangline.contract.names import DEFAULT_SCHEDULER_NAME

F = TypeVar("F", bound=Callable[..., Any])

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_DURATION: Final = re.compile(f"(?:{_PART.pattern})+", re.ASCII)


class Scope(Struct, frozen=True):
    """Which namespaces: one by name, the context's own (None), or `every` one."""

    namespace: str | None
    every: bool


def duration_s(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    """Read a time as kubectl takes it: seconds, or numbers with units such as `1m30s`. None for none, and for 0."""
    if text is None:
        return None
    if text.isascii() and text.isdecimal():
        return float(text) or None
    if not _DURATION.fullmatch(text):
        raise click.BadParameter(f"{text!r} is no time: write 10s, 2m or 1h")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text)) or None


def access_options(command: F) -> F:
    """Add --kubeconfig, --context and --request-timeout; the command gets them as one `access`."""

    @functools.wraps(command)
    def with_access(
        *, kubeconfig: str | None, context: str | None, request_timeout: float | None, **options: Any
    ) -> Any:
        return command(access=Access(kubeconfig, context, request_timeout), **options)

    file = click.option(
        "--kubeconfig", metavar="PATH", help="The kubeconfig file; else $KUBECONFIG, else ~/.kube/config."
    )
    name = click.option(
        "--context",
        metavar="NAME",
        shell_complete=complete_context,
        help="Context of the kubeconfig; else its current one.",
    )
    time = click.option(
        "--request-timeout",
        metavar="DURATION",
        callback=duration_s,
        help="How long one request may take, such as 5s; else, and with 0, up to a minute.",
    )
    return cast("F", file(name(time(with_access))))


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

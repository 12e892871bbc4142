"""`gangline check`: what would go wrong with gangs, before they are applied."""

from typing import TYPE_CHECKING, Final

import click

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.options import access_options, examples, output_option, scheduler_name_option
from gangline.contract.names import DEFAULT_SCHEDULER_NAME

if TYPE_CHECKING:
    from gangline.cli.manifest.checking import Outcome

FOUND: Final = 1
UNREADABLE: Final = 2
_COLOURS: Final = {"error": "red", "warning": "yellow"}


@click.command(
    epilog=examples(
        "# Before applying",
        "gangline check job.yaml podgroup.yaml",
        "",
        "# What kustomize renders",
        "kubectl kustomize overlays/prod | gangline check -",
        "",
        "# In CI, warnings count too",
        "gangline check --strict manifests/",
        "",
        "# Also: would a member fit any node of this cluster?",
        "gangline check --against-cluster --context prod job.yaml",
    )
)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-n", "--namespace", metavar="NAME", default="default", show_default=True, help="Namespace of objects without one."
)
@click.option("--strict", is_flag=True, help="Let warnings fail the check as errors do.")
@click.option("--against-cluster", is_flag=True, help="Look at a cluster's PodGroups and nodes too.")
@output_option("json", "yaml")
@access_options
@scheduler_name_option
def check(
    *,
    paths: tuple[str, ...],
    namespace: str,
    strict: bool,
    against_cluster: bool,
    form: str | None,
    access: Access,
    scheduler_names: tuple[str, ...],
) -> None:
    """Read manifests and say what would go wrong with their gangs before they are applied.

    FILE is a YAML or JSON file, a directory, or - for stdin; several documents and Lists are fine. Files are
    read as they are: what a kustomization or a chart makes must be rendered first. Kinds that make no pods are passed
    over. No cluster is asked unless --against-cluster (or --kubeconfig, --context) is given; then
    PodGroups that exist there count, and members are tried on its nodes as if those were empty.

    Exits with 0 if nothing is wrong, with 1 if there are errors (with --strict: or warnings), with 2 if a file cannot
    be read; the others are checked all the same.
    """
    from gangline.cli.manifest.checking import check_files  # noqa: PLC0415 - heavy

    cluster = access if against_cluster or access.kubeconfig or access.context else None
    names = scheduler_names or (DEFAULT_SCHEDULER_NAME,)
    outcome = check_files(paths, namespace=namespace, scheduler_names=names, cluster=cluster)
    _print(outcome, form)
    if outcome.unreadable:
        raise SystemExit(UNREADABLE)
    if outcome.errors or (strict and outcome.warnings):
        raise SystemExit(FOUND)


def _print(outcome: "Outcome", form: str | None) -> None:
    from gangline.cli.terminal import bold, counted, machine_readable, printable, show  # noqa: PLC0415

    for problem in outcome.unreadable:
        click.echo(f"error: {printable(problem)}", err=True)
    if form is not None:
        click.echo(machine_readable(outcome, form))
        return
    for note in outcome.notes:
        click.echo(f"note: {printable(note)}", err=True)
    for finding in outcome.findings:
        before, severity, after = str(finding).partition(f" {finding.severity}:")
        show([printable(before) + bold(severity, _COLOURS[finding.severity]) + printable(after)])
    summary = f"{counted(outcome.errors, 'error')}, {counted(outcome.warnings, 'warning')}"
    click.echo(f"{summary} in {counted(outcome.objects, 'object')}", err=True)

"""`gangline why`: why a pod or a gang waits, for the person at 3 a.m."""

import click

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.completing import complete_target
from gangline.cli.cluster.options import access_options, examples, namespace_option, output_option, profile_options


@click.command(
    epilog=examples(
        "# Why does this PodGroup not start?",
        "gangline why podgroup/train",
        "",
        "# The same from one of its pods, or from its owner",
        "gangline why pod/train-0 -n team",
        "gangline why job/train",
        "",
        "# Every node, not only the nearest",
        "gangline why train -o wide",
        "",
        "# For programs",
        "gangline why pg/train -o json",
        "",
        "# Ask a scheduler that does not run as a pod",
        "gangline why train --scheduler-address 127.0.0.1:8080",
    )
)
@click.argument("target", nargs=-1, required=True, metavar="[KIND/]NAME", shell_complete=complete_target)
@namespace_option
@access_options
@profile_options
@click.option(
    "--scheduler-address",
    envvar="GANGLINE_SCHEDULER_ADDRESS",
    metavar="HOST:PORT",
    help="Where the scheduler serves /debug; else its pod is asked through the API server.",
)
@output_option("json", "yaml", "wide", "name")
def why(
    *,
    target: tuple[str, ...],
    namespace: str | None,
    access: Access,
    scheduler_names: tuple[str, ...],
    budget_gangs: bool,
    scheduler_address: str | None,
    form: str | None,
) -> None:
    """Say why a pod or a gang waits, what is missing, and what to do next.

    KIND is pod, podgroup (the default), job, deployment, replicaset or statefulset.

    The answer has what the gang needs and what it lacks, in numbers; the nodes grouped by why they fail, the nearest
    fit first; who is tried before it; what happened last; and the next step. The scheduler that runs is asked if it
    can be reached. Otherwise a scheduler of the command's own judges what the API server says, and the answer ends
    with what could not be known. Nothing is ever written.

    Exits with 0 if there is an answer, with 1 if the object or the cluster cannot be found.
    """
    from gangline.cli.cluster.survey import Profile  # noqa: PLC0415 - heavy
    from gangline.cli.explain.asking import ask  # noqa: PLC0415
    from gangline.cli.explain.page import page  # noqa: PLC0415
    from gangline.cli.terminal import machine_readable, show  # noqa: PLC0415

    given = Profile(scheduler_names or Profile().scheduler_names, budget_gangs)
    answer, at = ask(
        access,
        target,
        namespace=namespace,
        given=given if scheduler_names or budget_gangs else None,
        scheduler_address=scheduler_address,
    )
    match form:
        case "json" | "yaml":
            click.echo(machine_readable(answer, form))
        case "name":
            click.echo(answer.name)
        case _:
            show(page(answer, at, wide=form == "wide"))

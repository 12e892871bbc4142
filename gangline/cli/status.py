"""`gangline status`: every gang in one line."""

from typing import TYPE_CHECKING

import click

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.completing import complete_gang
from gangline.cli.cluster.options import Scope, access_options, examples, output_option, profile_options, scope_options

if TYPE_CHECKING:
    from gangline.cli.gangs import GangRow


@click.command(
    epilog=examples(
        "# The gangs of this namespace",
        "gangline status",
        "",
        "# Of all namespaces, with priority, owner and the whole message",
        "gangline status -A -o wide",
        "",
        "# One gang, and every change of it until Ctrl-C",
        "gangline status train -w",
        "",
        "# The same for programs: one object for each change",
        "gangline status train -w -o json | jq .phase",
        "",
        "# Names of gangs that wait, for scripts",
        "gangline status -A -o json | jq -r '.items[] | select(.waiting > 0) | .name'",
    )
)
@click.argument("name", required=False, shell_complete=complete_gang)
@scope_options
@click.option("-w", "--watch", is_flag=True, help="Go on, and print each gang again when it changes or goes.")
@output_option("json", "yaml", "wide", "name")
@access_options
@click.option("-l", "--selector", metavar="LABELS", help="Only gangs with these labels, such as team=ml,tier!=free.")
@profile_options
def status(  # noqa: PLR0913 - one for each option
    *,
    name: str | None,
    namespace: str | None,
    all_namespaces: bool,
    watch: bool,
    form: str | None,
    access: Access,
    selector: str | None,
    scheduler_names: tuple[str, ...],
    budget_gangs: bool,
) -> None:
    """Show gangs: phase, members by what they do, how long they wait, and why in a few words.

    Gangs without a PodGroup (by the annotation group-min-member) are shown under their owner, as kind/NAME. Figures
    are of the current run and come from the pods themselves. `gangline why NAME` has the whole story.

    Exits with 1 if a gang that was named does not exist.
    """
    from gangline.cli.cluster.labels import label_test  # noqa: PLC0415 - heavy
    from gangline.cli.cluster.survey import Profile  # noqa: PLC0415
    from gangline.cli.listing import Wanted, follow, list_gangs  # noqa: PLC0415

    scope = Scope(namespace, all_namespaces)
    profile = Profile(scheduler_names or Profile().scheduler_names, budget_gangs)
    wanted = Wanted(scope, name, label_test(selector), profile)
    if watch:
        follow(access, wanted, form)
        return
    found, where = list_gangs(access, wanted)
    _print(found, form, where, all_namespaces=all_namespaces)


def _print(found: "list[GangRow]", form: str | None, where: str, *, all_namespaces: bool) -> None:
    from gangline.cli.listing import table  # noqa: PLC0415
    from gangline.cli.terminal import machine_readable, show  # noqa: PLC0415

    match form:
        case "json" | "yaml":
            click.echo(machine_readable({"items": found}, form))
        case "name":
            for row in found:
                click.echo(row.resource_name)
        case _ if not found:
            click.echo(f"No gangs found in {where}.", err=True)
        case _:
            show(table(found, wide=form == "wide", namespaces=all_namespaces))

"""`gangline nodes`: the room on each node, and the largest gang of a shape that would fit now."""

import click

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.options import access_options, examples, output_option


@click.command(
    epilog=examples(
        "# What is free on each node",
        "gangline nodes",
        "",
        "# How many members of 4 CPUs and 8Gi would fit at once, and where",
        "gangline nodes --cpu 4 --memory 8Gi",
        "",
        "# With GPUs, on some nodes only, for members that tolerate a taint",
        "gangline nodes --cpu 8 --request nvidia.com/gpu=1 -l pool=gpu --toleration nvidia.com/gpu",
        "",
        "# Just the number",
        "gangline nodes --cpu 4 -o json | jq .largestGang",
    )
)
@click.option("--cpu", metavar="QUANTITY", help="CPU of one member.")
@click.option("--memory", metavar="QUANTITY", help="Memory of one member.")
@click.option("--request", "requests", multiple=True, metavar="NAME=QUANTITY", help="Any other resource of one member.")
@click.option(
    "-l",
    "--selector",
    multiple=True,
    metavar="LABELS",
    help="Only nodes with these labels, such as pool=gpu,tier!=spot.",
)
@click.option("--toleration", "tolerations", multiple=True, metavar="KEY", help="A taint that members tolerate.")
@output_option("json", "yaml", "wide", "name")
@access_options
def nodes(
    *,
    cpu: str | None,
    memory: str | None,
    requests: tuple[str, ...],
    selector: tuple[str, ...],
    tolerations: tuple[str, ...],
    form: str | None,
    access: Access,
) -> None:
    """Show what is free on each node, and how large a gang of a given shape would fit now.

    Room is what pods that are bound leave over, by the scheduler's own rules. Gangs that wait, rooms held for
    repairs and binds under way are not counted, so it is what a gang could have if it were next.

    In JSON and YAML amounts are whole numbers: thousandths of a CPU, bytes of memory, devices.
    """
    from gangline.cli.roominess import ShapeError, report, shape_of, table  # noqa: PLC0415 - heavy
    from gangline.cli.terminal import machine_readable, show  # noqa: PLC0415

    try:
        shape = shape_of(cpu, memory, requests, selector, tolerations)
    except ShapeError as error:
        raise click.UsageError(str(error)) from error
    found = report(access, shape)
    match form:
        case "json" | "yaml":
            click.echo(machine_readable(found, form))
        case "name":
            for row in found.nodes:
                click.echo(f"node/{row.name}")
        case _ if not found.nodes:
            click.echo("No nodes found.", err=True)
        case _:
            show(table(found, wide=form == "wide"))
            if found.summary:
                click.echo(f"\n{found.summary}")

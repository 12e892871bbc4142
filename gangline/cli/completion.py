"""`gangline completion`: the script by which a shell completes commands, options and values."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from gangline.cli.cluster.options import examples

_SHELLS: Final = ("bash", "zsh", "fish")
_PROGRAMS: Final = ("gangline", "kubectl-gang")


@click.command(
    epilog=examples(
        "# In this shell",
        "source <(gangline completion bash)",
        "",
        "# In every new one",
        "gangline completion zsh > ~/.zfunc/_gangline",
        "gangline completion fish > ~/.config/fish/completions/gangline.fish",
    )
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.option(
    "--program",
    type=click.Choice(_PROGRAMS),
    default=_PROGRAMS[0],
    show_default=True,
    help="By which name the program is called.",
)
def completion(*, shell: str, program: str) -> None:
    """Write the completion script of a shell to stdout."""
    from gangline.cli.main import main  # noqa: PLC0415 - this module is one of its commands

    script = get_completion_class(shell)
    assert script is not None
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    click.echo(script(main, {}, program, variable).source())

"""`gangline completion`: the script by which a shell completes commands, options and values."""

import sys
from typing import Final

import click
from click.shell_completion import ShellComplete, get_completion_class

from gangline.cli import streams
from gangline.cli.cluster.options import examples

_SHELLS: Final = ("bash", "zsh", "fish")
_PROGRAMS: Final = ("gangline", "kubectl-gang")
_NO_SPACE: Final = 2
_NO_FILES: Final = 4


@click.command(
    epilog=examples(
        "# In this shell",
        "source <(gangline completion bash)",
        "",
        "# In every new one",
        "gangline completion zsh > ~/.zfunc/_gangline",
        "gangline completion fish > ~/.config/fish/completions/gangline.fish",
        "",
        "# `kubectl gang` is completed by kubectl's own completion, which finds kubectl_complete-gang in the PATH",
        "source <(kubectl completion bash)",
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


def complete_for_kubectl() -> None:
    """Complete `kubectl gang ...`, as kubectl asks its plugins: candidates by line, then a directive of its shells."""
    from gangline.cli.main import COMPLETE_PLUGIN, PLUGIN_CALLED, main  # noqa: PLC0415

    streams.prepare()
    *before, incomplete = sys.argv[1:] or [""]
    found = ShellComplete(main, {}, PLUGIN_CALLED, COMPLETE_PLUGIN).get_completions(before, incomplete)
    for item in found:
        click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    is_prefix = bool(found) and all(str(item.value).endswith("/") for item in found)
    click.echo(f":{_NO_FILES | (_NO_SPACE if is_prefix else 0)}")

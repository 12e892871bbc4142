"""The command `gangline`, also installed as `kubectl-gang`: one group, each command imported when it is asked for."""

import difflib
import re
from importlib import import_module
from typing import Any, Final

import click

from gangline.cli import streams

PLUGIN_CALLED: Final = "kubectl gang"
COMPLETE_PLUGIN: Final = "_KUBECTL_GANG_COMPLETE"
_SHORT: Final = re.compile(r"(-[a-zA-Z])=(.+)", re.DOTALL)
COMMANDS: Final = {
    "check": "Read manifests and say what would go wrong with their gangs.",
    "completion": "Write the completion script of a shell.",
    "demo": "Walk through what a gang scheduler does, each step verified.",
    "kubelets": "Bring up simulated nodes on any API server.",
    "nodes": "Show what is free on each node, and the largest gang that would fit.",
    "sandbox": "Run a small Kubernetes in this process.",
    "status": "Show gangs: phase, members, how long they wait, and why.",
    "why": "Say why a pod or a gang waits, and what to do next.",
}


class CommandsOnDemand(click.Group):
    """A group whose commands live in modules of their own name; `--help` imports none of them."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command on streams that are fit for it."""
        streams.prepare()
        return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C ends it without a word, as it ends kubectl."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(streams.INTERRUPTED) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `-o=json` as kubectl does: as `-o json`."""
        return super().parse_args(ctx, [word for arg in args for word in _parted(arg)])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return sorted(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name; for one that does not exist name the nearest, as kubectl does."""
        if args[0] not in COMMANDS and (close := difflib.get_close_matches(args[0], COMMANDS, n=1)):
            raise click.UsageError(f"No such command {args[0]!r}. Did you mean {close[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or None when there is no such one."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"gangline.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the texts above."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


def _parted(arg: str) -> list[str]:
    found = _SHORT.fullmatch(arg)
    return [found[1], found[2]] if found is not None else [arg]


@click.group(cls=CommandsOnDemand, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gangline", message="%(package)s %(version)s")
def main() -> None:
    """Gangline: the pods of one PodGroup start together or not at all."""


def plugin() -> None:
    """Run as `kubectl gang`, and call itself so."""
    main(prog_name=PLUGIN_CALLED, complete_var=COMPLETE_PLUGIN)

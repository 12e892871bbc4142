"""The command `gangline`: help, unknown words, options, a missing extra."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gangline.cli.main import COMMANDS, main
from gangline.contract.node import Node
from gangline.kube.client import connect
from gangline.kube.wire.resources import NODES
from tests.support.ports import free_port


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])

    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_help_lists_the_commands_and_imports_none() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from gangline.cli.main import main;"
        "print(CliRunner().invoke(main, ['--help']).output);"
        "assert not {'aiohttp', 'gangline.cli.sandbox'} & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert all(command in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", ["status", "why", "nodes", "check"])
def test_the_help_of_a_command_for_users_is_quick_and_has_examples(command: str) -> None:
    code = (
        "import sys; from click.testing import CliRunner; from gangline.cli.main import main;"
        f"print(CliRunner().invoke(main, ['{command}', '-h']).output);"
        "assert not {'aiohttp', 'numpy', 'kubernetes_asyncio', 'rich.console', 'scheduler.core'} & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "  Examples:\n    # " in result.stdout
    assert f"\n    gangline {command}" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_learn_to_complete_both_names(shell: str) -> None:
    own = CliRunner().invoke(main, ["completion", shell])
    plugin = CliRunner().invoke(main, ["completion", shell, "--program", "kubectl-gang"])

    assert "_GANGLINE_COMPLETE" in own.output
    assert "_KUBECTL_GANG_COMPLETE" in plugin.output


@pytest.mark.parametrize("form", [["-o", "json"], ["-o=json"], ["-ojson"], ["--output=json"]], ids=" ".join)
def test_an_option_is_spelled_in_all_the_ways_that_kubectl_knows(form: list[str]) -> None:
    result = CliRunner().invoke(main, ["check", *form, "-"], input="")

    assert result.stdout.startswith("{")


def test_commands_and_options_are_completed() -> None:
    environ = {"_GANGLINE_COMPLETE": "bash_complete", "COMP_WORDS": "gangline status --al", "COMP_CWORD": "2"}

    assert CliRunner().invoke(main, env=environ, prog_name="gangline").output.strip() == "plain,--all-namespaces"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["sandbxo"], "No such command 'sandbxo'. Did you mean 'sandbox'?"),
        (["dance"], "No such command 'dance'"),
        (["sandbox", "--speed", "0"], "0.0 is not in the range"),
        (["sandbox", "--speed", "nan"], "nan is no number"),
        (["sandbox", "--speed", "inf"], "inf is not in the range"),
        (["sandbox", "--nodes", "-1"], "-1 is not in the range"),
        (["sandbox", "--port", "70000"], "70000 is not in the range"),
        (["sandbox", "--cluster", "/no/such/file"], "does not exist"),
        (["sandbox", "--nodes", "3", "--cluster", __file__], "--nodes and --cluster exclude each other"),
        (["sandbox", "--cluster", __file__], f"cluster file {__file__}: "),
        (["sandbox", "--cpu", "nonsense"], "nodes 'node', allocatable cpu: "),
        (["sandbox", "--memory", "-1Gi"], "allocatable memory: -1Gi is less than nothing"),
        (["sandbox", "--kubeconfig", "/nowhere/at/all"], "is there a directory /nowhere/at, and is it yours?"),
        (["sandbox", "--kubeconfig", "/"], "is a directory"),
    ],
    ids=[
        "command",
        "far from any",
        "speed",
        "no speed",
        "speed without end",
        "nodes",
        "port",
        "file",
        "both",
        "no cluster file",
        "cpu",
        "memory",
        "no directory",
        "a directory",
    ],
)
def test_bad_words_get_one_clear_line(words: list[str], complaint: str) -> None:
    result = CliRunner().invoke(main, words)

    assert result.exit_code == 2
    assert complaint in result.output


@pytest.mark.parametrize("package", ["cronsim", "jsonpatch", "jsonpointer"])
@pytest.mark.parametrize("command", ["sandbox", "demo"])
def test_a_missing_extra_is_named(command: str, package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None\nfrom gangline.cli.main import main\nmain([{command!r}])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert result.returncode == 1
    assert f"the sandbox needs the package {package}: " in result.stderr
    assert "pip install '.[sandbox]'" in result.stderr


async def test_a_bare_sandbox_runs_until_it_is_told_to_end(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from gangline.cli.main import main; main()"),
        *("sandbox", "--bare", "--kubeconfig", str(kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        first = await process.stdout.readline()
        assert first.startswith(b"API server  http://127.0.0.1:")
        await process.stdout.readuntil(b"kubeconfig")
        process.send_signal(signal.SIGTERM)
        await process.stdout.read()
        assert await process.wait() == 0

    assert "127.0.0.1" in kubeconfig.read_text()


FILE = "nodes: [{name: edge, allocatable: {cpu: 500m, memory: 1Gi}}]"


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        pytest.param([], {f"node-{number}": ("8", "32Gi") for number in range(3)}, id="nothing"),
        pytest.param(
            ["--nodes", "2", "--cpu", "3", "--memory", "5Gi"],
            {"node-0": ("3", "5Gi"), "node-1": ("3", "5Gi")},
            id="how-many-and-how-large",
        ),
        pytest.param(["--cluster", "FILE"], {"edge": ("500m", "1Gi")}, id="file"),
        pytest.param(["--bare"], {}, id="bare"),
    ],
)
async def test_a_sandbox_is_as_it_was_asked_for(
    words: list[str], nodes: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    (tmp_path / "cluster.yaml").write_text(FILE)
    kubeconfig, port = tmp_path / "kubeconfig", free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from gangline.cli.main import main; main()"),
        *("sandbox", "--port", str(port), "--kubeconfig", str(kubeconfig)),
        *(str(tmp_path / "cluster.yaml") if word == "FILE" else word for word in words),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            first = await process.stdout.readline()
            async with connect(str(kubeconfig), user_agent="test") as client:
                found, _ = await client.list(NODES, Node)
    finally:
        process.terminate()
        await process.communicate()

    assert first.split()[-1].decode() == f"http://127.0.0.1:{port}"
    allocatable = {node.metadata.name: node.status.allocatable or {} for node in found}
    assert {name: (given["cpu"], given["memory"]) for name, given in allocatable.items()} == nodes

"""The parts of the demo: waiting, guarding, processes, and what is shown."""

import asyncio
import socket
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from gangline.cli.walk import checks
from gangline.cli.walk.checks import Expectation
from gangline.cli.walk.guard import Guard
from gangline.cli.walk.run import walk
from gangline.cli.walk.screen import Screen
from gangline.cli.walk.services import LOOPBACK, PORTS, ServiceDiedError, Services, free_ports, without_settings
from gangline.cli.walk.stage import Stage
from gangline.cli.walk.steps import STEPS, Step
from gangline.cli.walk.view import Finding, View, WatchedGroup
from gangline.contract.podgroup import Phase
from gangline.kube.client import Client, connect
from gangline.sandbox.cluster import Sandbox
from tests.support.workloads import metadata, run_pod


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Sandbox(bare=True) as sandbox, connect(str(sandbox.kubeconfig), user_agent="test") as connected:
        yield connected


@pytest.fixture
def view(client: Client) -> View:
    return View(client)


async def test_pods_are_counted_by_label_without_those_that_go(view: View) -> None:
    for pod in (
        run_pod("a", node="n", phase="Running", labels={"app": "team"}),
        run_pod("b", labels={"app": "team"}),
        run_pod("c", node="n", phase="Running", labels={"app": "team"}, deleting=True),
        run_pod("d", node="n", phase="Running", labels={"app": "other"}),
    ):
        view.pods.cache.put(pod)

    assert checks.pods_are("team", running=1, waiting=1).check(view).holds
    assert checks.pods_are("team", running=2, waiting=1).check(view) == Finding(
        holds=False, evidence="1 Pending, 1 Running"
    )
    assert checks.untouched("team", ["uid-a"]).check(view).holds
    assert not checks.untouched("team", ["uid-a", "uid-c"]).check(view).holds
    assert not checks.never_more_than("team", 0).check(view).holds


async def test_reasons_are_asked_of_every_waiting_pod(view: View) -> None:
    view.pods.cache.put(run_pod("a", labels={"app": "team"}))

    silent = checks.every_waiting_pod_says("team", "nodes").check(view)

    assert silent == Finding(holds=False, evidence="1 pods: nothing yet")
    assert not checks.every_waiting_pod_says("nobody", "nodes").check(view).holds


async def test_group_is_compared_with_phase_and_counts(view: View) -> None:
    status = {"phase": "Running", "running": 3}
    group = {"metadata": {**metadata("team"), "namespace": "default"}, "status": status}
    assert not checks.group_is("team", Phase.RUNNING, running=3).check(view).holds

    view.groups.cache.put(msgspec.convert(group, WatchedGroup))

    assert checks.group_is("team", Phase.RUNNING, running=3).check(view).holds
    assert checks.group_is("team", Phase.RUNNING, running=4).check(view).evidence == "phase Running, running 3"


async def test_guard_keeps_what_was_true_for_a_moment_only(view: View) -> None:
    never = checks.never_more_than("team", 0)
    guard = Guard(view, [never])
    bound = run_pod("a", node="n", labels={"app": "team"})

    with guard.watching():
        view.pods.cache.put(bound)
        for listener in list(view.listeners):
            listener()
        view.pods.cache.remove(bound.metadata.key)

    assert never.check(view).holds
    assert guard.judge(never, never.check(view)) == Finding(holds=False, evidence="1 pods have a node")


async def test_service_that_ends_by_itself_is_named_with_its_last_lines(tmp_path: Path) -> None:
    async with Services(("no_such_service",), kubeconfig=tmp_path / "k", directory=tmp_path) as services:
        with pytest.raises(ServiceDiedError, match=r"(?s)no_such_service ended with exit code 1.*No module named"):
            async with asyncio.timeout(60):
                await services.watch(services.running[0])


def test_ports_are_free_and_not_for_outgoing_connections() -> None:
    first, last = PORTS
    ports = free_ports(2000)
    assert len(set(ports)) == 2000
    assert all(first <= port <= last for port in ports)
    with socket.socket() as listener:
        listener.bind((LOOPBACK, ports[0]))
        assert ports[0] not in free_ports(2000)


def test_services_are_not_set_up_by_our_environment() -> None:
    assert without_settings({"GANGLINE_LEASE": "a/b", "PATH": "/bin"}) == {"PATH": "/bin"}


async def test_report_says_what_was_seen(view: View) -> None:
    output = StringIO()
    screen = Screen(Console(file=output, width=200, no_color=True), view)
    good = Expectation(says="all is [well]", check=lambda _view: Finding(holds=True, evidence=""))
    bad = Expectation(says="none fails", check=lambda _view: Finding(holds=False, evidence=""))

    screen.report([good, bad], [Finding(holds=True, evidence="3 of 3"), Finding(holds=False, evidence="1 failed")], 0.5)

    text = output.getvalue()
    assert "✔ all is [well]  (3 of 3)" in text
    assert "✘ none fails  (1 failed)" in text
    assert "\x1b" not in text


def test_steps_never_hint_at_the_ambiguous_name() -> None:
    commands = [command for step in STEPS for command in step.commands]

    assert not [command for command in commands if "podgroup " in command or "podgroups " in command]
    assert len({step.title for step in STEPS}) == len(STEPS)


async def test_walk_ends_with_a_failed_step_that_says_what_was_seen(tmp_path: Path) -> None:
    output = StringIO()

    async def nothing(_stage: Stage) -> None:
        return None

    step = Step(
        title="Nothing",
        why="Nobody does anything.",
        commands=(),
        expect=lambda _view: [checks.pods_are("team", running=3, waiting=0)],
        act=nothing,
    )
    console = Console(file=output, width=200, no_color=True)

    is_good = await walk(console, tmp_path, keep=False, steps=(step, *STEPS), settle_s=0.2)

    assert not is_good
    assert "✘ pods of team: 3 Running  (no pods)" in output.getvalue()
    assert "2/" not in output.getvalue()

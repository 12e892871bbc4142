"""What holds for every test: hypothesis profiles, the backend of a run, and no task may outlive its test."""

import asyncio
import inspect
import os
import signal
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, settings

from tests.controlplane.build import BuildError
from tests.support import backends, usage
from tests.support.given_cluster import ClusterRefusedError, given
from tests.support.summary import Summary

# `dev` finds new examples on every run; `ci`, which `.ci/run` chooses and the variable CI, finds the same ones everywhere,
# so that a change lands or not by what it changes; `deep` looks for an hour.
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), max_examples=100, derandomize=True)
settings.register_profile("deep", settings.get_profile("dev"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

OWN = "built"
"""The fixture of tests that start servers of their own: on a cluster that was given they are left out."""

# A shell that starts the tests in the background lets them ignore SIGINT, and so would every process that they start and
# mean to interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# looptime asks for the current loop around sync tests too; unset, Python 3.11 would make one that nobody closes.
asyncio.set_event_loop(None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backend", choices=sorted(backends.BACKENDS), default="sandbox", help="where end-to-end tests run"
    )


def pytest_configure(config: pytest.Config) -> None:
    backends.choose(config.getoption("backend"))
    config.pluginmanager.register(Summary(config), "summary")


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.getoption("collectonly"):
        return
    if given() and session.config.getoption("backend") == usage.REAL and hasattr(session.config, "workerinput"):
        raise pytest.UsageError("on a cluster that was given tests run in one process: each empties it")
    try:
        asyncio.run(backends.chosen().prepare())
    except (BuildError, ClusterRefusedError) as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    asyncio.run(backends.chosen().close(failed=bool(session.testsfailed)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("backend") != "sandbox":
        leave_out(config, items, [item for item in items if item.get_closest_marker("sandbox")])
        if given():
            ours = [item for item in items if OWN in getattr(item, "fixturenames", ())]
            summary = config.pluginmanager.get_plugin("summary")
            assert isinstance(summary, Summary)
            summary.left_out = len(ours)
            leave_out(config, items, ours)
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.function):
            item.fixturenames.insert(0, "no_leaked_tasks")


def leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=unwanted)
    items[:] = [item for item in items if item not in unwanted]


@pytest.fixture
async def no_leaked_tasks() -> AsyncIterator[None]:
    """Fail an async test whose tasks are still there after its fixtures have been torn down."""
    yield
    leaked = asyncio.all_tasks() - {asyncio.current_task()}
    assert not leaked, f"tasks outlive the test: {sorted(task.get_name() for task in leaked)}"

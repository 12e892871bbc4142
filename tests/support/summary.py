"""The last words of a test run: how many tests ran on which backend, how long it took, and how much memory it needed.

A run that wants a real control plane and in which no test got an answer of one fails.
"""

import time
from collections import Counter
from collections.abc import Generator
from typing import Any, Final

import pytest

from tests.support import usage
from tests.support.usage import REAL, SANDBOX

USED: Final = "used"
PEAKS: Final = "peaks_kib"
TESTS: Final = "the tests"
OTHERS: Final = "others"
"""Tests that asked for no backend: they need no API server, or start one of their own."""
NOTHING_REAL: Final = "--backend=real, and no test got an answer of a real API server: choose tests that need one, as `make test-real` does"

UsedByTest = pytest.StashKey[Counter[str]]()


class Summary:
    """A plugin of pytest; where tests run in several processes, each has one and the first collects."""

    def __init__(self, config: pytest.Config) -> None:
        self._wants_real = config.getoption("backend") == REAL and not config.getoption("collectonly")
        self._started = time.monotonic()
        self._passed: Counter[str] = Counter()
        self._answered = False
        self._fixtures: dict[str, Counter[str]] = {}
        self.left_out = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        before = usage.answers.copy()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._fixtures[fixturedef.argname] = usage.answers - before

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        item.stash[UsedByTest] = usage.answers.copy()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Note what the test used, itself or through fixtures that it shares with others."""
        try:
            return (yield)
        finally:
            used = usage.answers - item.stash[UsedByTest]
            for name in getattr(item, "fixturenames", ()):
                used += self._fixtures.get(name, Counter())
            item.user_properties += [(USED, kind) for kind in used]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        used = {value for name, value in report.user_properties if name == USED}
        if not self._wants_real:
            used.discard(REAL)  # a sandbox that was taken for a cluster of others
        self._answered |= REAL in used
        if report.passed:
            self._passed[REAL if REAL in used else SANDBOX if SANDBOX in used else OTHERS] += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for program, kib in getattr(node, "workeroutput", {}).get(PEAKS, {}).items():
            usage.note_peak(program, kib)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Say what this process used, to the first one where there are several; the first one judges the run."""
        usage.note_peak(TESTS, usage.peak_kib())
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[PEAKS] = usage.peaks_kib
        elif self._lacks_real:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        passed, elapsed_s = self._passed, time.monotonic() - self._started
        figures = [f"{passed[REAL]} on the backend (a real control plane)"] if self._wants_real else []
        figures += [
            f"{passed[SANDBOX]} on {'the sandbox alone' if self._wants_real else 'the backend (a sandbox)'}",
            f"{passed[OTHERS]} others",
        ]
        memory = ", ".join(f"{program} {kib // 1024} MiB" for program, kib in sorted(usage.peaks_kib.items()))
        terminalreporter.write_line(f"Tests passed: {', '.join(figures)}; {elapsed_s:.0f} s; at most: {memory}")
        if self.left_out:
            terminalreporter.write_line(
                f"Left out on a cluster that was given: {self.left_out} tests that need one of their own"
            )
        if self._lacks_real:
            terminalreporter.write_line(NOTHING_REAL, red=True)

    @property
    def _lacks_real(self) -> bool:
        return self._wants_real and not self._answered

"""Expectations that must hold all the way through a step, looked at after each change."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gangline.cli.walk.checks import Expectation
from gangline.cli.walk.view import Finding, View


class Guard:
    """Keeps the first finding against each expectation that is to hold always."""

    def __init__(self, view: View, expectations: Sequence[Expectation]) -> None:
        self._view = view
        self._expectations = [each for each in expectations if each.always]
        self._broken: dict[Expectation, Finding] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look after each change while the body runs."""
        self._view.listeners.append(self._look)
        try:
            yield
        finally:
            self._view.listeners.remove(self._look)

    def judge(self, expectation: Expectation, last: Finding) -> Finding:
        """Return what was seen last, or what was once seen against the expectation."""
        return self._broken.get(expectation, last)

    def _look(self) -> None:
        for expectation in self._expectations:
            finding = expectation.check(self._view)
            if not finding.holds:
                self._broken.setdefault(expectation, finding)

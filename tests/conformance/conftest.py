from pathlib import Path

import pytest

# The checks lie beside the tests, in modules that pytest would not rewrite by itself.
_CHECKS = [path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "conftest"]
pytest.register_assert_rewrite(*(f"tests.conformance.{name}" for name in _CHECKS if not name.startswith("test_")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out on another backend what needs none."""
    if config.getoption("backend") != "sandbox":
        without = [item for item in items if item.name.startswith("test_on_the_core[")]
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    from tests.conformance.tables import REPORTS, ROWS  # noqa: PLC0415 - after the registration above

    different = sum(one.differs for one in ROWS.values())
    terminalreporter.write_line(
        f"Coscheduling: {len(ROWS)} rows, {len(ROWS) - different} as upstream, {different} different on purpose; "
        f"{len(REPORTS)} bug reports of others"
    )

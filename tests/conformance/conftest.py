from pathlib import Path

import pytest

# The checks lie beside the tests, in modules that pytest would not rewrite by itself.
_CHECKS = [path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "conftest"]
pytest.register_assert_rewrite(*(f"tests.conformance.{name}" for name in _CHECKS if not name.startswith("test_")))

"""The real control plane itself, for tests that talk to more than its API."""

import pytest

from tests.support import backends
from tests.support.controlplane import ControlPlane


@pytest.fixture
async def plane() -> ControlPlane:
    backend = backends.chosen()
    assert isinstance(backend, backends.RealBackend), "tests/real need --backend=real, as `make test-real` says"
    return await backend.plane()

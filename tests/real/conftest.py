"""The real cluster itself, for tests that do more to it than `running_cluster` does."""

from pathlib import Path

import pytest

from tests.controlplane.build import binaries, chosen
from tests.support import backends
from tests.support.backends import RealBackend
from tests.support.controlplane import ControlPlane
from tests.support.real_cluster import RealCluster


@pytest.fixture
def built() -> Path:
    """Binaries of the version that is tested; who asks for them is left out on a cluster that was given."""
    return binaries(chosen())


@pytest.fixture
async def plane(built: Path) -> ControlPlane:
    """The control plane, to stop and start its servers or to read its files."""
    return await _backend().plane()


@pytest.fixture
async def real() -> RealCluster:
    """The cluster, whoever started it, to ask its API server and to hand out credentials."""
    return await _backend().cluster()


def _backend() -> RealBackend:
    backend = backends.chosen()
    assert isinstance(backend, RealBackend), "tests/real need --backend=real, as `make test-real` says"
    return backend

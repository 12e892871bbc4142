"""One API server and a bare client for each test."""

from collections.abc import AsyncIterator

import pytest

from gangline.contract.crd import crd
from gangline.sandbox.apiserver.server import ApiServer
from tests.support.rest import DEFINITIONS, Rest


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(bookmark_s=0.1) as running:
        yield running


@pytest.fixture
async def rest(server: ApiServer) -> AsyncIterator[Rest]:
    async with Rest(server.url) as client:
        yield client


@pytest.fixture
async def pod_groups(rest: Rest) -> None:
    """PodGroups are served."""
    assert (await rest.post(DEFINITIONS, crd())).status == 201

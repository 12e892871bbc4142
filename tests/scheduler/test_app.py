"""What the composition root decides by itself."""

from pathlib import Path

from prometheus_client import CollectorRegistry

from gangline.contract.meta import Key
from scheduler.app import client_of
from scheduler.metrics import Metrics
from scheduler.settings import Settings
from tests.support.hanging import hanging_writes


async def test_binds_that_hang_leave_connections_for_everything_else(tmp_path: Path) -> None:
    async with hanging_writes(tmp_path) as server:
        settings = Settings(kubeconfig=server.kubeconfig, bind_concurrency=100)
        async with client_of(settings, Metrics(CollectorRegistry())) as client:
            binds = [client.bind(Key("ns", f"p{number}"), f"uid-{number}", "n1") for number in range(100)]
            await server.read_beside(client, binds)

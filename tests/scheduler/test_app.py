"""What the composition root decides by itself."""

import asyncio
from pathlib import Path

from prometheus_client import CollectorRegistry

from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.wire.resources import PODS
from scheduler.app import client_of
from scheduler.metrics import Metrics
from scheduler.settings import Settings
from tests.support.scripted_server import Exchange, ScriptedServer, write_kubeconfig


async def test_binds_that_hang_leave_connections_for_everything_else(tmp_path: Path) -> None:
    hanging, all_hang = set[str](), asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        if exchange.request.method == "GET":
            await exchange.answer(200, {"metadata": {"name": "a"}})
            return
        hanging.add(exchange.request.path)
        if len(hanging) == 100:
            all_hang.set()
        await exchange.stay_silent()

    async with ScriptedServer(handler) as server:
        settings = Settings(kubeconfig=write_kubeconfig(tmp_path / "config", server.url), bind_concurrency=100)
        async with client_of(settings, Metrics(CollectorRegistry())) as client, asyncio.timeout(10):
            binds = [asyncio.create_task(client.bind(Key("ns", f"p{n}"), f"uid-{n}", "n1")) for n in range(100)]
            await all_hang.wait()

            pod = await client.get(PODS, Key("ns", "a"), Pod)

            for bind in binds:
                bind.cancel()
            await asyncio.gather(*binds, return_exceptions=True)
    assert pod.metadata.name == "a"

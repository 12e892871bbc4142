"""The recording of a real cluster: nothing that was committed before it is read is missing."""

import asyncio
from pathlib import Path

from gangline.contract.meta import Key
from gangline.kube.client import connect
from gangline.kube.wire.resources import PODS
from gangline.sandbox.apiserver.server import ApiServer
from tests.support.manifests import pod
from tests.support.recording import Recording


async def test_what_was_committed_is_there_when_it_has_caught_up(tmp_path: Path) -> None:
    async with ApiServer() as server, connect(str(server.kubeconfig(tmp_path / "config")), user_agent="test") as client:
        recording = Recording()
        following = asyncio.create_task(recording.follow(client, PODS), name="follow")
        for number in range(20):
            name = f"pod-{number}"
            await client.create(PODS, "default", pod(name))
            await recording.catch_up(client)
            assert recording.lines[-1]["key"] == f"default/{name}"
            await client.patch(PODS, Key("default", name), {"metadata": {"labels": {"a": "b"}}})
            await client.delete(PODS, Key("default", name), grace_period_s=0)
            await recording.catch_up(client)
            assert [line["type"] for line in recording.lines[-2:]] == ["MODIFIED", "DELETED"]
        await client.create(PODS, "default", pod("goes"))
        catching_up = asyncio.create_task(recording.catch_up(client), name="catch up")
        await client.delete(PODS, Key("default", "goes"), grace_period_s=0)
        await catching_up
        following.cancel()
        await asyncio.wait([following])

"""What the table of bad objects says of a real API server: each object is sent to one."""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from gangline.kube.client import Client, connect
from gangline.kube.wire import resources
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.requests import JSON, Request
from gangline.kube.wire.resources import Resource
from tests.support import bad_pods, bad_rest
from tests.support.backends import ensure_pod_groups
from tests.support.bad_objects import NAMESPACE, Row, Server
from tests.support.real_cluster import RealCluster

BY_KIND: Final = {value.kind: value for value in vars(resources).values() if isinstance(value, Resource)} | {
    "PriorityClass": resources.PRIORITY_CLASSES
}
ROWS: Final = (*bad_pods.ROWS, *bad_rest.ROWS, *bad_rest.BUDGETS)


async def refusals(client: Client, row: Row) -> list[str]:
    """Try to create the objects of a row, without leaving anything."""
    return [refusal for body in row.objects if (refusal := await refusal_of(client, body))]


async def refusal_of(client: Client, body: dict[str, Any]) -> str:
    resource = BY_KIND[body["kind"]]
    request = Request(
        verb="create",
        resource=resource.plural,
        method="POST",
        path=resource.path(NAMESPACE),
        query=(("dryRun", "All"),),
        content_type=JSON,
        body=msgspec.json.encode(body),
        timeout_s=120.0,
    )
    try:
        await client.send(request)
    except ApiError as error:
        return str(error)[:300]
    return ""


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")  # large objects are what this is about
async def test_a_real_server_refuses_what_the_table_says(real: RealCluster, tmp_path: Path) -> None:
    async with connect(str(real.kubeconfig(tmp_path / "kubeconfig")), user_agent="test") as client:
        await ensure_pod_groups(client)
        # One after the other: some keep a server busy for seconds, and beside each other they take too long for it.
        answers = [await refusals(client, row) for row in ROWS]
    surprises = {
        row.id: found or "accepted"
        for row, found in zip(ROWS, answers, strict=True)
        if bool(found) != (row.server is Server.REFUSES)
    }
    assert surprises == {}

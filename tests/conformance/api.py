"""Table A: what the API server accepts of a PodGroup, and keeps."""

from typing import Any

import pytest

from gangline.contract.meta import Key
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, POD_GROUPS
from tests.conformance.rows import Stage, row
from tests.support.cluster import NAMESPACE, Cluster
from tests.support.manifests import pod_group

DEFINITION = Key("", "podgroups.scheduling.x-k8s.io")


async def stored(cluster: Cluster, name: str, **spec: Any) -> dict[str, Any]:
    """Create a PodGroup, and return what the API server has of it."""
    await cluster.client.create(POD_GROUPS, NAMESPACE, pod_group(name, None, **spec))
    return await cluster.client.get(POD_GROUPS, Key(NAMESPACE, name), dict[str, Any])


async def refused(cluster: Cluster, name: str, **spec: Any) -> str:
    """Try to create a PodGroup that is not legal, and return what the API server says."""
    with pytest.raises(ApiError) as error:
        await cluster.client.create(POD_GROUPS, NAMESPACE, pod_group(name, None, **spec))
    assert (error.value.status, error.value.reason) == (422, "Invalid")
    return error.value.message


@row("A1", "minMember 1", "accepted", stage=Stage.SHARED)
async def a1(cluster: Cluster) -> None:
    assert (await stored(cluster, "a1", minMember=1))["spec"] == {"minMember": 1}


@row("A2", "minMember 0", "refused by the schema", stage=Stage.SHARED)
async def a2(cluster: Cluster) -> None:
    assert "spec.minMember" in await refused(cluster, "a2", minMember=0)


@row("A3", "minMember -1", "refused", stage=Stage.SHARED)
async def a3(cluster: Cluster) -> None:
    assert "spec.minMember" in await refused(cluster, "a3", minMember=-1)


@row("A4", "minMember absent, an empty spec, or no spec", "accepted", stage=Stage.SHARED)
async def a4(cluster: Cluster) -> None:
    await stored(cluster, "a4-timeout", scheduleTimeoutSeconds=5)
    await stored(cluster, "a4-empty")
    bare = {key: value for key, value in pod_group("a4-none", None).items() if key != "spec"}
    await cluster.client.create(POD_GROUPS, NAMESPACE, bare)


@row("A5", "minResources cpu as the integer 4, `4`, `500m`, `1.5Gi`", "accepted", stage=Stage.SHARED)
async def a5(cluster: Cluster) -> None:
    for number, amount in enumerate((4, "4", "500m", "1.5Gi")):
        kept = await stored(cluster, f"a5-{number}", minResources={"cpu": amount})
        assert kept["spec"]["minResources"] == {"cpu": amount}


@row("A6", "minResources cpu `four`", "refused", stage=Stage.SHARED)
async def a6(cluster: Cluster) -> None:
    assert "spec.minResources" in await refused(cluster, "a6", minResources={"cpu": "four"})


@row("A7", "scheduleTimeoutSeconds 0, -1, 2147483647", "accepted", stage=Stage.SHARED)
async def a7(cluster: Cluster) -> None:
    for number, seconds in enumerate((0, -1, 2147483647)):
        kept = await stored(cluster, f"a7-{number}", scheduleTimeoutSeconds=seconds)
        assert kept["spec"]["scheduleTimeoutSeconds"] == seconds


@row("A8", "scheduleTimeoutSeconds 2147483648", "refused", stage=Stage.SHARED)
async def a8(cluster: Cluster) -> None:
    assert "spec.scheduleTimeoutSeconds" in await refused(cluster, "a8", scheduleTimeoutSeconds=2147483648)


@row("A9", "`status.phase` written with the object", "ignored; only the subresource changes it", stage=Stage.SHARED)
async def a9(cluster: Cluster) -> None:
    key = Key(NAMESPACE, "a9")
    await cluster.client.create(POD_GROUPS, NAMESPACE, pod_group("a9", 1) | {"status": {"phase": "Running"}})
    await cluster.client.patch(POD_GROUPS, key, {"status": {"occupiedBy": "with/object"}})
    await cluster.client.patch(POD_GROUPS, key, {"status": {"failed": 7}}, subresource="status")
    await cluster.until(lambda: cluster.phase("a9") == "Pending", "the controller has the last word")
    assert (await cluster.client.get(POD_GROUPS, key, dict[str, Any]))["status"].get("occupiedBy") is None


@row(
    "A11",
    "an unknown field of the spec, or `status.scheduled`",
    "pruned",
    "unknown fields are pruned; `status.scheduled` is ours",
    "How many members are bound is the figure that a gang scheduler answers for.",
    stage=Stage.SHARED,
)
async def a11(cluster: Cluster) -> None:
    assert (await stored(cluster, "a11", minMember=1, minTaskMember={"a": 1}))["spec"] == {"minMember": 1}
    answer = await cluster.client.patch(
        POD_GROUPS, Key(NAMESPACE, "a11"), {"status": {"preScheduled": 1, "scheduled": 7}}, subresource="status"
    )
    assert "preScheduled" not in answer["status"]
    assert answer["status"]["scheduled"] == 7


@row(
    "A12",
    "`kubectl get pg`, `kubectl get pgs`",
    "one kind; columns Phase, MinMember, Running, Succeeded, Failed, Age",
    "the same, and Scheduled after MinMember",
    "Between what is asked for and what runs stands what is bound.",
    stage=Stage.SHARED,
)
async def a12(cluster: Cluster) -> None:
    served = await cluster.client.get(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, dict[str, Any])
    names = served["status"]["acceptedNames"]
    assert (names["kind"], names["shortNames"]) == ("PodGroup", ["pg", "pgs"])
    columns = [column["name"] for column in served["spec"]["versions"][0]["additionalPrinterColumns"]]
    assert columns == ["Phase", "MinMember", "Scheduled", "Running", "Succeeded", "Failed", "Age"]


@row("A13", "minMember of a live group changed from 3 to 5", "accepted", stage=Stage.SHARED)
async def a13(cluster: Cluster) -> None:
    await stored(cluster, "a13", minMember=3)
    answer = await cluster.client.patch(POD_GROUPS, Key(NAMESPACE, "a13"), {"spec": {"minMember": 5}})
    assert answer["spec"]["minMember"] == 5

"""Our CRD over Coscheduling's and back, with objects that exist: nothing that Coscheduling knows is lost."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from msgspec.structs import replace

from gangline.contract.crd import crd
from gangline.contract.meta import Key
from gangline.contract.podgroup import PodGroup, PodGroupStatus
from gangline.kube.reflector import Reflector, kept_in
from gangline.kube.wire.resources import POD_GROUPS
from tests.support import coscheduling
from tests.support.backends import without_services
from tests.support.cluster import Cluster, running_cluster
from tests.support.controlplane import ControlPlane
from tests.support.kubectl import Kubectl, KubectlError
from tests.support.kustomize import MANIFESTS
from tests.support.manifests import gang, nodes, pod_group
from tests.support.real_cluster import RealCluster
from tests.support.services import eventually

DEADLINE_S: Final = 60.0
LEARNING: Final = 4
"""Writes by which a controller that has just started learns what the CRD drops: one for each worker; they change nothing."""
DEFINITION: Final = "podgroups.scheduling.x-k8s.io"
OURS_ALONE: Final = {
    "spec": {"priorityClassName"},
    "status": {"scheduled", "conditions", "observedGeneration"},
}
"""What docs/migration.md says that ours adds."""
WHOLE_STATUS: Final = {
    "phase": "Running",
    "occupiedBy": "default/owner",
    "running": 3,
    "succeeded": 1,
    "failed": 2,
    "scheduleStartTime": "2026-11-30T12:00:00Z",
}
OBJECTS: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "whole": (
        {"minMember": 3, "minResources": {"cpu": 4, "memory": "8Gi"}, "scheduleTimeoutSeconds": 10},
        WHOLE_STATUS,
    ),
    "bare": ({}, {}),
    "old-phase": ({"minMember": 1}, {"phase": "PreScheduling"}),
    "odd-timeout": ({"minMember": 2147483647, "scheduleTimeoutSeconds": -1}, {"phase": "Unknown", "running": 0}),
    "gpus": ({"minMember": 2, "minResources": {"nvidia.com/gpu": "2", "cpu": "1500m"}}, {"phase": "Finished"}),
}
"""Spec and status of PodGroups as Coscheduling's users have them."""


@asynccontextmanager
async def upstream_served(real: RealCluster, directory: Path) -> AsyncIterator[Kubectl]:
    """Coscheduling's CRD in the place of ours, which is back at the end."""
    kubectl = Kubectl(real, directory)
    await kubectl(f"delete crd {DEFINITION}")
    await kubectl("create -f -", coscheduling.definition())
    try:
        await kubectl(f"wait crd/{DEFINITION} --for=condition=Established --timeout=100s")
        yield kubectl
    finally:
        await kubectl("replace -f -", crd())
        await _until_served(kubectl, ours=True)


async def _until_served(kubectl: Kubectl, *, ours: bool) -> None:
    """Wait until objects are read by this CRD: a server needs a moment after it has changed."""
    probe = pod_group("probe", 1, priorityClassName="none")

    async def is_served() -> bool:
        taken = await kubectl("create --dry-run=server --validate=ignore -o json -f -", probe)
        return ("priorityClassName" in taken) is ours

    await eventually(is_served, "the CRD is in force")


async def _stored(kubectl: Kubectl) -> dict[str, Any]:
    """Every PodGroup by name, in full."""
    found = await kubectl.json("get pg --show-managed-fields")
    return {each["metadata"]["name"]: each for each in found["items"]}


def known_to_coscheduling(group: dict[str, Any]) -> dict[str, Any]:
    """What its controller and its users see of a PodGroup, but for who wrote it last."""
    hidden = {"resourceVersion", "generation", "managedFields"}
    kept = {
        part: {name: value for name, value in group.get(part, {}).items() if name not in OURS_ALONE[part]}
        for part in OURS_ALONE
    }
    return kept | {"metadata": {name: value for name, value in group["metadata"].items() if name not in hidden}}


async def test_there_and_back_nothing_is_lost(real: RealCluster, tmp_path: Path) -> None:
    async with without_services(), upstream_served(real, tmp_path) as kubectl:
        for name, (spec, status) in OBJECTS.items():
            body = pod_group(name, None, **spec)
            body["metadata"] |= {"labels": {"team": "a"}, "annotations": {"note": "kept"}}
            await kubectl.apply(body)
            patch = msgspec.json.encode({"status": status}).decode()
            await kubectl.run(["patch", "pg", name, "--subresource=status", "--type=merge", f"-p={patch}"])
        theirs = await _stored(kubectl)
        assert {name: each["status"] for name, each in theirs.items()} == {
            name: status for name, (_, status) in OBJECTS.items()
        }

        await kubectl(f"apply -f {MANIFESTS / 'base/crd.yaml'}")
        await _until_served(kubectl, ours=True)
        assert await _stored(kubectl) == theirs
        for name in OBJECTS:
            await _add_ours(kubectl, name)
        ours = await _stored(kubectl)
        assert all(added(group) == OURS_ALONE for group in ours.values())

        await kubectl("replace -f -", coscheduling.definition())
        await _until_served(kubectl, ours=False)
        back = await _stored(kubectl)
        assert not any(added(group)["spec"] | added(group)["status"] for group in back.values())
        for name in OBJECTS:
            assert known_to_coscheduling(back[name]) == known_to_coscheduling(theirs[name])
        await kubectl("label pg bare written=there")

        await kubectl(f"apply -f {MANIFESTS / 'base/crd.yaml'}")
        await _until_served(kubectl, ours=True)
        again = await _stored(kubectl)
        assert {name for name, group in again.items() if added(group) == OURS_ALONE} == OBJECTS.keys() - {"bare"}


async def test_what_another_crd_hid_is_told_when_ours_is_back(real: RealCluster, tmp_path: Path) -> None:
    """Nothing is written meanwhile: the PodGroup has the same resourceVersion all the time."""
    seen: dict[Key, PodGroup] = {}
    changed = asyncio.Event()

    async def until_told(group: PodGroup) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while seen.get(group.metadata.key) != group:
                changed.clear()
                await changed.wait()

    async with without_services() as client, upstream_served(real, tmp_path) as kubectl:
        await kubectl(f"apply -f {MANIFESTS / 'base/crd.yaml'}")
        await _until_served(kubectl, ours=True)
        await kubectl.apply(pod_group("g", 2, priorityClassName="low"))
        whole = await client.get(POD_GROUPS, Key("default", "g"), PodGroup)
        hidden = replace(whole, spec=replace(whole.spec, priority_class_name=None))
        await kubectl("replace -f -", coscheduling.definition())
        await _until_served(kubectl, ours=False)

        reflector = Reflector(client, POD_GROUPS, PodGroup, kept_in(seen, changed.set))
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(reflector.run(), name="reflector")
            await until_told(hidden)
            await kubectl(f"apply -f {MANIFESTS / 'base/crd.yaml'}")
            await _until_served(kubectl, ours=True)
            # By this a watch that goes on by the CRD of before gets further than the new one begins: no 410 follows.
            await client.create(POD_GROUPS, "default", pod_group("other", 1))
            await until_told(whole)
            following.cancel()


def added(group: dict[str, Any]) -> dict[str, set[str]]:
    """Which of our own fields a PodGroup has."""
    return {part: fields & group.get(part, {}).keys() for part, fields in OURS_ALONE.items()}


async def _add_ours(kubectl: Kubectl, name: str) -> None:
    conditions = [{"type": "Scheduled", "status": "True"}]
    status = {"status": {"scheduled": 3, "observedGeneration": 1, "conditions": conditions}}
    for patch, more in (({"spec": {"priorityClassName": "low"}}, []), (status, ["--subresource=status"])):
        await kubectl.run(["patch", "pg", name, "--type=merge", f"-p={msgspec.json.encode(patch).decode()}", *more])


async def test_both_services_run_on_and_are_quiet(plane: ControlPlane, tmp_path: Path) -> None:
    async with (
        running_cluster(nodes(1, cpu="30"), services=()) as cluster,
        upstream_served(plane, tmp_path) as kubectl,
    ):
        await cluster.start("scheduler")
        await cluster.start("controller")
        names = [f"g{number}" for number in range(6)]
        for name in names:
            await cluster.create(*gang(name, 3))
        await cluster.until(lambda: all(cluster.group(name).status.running == 3 for name in names), "all run")
        assert cluster.group("g0").status == PodGroupStatus(phase="Running", running=3)

        await _another(cluster, "first")
        settled = len(await _writes(plane, names))
        for pod in cluster.of("g0"):
            await cluster.patch("Pod", pod.metadata.name, {"metadata": {"labels": {"touched": "yes"}}})
        await _another(cluster, "second")
        assert len(await _writes(plane, names)) == settled

        await cluster.stop("controller")
        await cluster.see()
        versions = {name: cluster.group(name).metadata.resource_version for name in names}
        await cluster.start("controller")
        await _another(cluster, "third")
        await cluster.see()
        assert {name: cluster.group(name).metadata.resource_version for name in names} == versions
        assert len(await _writes(plane, names)) - settled <= LEARNING

        await cluster.stop("controller")
        await cluster.start("controller", try_all_fields_s=2.0)
        await kubectl(f"apply -f {MANIFESTS / 'base/crd.yaml'}")
        await eventually(partial(have_our_fields, cluster, names), "our fields are written to all")


async def have_our_fields(cluster: Cluster, names: Collection[str]) -> bool:
    """Whether they are stored: a watch that was open goes on for a second by the CRD of before, and shows none."""
    groups, _ = await cluster.client.list(POD_GROUPS, PodGroup)
    return all(group.status.scheduled == 3 for group in groups if group.metadata.name in names)


async def _writes(plane: ControlPlane, names: Collection[str]) -> list[str]:
    """Whose statuses our controller has written."""
    return [
        each["objectRef"]["name"]
        for each in await plane.audit()
        if (each["verb"], each["userAgent"]) == ("patch", "gangline-controller")
        and each["objectRef"].get("name") in names
    ]


async def _another(cluster: Cluster, name: str) -> None:
    """Let a whole gang start: time in which a controller that is not quiet writes many times."""
    await cluster.create(*gang(name, 3))
    await cluster.until(lambda: cluster.phase(name) == "Running", "another gang starts")


async def test_server_side_apply_over_what_helm_made_asks_first(real: RealCluster, tmp_path: Path) -> None:
    async with without_services(), upstream_served(real, tmp_path) as kubectl:
        apply = f"apply --server-side -f {MANIFESTS / 'base/crd.yaml'}"
        with pytest.raises(KubectlError, match="conflict"):
            await kubectl(apply)
        await kubectl(f"{apply} --force-conflicts")
        await _until_served(kubectl, ours=True)

"""The controller against an API server over HTTP, with no scheduler running."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from prometheus_client import CollectorRegistry

from controller.app import Controller, client_of
from controller.metrics import Metrics
from controller.settings import Settings
from gangline.contract.crd import crd
from gangline.contract.meta import Key
from gangline.contract.names import POD_GROUP_LABEL
from gangline.contract.podgroup import PodGroup
from gangline.kube.reflector import Change, Observed, Reflector
from gangline.kube.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, POD_GROUPS, PODS
from tests.controller.builders import group, pod
from tests.controller.cluster import (
    DEADLINE_S,
    PG,
    Cluster,
    cluster_with,
    condition_of,
    eventually,
    lenient_crd,
    running,
)
from tests.controller.scripted import scripted
from tests.support import coscheduling
from tests.support.hanging import hanging_writes


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_with(crd(), tmp_path) as found:
        yield found


async def test_a_group_walks_through_its_phases(cluster: Cluster) -> None:
    async with running(cluster):
        await cluster.create_group(min_member=2)
        await cluster.until_phase("Pending")
        await cluster.create_pods("BB")
        await cluster.until(lambda group: group.status.phase == "Scheduling" and group.status.scheduled == 2)
        for number in range(2):
            await cluster.set_state(Key("default", f"pod-{number}"), "R")
        group = await cluster.until(lambda group: group.status.running == 2)
        assert (group.status.phase, group.status.observed_generation) == ("Running", 1)
        for number in range(2):
            await cluster.set_state(Key("default", f"pod-{number}"), "S")
        group = await cluster.until_phase("Finished")
        assert (group.status.running, group.status.succeeded, group.status.scheduled) == (None, 2, None)
        scheduled = condition_of(group, "Scheduled")
        assert scheduled is not None
        assert (scheduled.status, scheduled.reason) == ("True", "QuorumReached")


async def test_a_relabelled_pod_moves_from_one_group_to_the_other(cluster: Cluster) -> None:
    other = Key("default", "other")
    await cluster.create_group(min_member=2)
    await cluster.create_group("other", min_member=2)
    await cluster.create_pods("RR")
    async with running(cluster):
        await cluster.until(lambda group: group.status.running == 2)
        await cluster.client.patch(PODS, Key("default", "pod-1"), {"metadata": {"labels": {POD_GROUP_LABEL: "other"}}})
        await cluster.until(lambda group: group.status.running == 1 and group.status.phase == "Pending")
        await cluster.until(lambda group: group.status.running == 1, other)


async def test_a_namespace_deleted_in_the_middle_stops_nobody(cluster: Cluster) -> None:
    doomed = Key("doomed", "pg")
    await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "doomed"}})
    await cluster.create_group(namespace="doomed")
    registry = CollectorRegistry()
    async with running(cluster, registry) as controller:
        await cluster.create_pods("RRR", namespace="doomed")
        await cluster.until_phase("Running", doomed)
        for number in range(3):
            await cluster.delete_pod(f"pod-{number}", "doomed")
        await cluster.client.delete(POD_GROUPS, doomed)
        await cluster.client.delete(NAMESPACES, Key("", "doomed"))
        await cluster.quiesce()
        assert controller.problems() == []
        await eventually(lambda: registry.get_sample_value("gangline_controller_members") == 0)
        assert registry.get_sample_value("gangline_controller_reconciles_total", {"result": "Broken"}) == 0


async def test_a_restart_writes_nothing_when_nothing_changed(cluster: Cluster) -> None:
    await cluster.create_group(min_member=2)
    await cluster.create_pods("RRR")
    await cluster.set_state(Key("default", "pod-2"), "S", ended=datetime.now(UTC).isoformat())
    async with running(cluster):
        await cluster.until(lambda group: group.status.running == 2 and group.status.succeeded == 1)
        await cluster.quiesce()
    before = {key: versions[-1] for key, versions in cluster.seen.items()}
    registry = CollectorRegistry()
    async with running(cluster, registry):
        await cluster.quiesce()
    assert {key: cluster.seen[key][-1] for key in before} == before
    assert registry.get_sample_value("gangline_controller_reconciles_total", {"result": "Written"}) == 1
    assert cluster.warnings == []


async def test_nothing_is_written_before_all_pods_are_known(tmp_path: Path) -> None:
    async with scripted(tmp_path) as (server, client):
        server.lists["podgroups"] = [json.loads(msgspec.json.encode(group(1)))]
        server.lists["pods"] = [json.loads(msgspec.json.encode(pod("R")))]
        server.may_list["podgroups"].set()
        async with running(Cluster(client, tmp_path / "config"), coalesce_s=0.0), asyncio.timeout(DEADLINE_S):
            await server.watched["podgroups"].wait()
            server.may_list["pods"].set()
            await server.arrived.wait()
    assert [patch["status"]["phase"] for patch in server.patches] == ["Running"]


async def test_spec_and_metadata_of_others_survive_every_write(cluster: Cluster) -> None:
    await cluster.create_group(min_member=5)
    await cluster.create_pods("RRR")
    async with running(cluster):
        await cluster.until_phase("Pending")
        change = {"metadata": {"annotations": {"a/b": "c"}}, "spec": {"minMember": 3}}
        await cluster.client.patch(POD_GROUPS, PG, change)
        group = await cluster.until_phase("Running")
        assert (group.spec.min_member, group.metadata.annotations) == (3, {"a/b": "c"})
        assert group.status.observed_generation == 2


async def test_with_upstreams_crd_we_write_what_it_knows_and_then_are_quiet(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    async with cluster_with(coscheduling.definition(), tmp_path) as cluster, running(cluster, registry):
        await cluster.create_group(min_member=2)
        await cluster.create_pods("RR")
        group = await cluster.until(lambda group: group.status.running == 2)
        assert (group.status.phase, group.status.scheduled, group.status.conditions) == ("Running", None, None)
        await cluster.quiesce()
        written = registry.get_sample_value("gangline_controller_reconciles_total", {"result": "Written"})
        for number in range(3):
            await cluster.client.patch(PODS, Key("default", "pod-0"), {"metadata": {"labels": {"n": str(number)}}})
            await cluster.client.patch(POD_GROUPS, PG, {"metadata": {"labels": {"n": str(number)}}})
        await cluster.quiesce()
        assert registry.get_sample_value("gangline_controller_pruned_fields_total") == 3
        again = registry.get_sample_value("gangline_controller_reconciles_total", {"result": "Written"})
        assert (written, again) == (written, (written or 0) + 1)


async def test_when_our_crd_takes_the_place_of_upstreams_all_groups_get_its_fields(tmp_path: Path) -> None:
    definition = crd()
    registry = CollectorRegistry()
    async with (
        cluster_with(coscheduling.definition(), tmp_path) as cluster,
        running(cluster, registry, try_all_fields_s=0.05),
    ):
        await cluster.create_group(min_member=2)
        await cluster.create_pods("RR")
        await cluster.until(lambda group: group.status.running == 2)
        versions = {"spec": {"versions": definition["spec"]["versions"]}}
        await cluster.client.patch(CUSTOM_RESOURCE_DEFINITIONS, Key("", definition["metadata"]["name"]), versions)
        group = await cluster.until(lambda group: group.status.scheduled == 2 and group.status.conditions is not None)
        assert group.status.observed_generation == 1
        assert registry.get_sample_value("gangline_controller_pruned_fields_total") == 3


async def test_another_writer_of_the_phase_is_given_way_to(cluster: Cluster) -> None:
    await cluster.create_group(min_member=2)
    await cluster.create_pods("RR")
    registry = CollectorRegistry()
    running_seen = asyncio.Queue[str]()

    def take(change: Change[PodGroup]) -> None:
        if isinstance(change, Observed) and change.object.status.phase == "Running":
            running_seen.put_nowait(change.object.metadata.resource_version)

    async def contradict() -> None:
        while True:
            await running_seen.get()
            await cluster.client.patch(POD_GROUPS, PG, {"status": {"phase": "Failed"}}, subresource="status")

    async with running(cluster, registry), asyncio.TaskGroup() as tasks:
        rival = [
            tasks.create_task(Reflector(cluster.client, POD_GROUPS, PodGroup, take).run(), name="rival's eyes"),
            tasks.create_task(contradict(), name="rival's hand"),
        ]
        await cluster.until_warned("ForeignStatusWriter")
        await cluster.set_state(Key("default", "pod-0"), "S")
        await cluster.quiesce()
        for task in rival:
            task.cancel()
    assert cluster.seen[PG][-1].status.phase == "Failed"
    assert registry.get_sample_value("gangline_controller_foreign_writers_total") == 1
    assert registry.get_sample_value("gangline_controller_given_way_pod_groups") == 1
    assert sum(group.status.phase == "Running" for group in cluster.seen[PG]) <= 4


async def test_a_group_whose_pods_all_name_another_scheduler_is_not_ours(cluster: Cluster) -> None:
    await cluster.create_group(min_member=1)
    await cluster.create_pods("R", scheduler="other")
    async with running(cluster):
        await cluster.quiesce()
        assert cluster.seen[PG][-1].status.phase is None
        await cluster.create_pods("R", prefix="ours")
        await cluster.until(lambda group: group.status.phase == "Running" and group.status.running == 2)


async def test_with_another_status_owner_nothing_is_written(cluster: Cluster) -> None:
    await cluster.create_group(min_member=1)
    await cluster.create_pods("R")
    registry = CollectorRegistry()
    async with running(cluster, registry, status_owner="other") as controller:
        await eventually(lambda: registry.get_sample_value("gangline_controller_members") == 1)
        await eventually(lambda: controller.problems() == [])
        assert registry.get_sample_value("gangline_controller_queue_depth") == 0
    assert cluster.seen[PG][-1].status.phase is None


async def test_scheduling_that_takes_too_long_is_said_once(cluster: Cluster) -> None:
    await cluster.create_group(min_member=2, scheduleTimeoutSeconds=1)
    await cluster.create_pods("PP")

    def timed_out(group: PodGroup) -> bool:
        found = condition_of(group, "TimedOut")
        return found is not None and found.status == "True"

    async with running(cluster):
        group = await cluster.until(timed_out)
        assert group.status.phase == "Scheduling"
        await cluster.until_warned("Timeout")
    async with running(cluster):
        await cluster.quiesce()
        await cluster.client.bind(Key("default", "pod-0"), (await _uid(cluster, "pod-0")), "node-0")
        await cluster.client.bind(Key("default", "pod-1"), (await _uid(cluster, "pod-1")), "node-0")
        group = await cluster.until(lambda group: not timed_out(group))
        assert group.status.schedule_start_time is None
    assert cluster.warnings.count("Timeout") == 1


async def _uid(cluster: Cluster, name: str) -> str:
    found = await cluster.client.get(PODS, Key("default", name), dict[str, Any])
    return str(found["metadata"]["uid"])


async def test_one_bad_group_never_stops_the_others(tmp_path: Path) -> None:
    hostile: list[dict[str, Any]] = [
        {"spec": {"minMember": "three"}},
        {"spec": "none"},
        {"spec": {"minMember": 10**40}},
        {"spec": {"minMember": 2}, "status": {"phase": ["Running"]}},
        {"spec": {"minMember": 2}, "status": {"conditions": {"type": "x"}}},
        {"spec": {"minMember": 2}, "status": {"scheduleStartTime": "yesterday"}},
        {"spec": {"minMember": 2}, "status": {"running": "many", "phase": "\u202e\u0000"}},
        {"spec": {"minMember": -(2**31), "scheduleTimeoutSeconds": -(2**31)}, "status": {"phase": "x" * 500_000}},
    ]
    registry = CollectorRegistry()
    async with cluster_with(lenient_crd(), tmp_path) as cluster, running(cluster, registry) as controller:
        for number, body in enumerate(hostile):
            envelope = {"apiVersion": POD_GROUPS.api_version, "kind": "PodGroup", "metadata": {"name": f"bad-{number}"}}
            await cluster.client.create(POD_GROUPS, "default", envelope | body)
        await cluster.create_group(min_member=1)
        await cluster.create_pods("R")
        await cluster.until_phase("Running")
        await cluster.until_warned("PodGroupInvalid")
        assert controller.problems() == []
        assert registry.get_sample_value("gangline_controller_reconciles_total", {"result": "Broken"}) == 0
        await cluster.client.patch(POD_GROUPS, Key("default", "bad-0"), {"spec": {"minMember": 1}})
        await cluster.until_phase("Pending", Key("default", "bad-0"))


async def test_the_endpoints_tell_what_is_there(cluster: Cluster) -> None:
    await cluster.create_group(min_member=1)
    await cluster.create_pods("R")
    registry = CollectorRegistry()

    def counted() -> float | None:
        return registry.get_sample_value("gangline_controller_pod_groups", {"phase": "Running"})

    async with running(cluster, registry) as controller, aiohttp.ClientSession() as session:
        await cluster.until_phase("Running")
        await eventually(lambda: counted() == 1 and controller.problems() == [])
        answers = {}
        for path in ("healthz", "readyz", "metrics", "debug/groups", "debug/groups?name=other", "debug/validate"):
            async with session.get(f"http://127.0.0.1:{controller.http_port}/{path}") as response:
                answers[path] = (response.status, await response.text())
    assert {path: status for path, (status, _) in answers.items()} == dict.fromkeys(answers, 200)
    assert '"problems": []' in answers["debug/validate"][1]
    assert '"name": "pg"' in answers["debug/groups"][1]
    assert answers["debug/groups?name=other"][1] == '{\n  "total": 0,\n  "groups": []\n}\n'
    assert 'gangline_controller_pod_groups{phase="Running"} 1.0' in answers["metrics"][1]


async def test_only_one_of_two_holds_the_lease_and_the_other_says_who(cluster: Cluster) -> None:
    await cluster.create_group(min_member=1)
    async with running(cluster, lease="default/controller") as first:
        await cluster.until_phase("Pending")
        assert first.problems() == []
        async with running(cluster, lease="default/controller") as second:
            await eventually(lambda: any("the lease is held by" in problem for problem in second.problems()))


async def test_who_stands_by_gathers_no_work(cluster: Cluster) -> None:
    registry = CollectorRegistry()

    def figure(name: str) -> float | None:
        return registry.get_sample_value(f"gangline_controller_{name}")

    async with running(cluster, lease="default/controller"):
        await cluster.create_group(min_member=1)
        await cluster.until_phase("Pending")
        async with running(cluster, registry, lease="default/controller"):
            for number in range(3):
                await cluster.create_pods("R", prefix=f"member-{number}")
            await eventually(lambda: figure("members") == 3)
            assert figure("queue_depth") == 0


async def test_status_writes_that_hang_leave_connections_for_everything_else(tmp_path: Path) -> None:
    async with hanging_writes(tmp_path) as server:
        settings = Settings(kubeconfig=server.kubeconfig, workers=64)
        async with client_of(settings, Metrics(CollectorRegistry())) as client:
            writes = [
                client.patch(POD_GROUPS, Key("ns", f"g{number}"), {}, subresource="status") for number in range(64)
            ]
            await server.read_beside(client, writes)


async def test_what_cannot_be_read_is_announced_by_whoever_holds_the_lease(tmp_path: Path) -> None:
    first, second = CollectorRegistry(), CollectorRegistry()

    def announced(registry: CollectorRegistry) -> float | None:
        return registry.get_sample_value("gangline_controller_reconciles_total", {"result": "Unreadable"})

    async with cluster_with(lenient_crd(), tmp_path) as cluster, AsyncExitStack() as stack:
        async with running(cluster, first, lease="default/controller") as holder:
            await eventually(lambda: holder.problems() == [])
            await stack.enter_async_context(running(cluster, second, lease="default/controller"))
            await cluster.create_group(min_member="three")
            await eventually(lambda: announced(first) == 1)
            await eventually(
                lambda: (
                    second.get_sample_value("gangline_controller_unreadable_objects_total", {"kind": "PodGroup"}) == 1
                )
            )
            assert announced(second) == 0
        await eventually(lambda: announced(second) == 1)
    assert set(cluster.warnings) == {"PodGroupInvalid"}


async def test_a_write_that_hangs_holds_up_the_end_for_the_grace_period_alone(tmp_path: Path) -> None:
    stop = asyncio.Event()
    settings = Settings(http_address="127.0.0.1:0", lease="off", coalesce_s=0.0, grace_s=0.1)
    async with scripted(tmp_path) as (server, client):
        server.lists = {"pods": [], "podgroups": [msgspec.to_builtins(group(1))]}
        for plural in server.may_list.values():
            plural.set()
        server.may_answer.clear()
        living = asyncio.create_task(Controller(settings, client, Metrics(CollectorRegistry())).run(stop))
        async with asyncio.timeout(DEADLINE_S):
            await server.arrived.wait()
            stop.set()
            await living


async def test_the_process_ends_cleanly_when_told_to(cluster: Cluster) -> None:
    await cluster.create_group(min_member=1)
    options = ["--kubeconfig", str(cluster.kubeconfig), "--http-address", "127.0.0.1:0", "--lease", "off"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "controller", *options, stderr=asyncio.subprocess.PIPE
    )
    try:
        await cluster.until_phase("Pending")
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_S):
            _, told = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, told.decode()
    assert b'"event":"started"' in told.replace(b" ", b"")


async def test_a_missing_kubeconfig_is_one_clear_line(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "controller", "--kubeconfig", str(tmp_path / "none"), stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(DEADLINE_S):
        _, told = await process.communicate()
    assert process.returncode == 1
    assert b"cannot_start" in told
    assert b"Traceback" not in told

"""Commands that talk with a cluster, as users type them: against the sandbox with both services."""

import asyncio
import json
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from gangline.cli.cluster.holding import Holding, holding
from gangline.cli.cluster.options import duration_s
from gangline.cli.main import main
from gangline.contract.meta import Key
from gangline.kube.wire.resources import NODES
from gangline.sandbox.apiserver.faults import Refuse, Rule
from tests.support import builders
from tests.support.cluster import Cluster, running_cluster
from tests.support.manifests import deployment, gang, job, nodes, pod, pod_group, pods
from tests.support.scripted_api import Answer, Asked, ScriptedApi
from tests.support.scripted_server import Exchange, ScriptedServer, write_kubeconfig

COLUMNS = ["NAME", "PHASE", "MIN", "WAITING", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "AGE", "WAITS", "WHY"]


async def gangline(cluster: Cluster, *words: str) -> Result:
    """Run a command on a cluster, in a thread: it has a loop of its own."""
    return await asyncio.to_thread(invoke, *words, "--kubeconfig", str(cluster.kubeconfig))


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, words, catch_exceptions=False)


def address(cluster: Cluster) -> tuple[str, str]:
    return "--scheduler-address", cluster.services["scheduler"].url


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line)


async def test_status_shows_every_gang_with_figures_and_why() -> None:
    async with running_cluster(nodes(2, cpu="4")) as cluster:
        await cluster.create(
            *gang("fits", 2, requests={"cpu": 1}),
            *gang("large", 4, requests={"cpu": 3}),
            deployment("web", 2, shadow=3),
        )
        await cluster.until(lambda: cluster.running("fits") == 2, "one gang runs")
        await cluster.until(lambda: cluster.reasons("large") == ["Unschedulable"] * 4, "one waits")
        await cluster.until(lambda: cluster.reasons("web") == ["GangIncomplete"] * 2, "one is incomplete")
        await cluster.until(
            lambda: (
                (cluster.phase("fits"), cluster.group("fits").status.running, cluster.phase("large"))
                == ("Running", 2, "Scheduling")
            ),
            "their groups say so",
        )

        table = (await gangline(cluster, "status")).stdout.splitlines()
        wide = (await gangline(cluster, "status", "-A", "-o", "wide")).stdout
        names = (await gangline(cluster, "status", "-o", "name")).stdout.split()
        items = json.loads((await gangline(cluster, "status", "-o", "json")).stdout)["items"]
        one = yaml.safe_load((await gangline(cluster, "status", "large", "-o", "yaml")).stdout)["items"]
        other = await gangline(cluster, "status", "-n", "kube-system")
        missing = await gangline(cluster, "status", "nosuch")

    assert cells(table[0]) == COLUMNS
    rows = {line.split()[0]: cells(line) for line in table[1:]}
    assert rows["fits"][1:8] == ["Running", "2", "0", "2", "2", "0", "0"]
    assert rows["large"][1:8] == ["Scheduling", "4", "4", "0", "0", "0", "0"]
    assert rows["large"][-1] == "Unschedulable: 1 of 4 fit, Insufficient cpu"
    assert rows["deployment/web"][1:4] == ["Pending", "3", "2"]
    assert rows["deployment/web"][-1] == "GangIncomplete: 2 of 3 are here"
    assert "NAMESPACE" in wide
    assert "3 more need 3 cpu each" in wide
    assert names == ["podgroup.scheduling.x-k8s.io/fits", "podgroup.scheduling.x-k8s.io/large", "deployment/web"]
    assert [(item["name"], item["waiting"]) for item in items] == [("fits", 0), ("large", 4), ("deployment/web", 2)]
    assert [item["reason"] for item in one] == ["Unschedulable"]
    assert (other.exit_code, other.stdout, other.stderr) == (0, "", "No gangs found in namespace kube-system.\n")
    assert missing.exit_code == 1
    assert 'error: gang "nosuch" not found in namespace default' in missing.stderr


async def test_why_agrees_with_the_scheduler_that_runs() -> None:
    async with running_cluster(nodes(2, cpu="4")) as cluster:
        await cluster.create(*gang("large", 4, requests={"cpu": 3}))
        await cluster.until(lambda: cluster.reasons("large") == ["Unschedulable"] * 4, "it waits")
        await cluster.until(
            lambda: all(
                cluster.said_of(kind, name)
                for kind, name in [("PodGroup", "large"), *(("Pod", f"large-{number}") for number in range(4))]
            ),
            "events say so",
        )

        asked = json.loads((await gangline(cluster, "why", "large", "-o", "json", *address(cluster))).stdout)
        guessed = json.loads((await gangline(cluster, "why", "pod", "large-0", "-o", "json")).stdout)
        page = (await gangline(cluster, "why", "pg/large")).stdout
        name = (await gangline(cluster, "why", "pod/large-0", "-o", "name")).stdout

    assert asked["summary"] == guessed["summary"] == cluster.messages("large")[0]
    assert (asked["source"], guessed["source"]) == ("scheduler", "rehearsal")
    assert asked["unknown"] == []
    assert "no pod of the scheduler is in the cluster" in guessed["unknown"][0]
    assert asked["happened"][0]["reason"] == "FailedScheduling"
    headings = [line for line in page.splitlines() if not line.startswith(" ")]
    assert headings[0].startswith("PodGroup default/large: Unschedulable, waits ")
    assert [line.split(":")[0].split(" ")[0] for line in headings[1:]] == [
        *("Needs", "Missing", "Nodes", "Queue", "Last", "Next", "Not")
    ]
    assert "room for 2 of 4 members: 3 cpu each, 6 cpu in all" in page
    assert "\x1b" not in page
    assert name == "podgroup.scheduling.x-k8s.io/large\n"


async def test_why_tells_a_refused_bind_and_what_it_was_refused_with() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        refusal = Rule(verb="create", resource="pods", subresource="binding", fault=Refuse(code=403))
        await cluster.faults(refusal)
        await cluster.create(*gang("g", 2))
        await cluster.until(lambda: cluster.reasons("g") == ["BindFailed"] * 2, "it says so")
        await cluster.until(lambda: "BindFailed" in cluster.said_of("PodGroup", "g"), "an event says so too")

        asked = json.loads((await gangline(cluster, "why", "g", "-o", "json", *address(cluster))).stdout)
        guessed = json.loads((await gangline(cluster, "why", "g", "-o", "json")).stdout)
        await cluster.faults()

    assert asked["reason"] == guessed["reason"] == "BindFailed"
    assert (asked["source"], guessed["source"]) == ("scheduler", "condition")
    assert "refused" in guessed["summary"]
    assert "BindFailed" in {one["reason"] for one in guessed["happened"]}
    assert "it tries again by itself" in guessed["next"][0]


async def test_why_notices_that_no_scheduler_runs() -> None:
    async with running_cluster(nodes(1, cpu="8"), services=("controller",)) as cluster:
        await cluster.create(*gang("g", 2))
        await cluster.until(lambda: cluster.phase("g") == "Scheduling", "the group is complete")

        answer = json.loads((await gangline(cluster, "why", "g", "-o", "json")).stdout)
        status = (await gangline(cluster, "status")).stdout

    calm_at_first = {"JustCreated": "JustCreated: being decided", "NotScheduledYet": "NotScheduledYet: no scheduler"}
    assert answer["reason"] in calm_at_first
    assert "2 of 2 waiting members" in answer["summary"]
    assert any(words in status for words in calm_at_first.values())


async def test_gangs_of_budgets_are_shown_and_explained() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}},
    }
    async with running_cluster(nodes(2, cpu="4"), budget_gangs=True) as cluster:
        await cluster.create(budget, deployment("web", 3, requests={"cpu": 3}))
        await cluster.until(lambda: cluster.reasons("web") == ["Unschedulable"] * 3, "it waits as a gang")

        learnt = json.loads((await gangline(cluster, "why", "deploy/web", "-o", "json", *address(cluster))).stdout)
        told = json.loads((await gangline(cluster, "why", "deploy/web", "-o", "json")).stdout)
        status = (await gangline(cluster, "status")).stdout
        await cluster.delete("Deployment", "web")

    assert learnt["summary"] == told["summary"]
    assert (learnt["source"], told["source"]) == ("scheduler", "rehearsal")
    assert learnt["figures"]["minMember"] == 3
    assert "Unschedulable: 2 of 3 fit" in status


async def test_status_can_be_asked_for_the_gangs_with_some_labels() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        labelled = pod_group("a", 2)
        labelled["metadata"]["labels"] = {"team": "ml"}
        await cluster.create(labelled, pod_group("b", 2), *pods(1, "a", "a"), pod("b-0", "b"))

        found = (await gangline(cluster, "status", "-l", "team=ml", "-o", "name")).stdout.split()
        others = (await gangline(cluster, "status", "-l", "!team", "-o", "name")).stdout.split()
        wrong = await gangline(cluster, "status", "-l", "team in")

    assert found == ["podgroup.scheduling.x-k8s.io/a"]
    assert others == ["podgroup.scheduling.x-k8s.io/b"]
    assert wrong.exit_code == 2
    assert "write -l KEY=VALUE" in wrong.stderr


async def test_why_of_a_job_and_of_a_pod_that_names_another_scheduler() -> None:
    async with running_cluster(nodes(1, cpu="8")) as cluster:
        await cluster.create(
            pod_group("j", 3), job("j", "j", parallelism=2, completions=4), pod("p", scheduler="default-scheduler")
        )
        await cluster.until(lambda: cluster.reasons("j") == ["GangIncomplete"] * 2, "the job's pods wait")

        of_job = json.loads((await gangline(cluster, "why", "job/j", "-o", "json")).stdout)
        of_pod = json.loads((await gangline(cluster, "why", "pod/p", "-o", "json")).stdout)
        await cluster.delete("Pod", "p", grace_period_s=0)

    assert (of_job["reason"], of_job["missing"]) == ("GangIncomplete", ["1 more pod (2 of 3 are here)"])
    assert of_job["next"][0] == (
        "let Job j run 3 pods at once instead of 2: "
        """`kubectl -n default patch job/j --type merge -p '{"spec":{"parallelism":3}}'`"""
    )
    assert of_pod["reason"] == "SchedulerMismatch"


async def test_nodes_show_room_and_the_largest_gang() -> None:
    async with running_cluster(nodes(2, cpu="4", memory="8Gi"), services=("scheduler",)) as cluster:
        await cluster.create(pod("p", requests={"cpu": "1500m"}))
        await cluster.until(lambda: cluster.running("p") == 1, "a pod runs")
        (bound,) = [one.spec.node_name for one in cluster.of("p")]
        (idle,) = {"node-0", "node-1"} - {bound}
        await cluster.client.patch(NODES, Key("", idle), {"spec": {"unschedulable": True}})

        plain = (await gangline(cluster, "nodes")).stdout.splitlines()
        shaped = (await gangline(cluster, "nodes", "--cpu", "1", "--memory", "1Gi")).stdout
        figures = json.loads((await gangline(cluster, "nodes", "--cpu", "1", "-o", "json")).stdout)
        tolerant = ("--cpu", "2", "--toleration", "node.kubernetes.io/unschedulable", "-o", "json")
        tolerated = json.loads((await gangline(cluster, "nodes", *tolerant)).stdout)
        none = (await gangline(cluster, "nodes", "--cpu", "64")).stdout
        wrong = await gangline(cluster, "nodes", "--cpu", "lots")

    rows = {line.split()[0]: cells(line) for line in plain[1:]}
    assert cells(plain[0]) == ["NAME", "STATE", "CPU FREE", "MEMORY FREE", "PODS FREE"]
    assert rows[str(bound)] == [bound, "open", "2500m/4", "8Gi/8Gi", "109/110"]
    assert rows[idle][:3] == [idle, "cordoned", "4/4"]
    assert "that would fit now: 2, on 1 of 2 nodes." in shaped
    assert figures["largestGang"] == 2
    assert tolerated["largestGang"] == 3
    assert "Not one member with 64 cpu would fit now on 2 nodes." in none
    assert wrong.exit_code == 2
    assert "write 4, 500m, 1.5Gi or 2e3" in wrong.stderr


SHAPES: dict[str, tuple[dict[str, str], dict[str, Any], dict[str, Any]]] = {
    # options, what a member asks for, and the rest of its spec
    "cpu": ({"--cpu": "1500m"}, {"cpu": "1500m"}, {}),
    "two resources": ({"--cpu": "1", "--memory": "3Gi"}, {"cpu": 1, "memory": "3Gi"}, {}),
    "device": ({"--cpu": "1", "--request": "example.com/gpu=1"}, {"cpu": 1, "example.com/gpu": 1}, {}),
    "selector": ({"--cpu": "1", "-l": "pool=gpu"}, {"cpu": 1}, {"nodeSelector": {"pool": "gpu"}}),
    "toleration": (
        {"--cpu": "2", "--toleration": "node.kubernetes.io/unschedulable"},
        {"cpu": 2},
        {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
    ),
}


async def test_the_largest_gang_of_a_shape_is_what_really_starts() -> None:
    gpu = nodes(1, "gpu", labels={"pool": "gpu"}, room={"example.com/gpu": 3}, cpu="8", memory="16Gi")
    async with running_cluster(
        nodes(2, cpu="4", memory="8Gi"), gpu, nodes(1, "shut", cpu="6", memory="8Gi")
    ) as cluster:
        await cluster.client.patch(NODES, Key("", "shut-0"), {"spec": {"unschedulable": True}})
        await cluster.create(*pods(2, "web", requests={"cpu": "700m", "memory": "1Gi"}))
        await cluster.until(lambda: cluster.running("web") == 2, "some room is taken")
        for name, (options, requests, spec) in SHAPES.items():
            words = [word for option in options.items() for word in option]
            largest = json.loads((await gangline(cluster, "nodes", *words, "-o", "json")).stdout)["largestGang"]
            group = name.replace(" ", "-")
            await cluster.create(*gang(group, largest + 1, requests=requests, **spec))
            await cluster.until(
                partial(all_say, cluster, group, f"{largest} of {largest + 1} members fit"),
                f"{name}: one more does not fit",
            )
            await cluster.patch("PodGroup", group, {"spec": {"minMember": largest}})
            await cluster.until(lambda: cluster.running(group) == largest, f"{name}: {largest} run")  # noqa: B023
            await cluster.delete("PodGroup", group)
            for number in range(largest + 1):
                await cluster.delete("Pod", f"{group}-{number}", grace_period_s=0)
            await cluster.until(lambda: not cluster.of(group), "it is gone")  # noqa: B023


def all_say(cluster: Cluster, group: str, words: str) -> bool:
    messages = cluster.messages(group)
    return bool(messages) and all(words in message for message in messages)


@asynccontextmanager
async def process(cluster: Cluster, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the program itself on a cluster."""
    async with started(*words, "--kubeconfig", str(cluster.kubeconfig)) as running:
        yield running


@asynccontextmanager
async def started(*words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the program itself."""
    code = "from gangline.cli.main import main; main()"
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield running
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()


async def test_a_watch_prints_what_changes_until_it_is_interrupted() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(pod_group("g", 2), *pods(1, "g", "g"))
        async with process(cluster, "status", "-w") as running, asyncio.timeout(60):
            assert running.stdout is not None
            assert running.stderr is not None
            head = (await running.stdout.readline()).decode().split()
            await running.stdout.readuntil(b"Pending")
            await cluster.create(pod("g-1", "g"))
            await running.stdout.readuntil(b"Running")
            running.send_signal(signal.SIGINT)
            code, said = await running.wait(), await running.stderr.read()

    assert head[:3] == COLUMNS[:3]
    assert (code, said) == (130, b"")


async def test_a_watch_shows_what_it_may_read_and_says_what_not(tmp_path: Path) -> None:
    """Of PodGroups nothing may be read; pods may be listed and not followed."""

    def answer(asked: Asked) -> Answer:
        if asked.path.endswith("/podgroups") or "watch" in asked.query:
            return Answer(403, {"reason": "Forbidden", "message": f"no {asked.path.rpartition('/')[2]} for you"})
        found = [builders.pod("g-0", namespace="default", group="g")] if asked.path.endswith("/pods") else []
        return Answer(200, {"metadata": {"resourceVersion": "1"}, "items": msgspec.to_builtins(found)})

    async with ScriptedApi(answer) as api:
        words = ("status", "-w", "--kubeconfig", api.kubeconfig(tmp_path))
        async with started(*words) as running, asyncio.timeout(60):
            assert running.stdout is not None
            assert running.stderr is not None
            head, row = await running.stdout.readline(), await running.stdout.readline()
            first, second = await running.stderr.readline(), await running.stderr.readline()
            running.send_signal(signal.SIGINT)
            rest = await running.communicate()

    assert cells(head.decode().strip()) == COLUMNS
    assert row.startswith(b"g ")
    assert first == b"warning: not read: podgroups: 403 Forbidden: no podgroups for you\n"
    assert second == b"warning: pods are not followed: 403 Forbidden: no pods for you\n"
    assert rest == (b"", b"")


async def test_a_watch_says_that_a_gang_has_gone() -> None:
    async with running_cluster(nodes(1, cpu="2"), services=()) as cluster:
        await cluster.create(pod_group("g", 2))
        async with process(cluster, "status", "g", "-w") as running, asyncio.timeout(60):
            assert running.stdout is not None
            await running.stdout.readuntil(b"NoPods")
            await cluster.delete("PodGroup", "g")
            await running.stdout.readuntil(b"Gone")


@pytest.mark.parametrize(
    ("form", "first", "last"),
    [
        ("name", b"podgroup.scheduling.x-k8s.io/g\n", b"podgroup.scheduling.x-k8s.io/g\n"),
        ("json", b'"phase": "Pending"', b'"phase": "Gone"'),
        ("yaml", b"\nphase: Pending", b"\nphase: Gone"),
    ],
)
async def test_a_watch_writes_one_object_for_each_change(form: str, first: bytes, last: bytes) -> None:
    async with running_cluster(nodes(1, cpu="2"), services=()) as cluster:
        await cluster.create(pod_group("g", 2))
        async with process(cluster, "status", "g", "-w", "-o", form) as running, asyncio.timeout(60):
            assert running.stdout is not None
            seen = await running.stdout.readuntil(first)
            await cluster.delete("PodGroup", "g")
            seen += await running.stdout.readuntil(last)
            running.send_signal(signal.SIGINT)
            seen += await running.stdout.read()

    assert [name.rpartition("/")[2] for name in _objects(form, seen.decode())] == ["g", "g"]


def _objects(form: str, text: str) -> list[str]:
    """Return what each object of an output is called."""
    match form:
        case "json":
            return [json.loads(part + "}")["name"] for part in text.split("\n}\n")[:-1]]
        case "yaml":
            return [each["name"] for each in yaml.safe_load_all(text)]
        case _:
            return text.split()


async def test_a_watch_of_what_does_not_exist_ends_at_once(tmp_path: Path) -> None:
    async with scripted(Answer(200, {})) as api:
        result = await asyncio.to_thread(invoke, "status", "-w", "nosuch", "--kubeconfig", api.kubeconfig(tmp_path))

    assert (result.exit_code, result.stdout) == (1, "")
    assert 'gang "nosuch" not found in namespace default' in result.stderr


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("pool=gpu", ["node/a"]),
        ("pool", ["node/a"]),
        ("!pool", ["node/b"]),
        ("pool in (gpu,cpu)", ["node/a"]),
        ("x", []),
    ],
)
async def test_nodes_are_selected_as_kubectl_selects_them(selector: str, names: list[str], tmp_path: Path) -> None:
    def answer(asked: Asked) -> Answer:
        found = (
            [builders.node("a", labels={"pool": "gpu"}), builders.node("b")] if asked.path.endswith("/nodes") else []
        )
        return Answer(200, {"metadata": {"resourceVersion": "1"}, "items": msgspec.to_builtins(found)})

    async with ScriptedApi(answer) as api:
        words = ("nodes", "-l", selector, "--kubeconfig", api.kubeconfig(tmp_path))
        named = await asyncio.to_thread(invoke, *words, "-o", "name")
        table = await asyncio.to_thread(invoke, *words)

    assert named.stdout.split() == names
    assert table.stderr == ("" if names else "No nodes found.\n")
    assert bool(table.stdout) == bool(names)


async def test_a_watch_ends_when_nobody_reads_it() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(pod_group("g", 2), *pods(1, "g", "g"))
        async with process(cluster, "status", "-w") as running, asyncio.timeout(60):
            assert running.stdout is not None
            assert running.stderr is not None
            await running.stdout.readuntil(b"Pending")
            running.stdout._transport.close()  # type: ignore[attr-defined] # as `head` does; asyncio has no other way
            code, said = await running.wait(), await running.stderr.read()

    assert (code, said) == (0, b"")


async def test_a_watch_goes_on_after_its_connections_were_cut() -> None:
    async with running_cluster(nodes(1, cpu="2")) as cluster:
        await cluster.create(pod_group("g", 2), *pods(1, "g", "g"))
        async with process(cluster, "status", "-w") as running, asyncio.timeout(60):
            assert running.stdout is not None
            await running.stdout.readuntil(b"Pending")
            await cluster.admin("POST", "watches/drop")
            await cluster.create(pod("g-1", "g"))
            await running.stdout.readuntil(b"Running")
            running.send_signal(signal.SIGINT)
            code = await running.wait()

    assert code == 130


async def test_check_against_a_cluster_counts_its_groups_and_nodes(tmp_path: Path) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(yaml.safe_dump(job("j", "g", parallelism=2, completions=2, requests={"cpu": 3})))
    async with running_cluster(nodes(1, cpu="4"), services=("controller",)) as cluster:
        await cluster.create(pod_group("g", 2))

        found = await gangline(cluster, "check", str(manifest))

    assert found.exit_code == 1
    assert "2 members with 3 cpu must start together, and the cluster has room for 1, even empty" in found.stdout
    assert "group-missing" not in found.stdout


@pytest.mark.parametrize("words", [("status",), ("why", "g"), ("nodes",)], ids=" ".join)
def test_no_cluster_is_one_error_that_says_what_to_do(words: tuple[str, ...], tmp_path: Path) -> None:
    silent = write_kubeconfig(tmp_path / "silent", "http://127.0.0.1:9")

    unreachable = invoke(*words, "--kubeconfig", silent)
    absent = invoke(*words, "--kubeconfig", str(tmp_path / "none"))
    elsewhere = invoke(*words, "--kubeconfig", silent, "--context", "nosuch")
    directory = invoke(*words, "--kubeconfig", str(tmp_path))
    results = (unreachable, absent, elsewhere, directory)

    assert [result.exit_code for result in results] == [1, 1, 1, 1]
    assert "kubectl cluster-info" in unreachable.stderr
    assert "--kubeconfig or $KUBECONFIG" in absent.stderr
    assert "error: context 'nosuch' does not exist; there are: " in elsewhere.stderr
    assert f"kubeconfig {tmp_path}: Is a directory" in directory.stderr
    assert not any(result.stdout for result in results)


async def test_an_api_server_that_hangs_costs_no_more_than_the_time_that_was_given(tmp_path: Path) -> None:
    async with ScriptedServer(Exchange.stay_silent) as server:
        config = write_kubeconfig(tmp_path / "config", server.url)
        words = ("--kubeconfig", config, "--request-timeout", "50ms")
        results = [await asyncio.to_thread(invoke, *asked, *words) for asked in (("status",), ("nodes",), ("why", "g"))]

    assert [result.exit_code for result in results] == [1, 1, 1]
    assert all("no answer in time\nThe API server does not answer" in result.stderr for result in results)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5.0), ("5s", 5.0), ("1m30s", 90.0), ("250ms", 0.25), ("0.5h", 1800.0), ("0", None), ("0s", None)],
)
def test_a_time_is_written_as_kubectl_writes_it(text: str, seconds: float | None) -> None:
    command = click.Command("nodes")

    assert duration_s(click.Context(command), click.Option(["--request-timeout"]), text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1s", "5x", "s", "5s ", "1e9s", "\u0663s"])
def test_what_is_no_time_is_refused(text: str) -> None:
    result = invoke("nodes", f"--request-timeout={text}")

    assert result.exit_code == 2
    assert "write 10s, 2m or 1h" in result.stderr


async def test_an_empty_context_is_the_current_one(tmp_path: Path) -> None:
    async with scripted(Answer(200, {})) as api:
        result = await asyncio.to_thread(invoke, "status", "--kubeconfig", api.kubeconfig(tmp_path), "--context", "")

    assert result.exit_code == 0


@pytest.mark.parametrize("body", [b"<html>", b"{}"], ids=["page", "object"])
async def test_what_is_no_api_server_is_told_so(body: bytes, tmp_path: Path) -> None:
    async def other(exchange: Exchange) -> None:
        await exchange.answer(200, body)

    async with ScriptedServer(other) as server:
        config = write_kubeconfig(tmp_path / "config", server.url)
        result = await asyncio.to_thread(invoke, "status", "--kubeconfig", config)

    assert result.exit_code == 1
    assert "Is that an API server?" in result.stderr


CLUSTER: dict[str, Any] = {
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [{"name": "u", "user": {}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "c",
}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\xff\xfe", "can't decode byte 0xff"),
        (b"{a: [", "while parsing"),
        (b"[" * 5000, "recursion"),
        (b"a: 2026-99-99", "month must be in 1..12"),
        (b"", "the file is empty"),
        (b"5", "Expected `object`, got `int`"),
        ({"contexts": 5}, "`$.contexts`"),
        ({"contexts": ["c"]}, "`$.contexts[0]`"),
        ({"contexts": [{"name": "c", "context": "c"}]}, "`$.contexts[0].context`"),
        ({"contexts": [{"name": "c", "context": {"namespace": 5}}]}, "`$.contexts[0].context.namespace`"),
        ({"current-context": ["c"]}, "`$.current-context`"),
        ({"users": [{"name": "u", "user": 5}]}, "has not the form of a kubeconfig"),
        ({"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:99999"}}]}, "Port out of range"),
        ({"clusters": [{"name": "c", "cluster": {"server": "127.0.0.1:6443"}}]}, "write https://HOST:PORT"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_broken_kubeconfig_is_one_error_that_says_what_is_wrong(
    content: bytes | dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(CLUSTER | content).encode())

    result = invoke("status", "--kubeconfig", str(file))

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert complaint in result.stderr
    assert "Name a kubeconfig" in result.stderr


@pytest.mark.parametrize("name", ["..", ".", "a/b", "A", "a\nb", "-a"], ids=repr)
@pytest.mark.parametrize("words", [("status",), ("why", "g")], ids=" ".join)
def test_what_is_no_namespace_is_asked_of_nobody(words: tuple[str, ...], name: str, tmp_path: Path) -> None:
    result = invoke(
        *words, f"--namespace={name}", "--kubeconfig", write_kubeconfig(tmp_path / "c", "http://127.0.0.1:9")
    )

    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error: {name!r} is no name of a namespace" in result.stderr


def scripted(
    views: Answer, *, schedulers: int = 1, others: tuple[str, ...] = (), leases: dict[str, Answer] | None = None
) -> ScriptedApi:
    """An API server with pods of the scheduler, which answer so through the proxy, and a gang that waits.

    In the namespaces of `others` there are pods with the scheduler's label too; `leases` are the Leases by namespace.
    """
    lists = {
        "pods": [
            *(
                builders.pod(
                    f"s-{number}",
                    namespace="gangline-system",
                    labels={"app.kubernetes.io/name": "gangline-scheduler"},
                    phase="Running",
                )
                for number in range(schedulers)
            ),
            *(
                builders.pod(
                    "s-0", namespace=other, labels={"app.kubernetes.io/name": "gangline-scheduler"}, phase="Running"
                )
                for other in others
            ),
            *(builders.pod(f"g-{number}", group="g") for number in range(2)),
        ],
        "podgroups": [builders.group("g", 3)],
        "nodes": [builders.node("n0")],
    }

    def answer(asked: Asked) -> Answer:
        if asked.path.endswith("/proxy/debug/gangs"):
            return views
        if asked.path.endswith("/leases/gangline-scheduler"):
            return (leases or {}).get(asked.path.split("/")[-3], Answer(404, {"reason": "NotFound"}))
        items = lists.get(asked.path.rpartition("/")[2], [])
        return Answer(200, {"metadata": {"resourceVersion": "1"}, "items": msgspec.to_builtins(items)})

    return ScriptedApi(answer)


VIEW = {
    "title": "team/g",
    "namespace": "team",
    "kind": "PodGroup",
    "name": "g",
    "state": "parked",
    "reason": "HeldForGang",
    "message": "room is held",
}


@pytest.mark.parametrize(
    ("views", "source", "unknown"),
    [
        (Answer(200, {"total": 1, "gangs": [VIEW]}), "scheduler", ""),
        (Answer(403, {"reason": "Forbidden", "message": "no pods/proxy"}), "rehearsal", "no pods/proxy"),
        (Answer(200, {"total": 0, "gangs": []}), "rehearsal", "it may be a standby"),
        (Answer(200, {"what": "is this"}), "rehearsal", "does not answer as a scheduler of this version does"),
        (
            Answer(200, {"gangs": [VIEW], "scheduler": {"schedulerNames": []}}),
            "rehearsal",
            "does not answer as a scheduler of this version does",
        ),
    ],
    ids=["answers", "forbidden", "standby", "another program", "answers to no name"],
)
async def test_the_scheduler_s_pod_is_asked_through_the_api_server(
    views: Answer, source: str, unknown: str, tmp_path: Path
) -> None:
    async with scripted(views) as api:
        config = write_kubeconfig(tmp_path / "kubeconfig", api.url)
        words = ("why", "g", "-n", "team", "-o", "json", "--kubeconfig", config)
        answer = json.loads((await asyncio.to_thread(invoke, *words)).stdout)

    assert "/api/v1/namespaces/gangline-system/pods/s-0/proxy/debug/gangs" in {asked.path for asked in api.asked}
    assert answer["source"] == source
    assert unknown in " ".join(answer["unknown"])
    assert not any(asked.method != "GET" for asked in api.asked)


def held_by(host: str) -> Answer:
    return Answer(200, {"metadata": {"name": "gangline-scheduler"}, "spec": {"holderIdentity": f"{host}-0badcafe"}})


REFUSED = Answer(403, {"reason": "Forbidden", "message": "no leases for you"})


@pytest.mark.parametrize(
    ("leases", "asked", "doubt"),
    [
        ({"gangline-system": held_by("s-1")}, {"gangline-system/s-1"}, ""),
        (
            {"gangline-system": held_by("s-1"), "evil": held_by("s-0")},
            {"gangline-system/s-1", "evil/s-0"},
            "each of gangline-system/s-1, evil/s-0 holds a Lease gangline-scheduler",
        ),
        ({}, None, "there is no Lease gangline-system/gangline-scheduler"),
        ({"gangline-system": REFUSED}, None, "no leases for you"),
        ({"gangline-system": held_by("gone")}, None, "gone is no pod that runs"),
        ({"gangline-system": Answer(200, {"metadata": {}})}, None, "nobody holds Lease gangline-system/"),
    ],
    ids=["one", "two", "none", "forbidden", "another", "released"],
)
async def test_the_pod_that_holds_the_lease_is_the_scheduler(
    leases: dict[str, Answer], asked: set[str] | None, doubt: str, tmp_path: Path
) -> None:
    everybody = {"gangline-system/s-0", "gangline-system/s-1", "evil/s-0"}
    async with scripted(Answer(200, {"gangs": [VIEW]}), schedulers=2, others=("evil",), leases=leases) as api:
        words = ("why", "g", "-n", "team", "-o", "json", "--kubeconfig", api.kubeconfig(tmp_path))
        answer = json.loads((await asyncio.to_thread(invoke, *words)).stdout)

    paths = [each.path.split("/") for each in api.asked if each.path.endswith("/proxy/debug/gangs")]
    assert {f"{path[4]}/{path[6]}" for path in paths} == (asked or everybody)
    assert [text for text in answer["unknown"] if "whether it is the scheduler" in text and doubt in text] == (
        answer["unknown"] if doubt else []
    )


async def test_a_scheduler_that_runs_holds_its_lease_by_the_name_of_its_host() -> None:
    host = socket.gethostname()
    async with running_cluster(services=("scheduler",), lease="default/gangline-scheduler") as cluster:
        itself, another = (builders.pod(name, namespace="default") for name in (host, "another"))
        found = await holding(cluster.client, (another, itself))

    assert found == Holding((itself,))


async def test_of_many_pods_that_call_themselves_the_scheduler_s_a_few_are_asked(tmp_path: Path) -> None:
    async with scripted(Answer(403, {"reason": "Forbidden"}), schedulers=30) as api:
        result = await asyncio.to_thread(invoke, "why", "g", "-n", "team", "--kubeconfig", api.kubeconfig(tmp_path))

    assert result.exit_code == 0
    assert sum(asked.path.endswith("/proxy/debug/gangs") for asked in api.asked) == 10

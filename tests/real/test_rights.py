"""The rights of the manifests, taken away one by one: the service says what it lacks, goes on, and recovers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from gangline.contract.meta import Key
from gangline.kube.wire.errors import Conflict
from gangline.kube.wire.resources import PODS
from tests.support.cluster import Cluster, running_cluster
from tests.support.kustomize import MANIFESTS, Object, render, render_with
from tests.support.manifests import gang, nodes, pods
from tests.support.real_cluster import RealCluster
from tests.support.services import Service, eventually

NAMESPACE: Final = "gangline-system"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
PATHS: Final = {
    "ServiceAccount": f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "Role": f"{RBAC}/namespaces/{NAMESPACE}/roles",
    "RoleBinding": f"{RBAC}/namespaces/{NAMESPACE}/rolebindings",
}
WATCH_S: Final = 2
"""An open watch outlives its right; this is how long at most."""
PATIENCE_S: Final = 120.0
ROUNDS_A_TRY: Final = 30
SMALL: Final = {"cpu": "10m"}
LARGE: Final = {"cpu": "100"}
ROOM: Final[dict[str, str | int]] = {"cpu": "9", "pods": 500}

Provoke = Callable[[Cluster, str], Awaitable[None]]


async def nothing(_cluster: Cluster, _name: str) -> None:
    """Watches end by themselves."""


class Right(NamedTuple):
    """One right, how to make the service want it, and whether all else goes on without it."""

    verb: str
    resource: str
    provoke: Provoke = nothing
    rest_goes_on: bool = True


class Rights:
    """The rights of one service, as the manifests grant them, on a cluster."""

    def __init__(self, real: RealCluster, service: str, rendered: list[Object] | None = None) -> None:
        self._real = real
        self.name = f"gangline-{service}"
        found = [each for each in rendered or render(MANIFESTS / "base") if each["kind"] in PATHS]
        self._objects = [each for each in found if each["metadata"]["name"] == self.name]

    async def grant(self) -> None:
        """Create the ServiceAccount, its roles and their bindings."""
        await self._real.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for each in self._objects:
            status, answer = await self._real.request("POST", PATHS[each["kind"]], each)
            assert status == 201, answer

    async def revoke(self) -> None:
        """Delete all of them."""
        for each in self._objects:
            await self._real.request("DELETE", f"{PATHS[each['kind']]}/{self.name}")

    def granted(self) -> set[tuple[str, str]]:
        """Verb and resource of every rule of its ClusterRole."""
        rules = self._role("ClusterRole")["rules"]
        return {(verb, resource) for rule in rules for verb in rule["verbs"] for resource in rule["resources"]}

    async def without(self, verb: str, resource: str, kind: str = "ClusterRole") -> None:
        """Take one right away."""
        role = self._role(kind)
        rules = [_without(rule, verb) if rule["resources"] == [resource] else rule for rule in role["rules"]]
        assert rules != role["rules"], f"{self.name} has no right to {verb} {resource}"
        await self._set(role | {"rules": [rule for rule in rules if rule["verbs"]]})

    async def all(self, kind: str = "ClusterRole") -> None:
        """Give back what was taken away."""
        await self._set(self._role(kind))

    def _role(self, kind: str) -> Object:
        return next(each for each in self._objects if each["kind"] == kind)

    async def _set(self, role: Object) -> None:
        status, answer = await self._real.request("PUT", f"{PATHS[role['kind']]}/{self.name}", role)
        assert status == 200, answer


def _without(rule: dict[str, Any], verb: str) -> dict[str, Any]:
    return rule | {"verbs": [each for each in rule["verbs"] if each != verb]}


@asynccontextmanager
async def serving(
    real: RealCluster, directory: Path, name: str, rendered: list[Object] | None = None, **settings: Any
) -> AsyncIterator[tuple[Cluster, Service, Rights]]:
    """A cluster where one service has nothing but the rights of its manifest; the other may do everything."""
    rights = Rights(real, name, rendered)
    other = next(each for each in ("scheduler", "controller") if each != name)
    async with running_cluster(nodes(1, room=ROOM), services=(other,)) as cluster:
        await rights.grant()
        try:
            token = await real.service_account_token(NAMESPACE, rights.name)
            kubeconfig = real.kubeconfig(directory / f"{name}.kubeconfig", user=rights.name, token=token)
            service = await cluster.start(name, kubeconfig=kubeconfig, watch_s=WATCH_S, **settings)
            yield cluster, service, rights
            await cluster.judged()
            await cluster.stop_all()
        finally:
            await rights.revoke()


async def check(cluster: Cluster, service: Service, rights: Rights, right: Right, name: str) -> None:
    """Take a right away, see it missed, see the rest go on, give it back, and see all be well."""
    await rights.without(right.verb, right.resource)
    await until_said(cluster, service, right, name)
    if right.rest_goes_on:
        await starts(cluster, service, f"{name}-rest")
    await rights.all()
    rounds = count()

    async def is_well() -> bool:
        """Readiness returns once the right has been used again."""
        if next(rounds) % ROUNDS_A_TRY == 0:
            await right.provoke(cluster, f"{name}-again{next(rounds)}")
        return not await service.problems()

    await eventually(is_well, f"{service.name} may {right.verb} {right.resource} again, and is ready", PATIENCE_S)
    await starts(cluster, service, f"{name}-after")


async def until_said(cluster: Cluster, service: Service, right: Right, name: str) -> None:
    """Wait until the service is not ready for want of this right alone, and its metrics say so too."""
    rounds, said = count(), f'cannot {right.verb} resource "{right.resource}"'
    problems: list[str] = []

    async def is_said() -> bool:
        if (number := next(rounds)) % ROUNDS_A_TRY == 0:
            await right.provoke(cluster, f"{name}-try{number}")
        problems[:] = await service.problems()
        return bool(problems)

    await eventually(is_said, f"{service.name} misses its right to {right.verb} {right.resource}", PATIENCE_S)
    assert [said in problem for problem in problems] == [True], problems
    samples = await service.samples()
    assert samples[f"gangline_{service.name}_ready"] == 0
    denied = [key for key, value in samples.items() if "api_requests_total" in key and 'code="403"' in key and value]
    assert any(f'resource="{right.resource}"' in key for key in denied), denied


async def starts(cluster: Cluster, service: Service, name: str) -> None:
    """Let a gang start, and see what this service has to do with it done."""
    await gang_of_two(cluster, name)
    await cluster.until(lambda: cluster.running(name) == 2, f"{name} runs", PATIENCE_S)
    if service.name == "controller":
        await cluster.until(lambda: cluster.phase(name) == "Running", f"the group of {name} says so", PATIENCE_S)


async def gang_of_two(cluster: Cluster, name: str) -> None:
    """Ask for the reading of a group, for binds, a status, and events."""
    await cluster.create(*gang(name, 2, requests=SMALL))


async def gang_without_room(cluster: Cluster, name: str) -> None:
    """Ask for conditions of pods, and for an event when it takes too long."""
    await cluster.create(*gang(name, 2, spec={"scheduleTimeoutSeconds": 1}, requests=LARGE))


async def gang_that_says_something_twice(cluster: Cluster, name: str) -> None:
    """Ask for an event, and half a minute later for its count to be raised."""
    await cluster.create(*gang(name, 2, requests=LARGE))
    for minimum, reason in ((2, "Unschedulable"), (3, "GangIncomplete"), (2, "Unschedulable")):
        await cluster.patch("PodGroup", name, {"spec": {"minMember": minimum}})
        await cluster.until(partial(all_say, cluster, name, reason), f"{name} says {reason}")


def all_say(cluster: Cluster, name: str, reason: str) -> bool:
    return cluster.reasons(name) == [reason] * 2


async def pods_that_another_binds(cluster: Cluster, name: str) -> None:
    """Ask for the reading of pods, as our own binds come too late for some of them."""
    for one in pods(5, name, requests=SMALL):
        made = await cluster.client.create(PODS, "default", one)
        with suppress(Conflict):
            await cluster.client.bind(Key("default", made["metadata"]["name"]), made["metadata"]["uid"], "node-0")


SCHEDULER: Final = (
    *(Right("list", each) for each in ("pods", "nodes", "podgroups", "priorityclasses")),
    Right("watch", "pods", rest_goes_on=False),
    Right("watch", "nodes"),
    Right("watch", "podgroups", rest_goes_on=False),
    Right("watch", "priorityclasses"),
    Right("get", "pods", pods_that_another_binds),
    Right("get", "podgroups", gang_of_two, rest_goes_on=False),
    Right("create", "pods/binding", gang_of_two, rest_goes_on=False),
    Right("patch", "pods/status", gang_without_room),
    Right("create", "events", gang_of_two),
    Right("patch", "events", gang_that_says_something_twice),
)
CONTROLLER: Final = (
    Right("list", "pods"),
    Right("list", "podgroups"),
    Right("watch", "pods", rest_goes_on=False),
    Right("watch", "podgroups", rest_goes_on=False),
    Right("patch", "podgroups/status", gang_of_two, rest_goes_on=False),
    Right("create", "events", gang_without_room),
)
NOT_TAKEN: Final[dict[str, set[tuple[str, str]]]] = {"scheduler": set(), "controller": {("patch", "events")}}
"""The controller says the same twice only of a rival, every ten minutes, and of what the CRD does not let in."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "taken"), [("scheduler", SCHEDULER), ("controller", CONTROLLER)])
async def test_each_right_that_is_missing_is_said_and_everything_else_goes_on(
    real: RealCluster, tmp_path: Path, name: str, taken: tuple[Right, ...]
) -> None:
    async with serving(real, tmp_path, name) as (cluster, service, rights):
        assert {(each.verb, each.resource) for each in taken} | NOT_TAKEN[name] == rights.granted()
        for number, right in enumerate(taken):
            await check(cluster, service, rights, right, f"g{number}")
        for group in list(cluster.groups.values()):
            if not group.metadata.name.endswith("-after"):
                await cluster.delete("PodGroup", group.metadata.name)


async def test_each_right_that_a_component_adds_is_missed_too(real: RealCluster, tmp_path: Path) -> None:
    base = Rights(real, "scheduler").granted()
    rendered = render_with(tmp_path, "pdb-gangs", overlay="default")
    async with serving(real, tmp_path, "scheduler", rendered, budget_gangs=True) as (cluster, service, rights):
        taken = [Right(verb, "poddisruptionbudgets") for verb in ("list", "watch")]
        assert {(each.verb, each.resource) for each in taken} == rights.granted() - base
        for number, right in enumerate(taken):
            await check(cluster, service, rights, right, f"g{number}")


@pytest.mark.parametrize("name", ["scheduler", "controller"])
async def test_without_its_lease_a_service_stands_by_and_says_why(real: RealCluster, tmp_path: Path, name: str) -> None:
    rights = Rights(real, name)
    async with running_cluster(services=()) as cluster:
        await rights.grant()
        token = await real.service_account_token(NAMESPACE, rights.name)
        kubeconfig = real.kubeconfig(tmp_path / f"{name}.kubeconfig", user=rights.name, token=token)
        try:
            for verb in ("create", "get", "patch"):
                await rights.without(verb, "leases", "Role")
                lease = f"{NAMESPACE}/{rights.name}"
                async with cluster.process(name, kubeconfig=kubeconfig, lease=lease) as process:
                    await eventually(partial(stands_by, process.service, verb), f"it may not {verb} leases", PATIENCE_S)
                    assert (await process.service.samples())[f"gangline_{name}_lease_held"] == 0
                    await rights.all("Role")
                    await eventually(partial(is_ready, process.service), "it is ready", PATIENCE_S)
                    assert await process.terminate() == 0
        finally:
            await rights.revoke()


async def test_who_may_not_renew_its_lease_any_more_says_so_and_ends(real: RealCluster, tmp_path: Path) -> None:
    async with running_cluster(services=()) as cluster, asyncio.TaskGroup() as group:
        for name in ("scheduler", "controller"):
            group.create_task(loses_its_lease(real, cluster, tmp_path, name), name=name)


async def loses_its_lease(real: RealCluster, cluster: Cluster, directory: Path, name: str) -> None:
    """Take the right to renew away from the holder; it ends, as it cannot know that it is alone, and is started again."""
    rights = Rights(real, name)
    await rights.grant()
    token = await real.service_account_token(NAMESPACE, rights.name)
    kubeconfig = real.kubeconfig(directory / f"{name}.kubeconfig", user=rights.name, token=token)
    lease = f"{NAMESPACE}/{rights.name}"
    said = 'cannot patch resource "leases"'
    try:
        async with cluster.process(name, kubeconfig=kubeconfig, lease=lease) as holder:
            await eventually(partial(is_ready, holder.service), "it is ready", PATIENCE_S)
            await rights.without("patch", "leases", "Role")
            await eventually(partial(complains, holder.service, said), f"it says what it may not: {said}", PATIENCE_S)
            assert (await holder.service.samples())[f"gangline_{name}_ready"] == 0
            assert await holder.exit_code() == 1
            assert any(said in str(value) for line in holder.records() for value in line.values())
        await rights.all("Role")
        async with cluster.process(name, kubeconfig=kubeconfig, lease=lease) as again:
            await eventually(partial(is_ready, again.service), "it is ready again", PATIENCE_S)
            assert await again.terminate() == 0
    finally:
        await rights.revoke()


async def complains(service: Service, text: str) -> bool:
    return any(text in one for one in await service.problems())


async def stands_by(service: Service, verb: str) -> bool:
    said = f'cannot {verb} resource "leases"'
    return any("the lease is not held" in one and said in one for one in await service.problems())


async def is_ready(service: Service) -> bool:
    return not await service.problems()

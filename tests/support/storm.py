"""A storm: random changes to a cluster, with faults, from one seed.

What is chosen follows from the seed and from what is there at that moment, so two storms of one seed are alike but
not the same: the processes under test have their own pace.
"""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, TypeVar

from gangline.contract.meta import Key
from gangline.contract.names import POD_GROUP_LABEL
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.resources import DEPLOYMENTS, JOBS, NODES, POD_GROUPS, PODS, REPLICA_SETS, Resource
from gangline.sandbox.apiserver.faults import Cut, Delay, DropWatch, Fault, LostReply, Refuse, Rule
from tests.support.cluster import NAMESPACE, Cluster
from tests.support.manifests import Manifest, deployment, job, nodes, pod, pod_group, pods, replica_set

T = TypeVar("T")

LIVE_PODS: Final = 200
"""Above so many pods more is removed than made."""
NODE_CPU: Final = "8"
PHASES_OF_NO_USE: Final = ("Succeeded", "Failed")

_ON_BINDS: Final[tuple[tuple[float, Fault], ...]] = (
    (0.04, LostReply()),
    (0.04, Refuse(500)),
    (0.04, Refuse(429, retry_after_s=1)),
    (0.02, Refuse(409)),
    (0.01, Refuse(403)),
    (0.03, Cut()),
    (0.20, Delay(0.02, jitter=0.2)),
)
_ON_WRITES: Final[tuple[tuple[float, Fault], ...]] = (
    (0.03, Refuse(409)),
    (0.03, Refuse(500)),
    (0.02, LostReply()),
)


def fault_rules() -> Iterator[Rule]:
    """Everything that goes wrong now and then."""
    for probability, fault in _ON_BINDS:
        yield Rule(verb="create", resource="pods", subresource="binding", probability=probability, fault=fault)
    for resource in ("pods", "podgroups"):
        for probability, fault in _ON_WRITES:
            yield Rule(verb="patch", resource=resource, subresource="status", probability=probability, fault=fault)
    yield Rule(verb="get", probability=0.05, fault=Refuse(503))
    yield Rule(verb="list", probability=0.05, fault=Refuse(429, retry_after_s=1))
    yield Rule(verb="watch", probability=0.2, fault=DropWatch(after_writes=20))


class Storm:
    """Makes changes until there have been so many."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._number = 0
        self.changes: Counter[str] = Counter()
        self.refused = 0
        self._makers: tuple[tuple[int, Callable[[], Awaitable[None]]], ...] = (
            (8, self._make_gang),
            (6, self._make_single),
            (3, self._make_pods_before_their_group),
            (2, self._make_replica_set),
            (2, self._make_job),
            (1, self._make_deployment),
            (1, self._make_node),
        )
        self._changers: tuple[tuple[int, Callable[[], Awaitable[None]]], ...] = (
            (4, self._relabel),
            (3, self._edit_minimum),
            (1, self._cordon),
            (1, self._bind_by_another_hand),
            (1, self._put_unreadable_pod),
        )
        self._removers: tuple[tuple[int, Callable[[], Awaitable[None]]], ...] = (
            (12, self._remove_pod),
            (4, self._remove_group),
            (3, self._remove_workload),
            (1, self._remove_node),
        )

    async def blow(self, changes: int) -> None:
        """Make that many more changes."""
        target = self.changes.total() + changes
        while self.changes.total() < target:
            kinds = (self._makers, self._changers, self._removers)
            weights = (3, 2, 1) if len(self._cluster.pods) < LIVE_PODS else (1, 2, 6)
            (actions,) = self._random.choices(kinds, weights)
            (action,) = self._random.choices([each for _, each in actions], [weight for weight, _ in actions])
            await action()

    async def _make_gang(self) -> None:
        name, size = self._name("gang"), self._random.randint(1, 6)
        minimum = self._random.choice((None, 1, size, size, size, size + 1))
        bodies = [pod_group(name, minimum), *pods(size, name, name, **self._shape())]
        self._random.shuffle(bodies)
        await self._create(*bodies)

    async def _make_single(self) -> None:
        await self._create(pod(self._name("single"), **self._shape()))

    async def _make_pods_before_their_group(self) -> None:
        name = self._name("late")
        await self._create(*pods(3, name, name, **self._shape()))
        if self._random.random() < 0.8:
            await self._create(pod_group(name, self._random.randint(2, 4)))

    async def _make_replica_set(self) -> None:
        name = self._name("set")
        await self._create(pod_group(name, 2), replica_set(name, 4, name, requests={"cpu": 1}))

    async def _make_job(self) -> None:
        name = self._name("job")
        body = job(name, name, parallelism=3, completions=6, run_s=0.5, requests={"cpu": 1})
        await self._create(pod_group(name, 3), body)

    async def _make_deployment(self) -> None:
        await self._create(deployment(self._name("shadow"), 3, shadow=3, requests={"cpu": 1}))

    async def _make_node(self) -> None:
        await self._try(
            "create node", self._cluster.add_nodes(nodes(1, self._name("node"), cpu=NODE_CPU, memory="8Gi"))
        )

    async def _relabel(self) -> None:
        one, group = self._any(self._cluster.pods), self._any(self._cluster.groups)
        if one is None:
            return
        label = group.name if group is not None and self._random.random() < 0.8 else None
        await self._patch(PODS, one, {"metadata": {"labels": {POD_GROUP_LABEL: label}}}, "relabel pod")

    async def _edit_minimum(self) -> None:
        group = self._any(self._cluster.groups)
        if group is not None:
            minimum = self._random.randint(1, 5)
            await self._patch(POD_GROUPS, group, {"spec": {"minMember": minimum}}, "edit minMember")

    async def _cordon(self) -> None:
        node = self._any(self._cluster.nodes)
        if node is not None:
            cordoned = self._random.random() < 0.3
            await self._patch(NODES, node, {"spec": {"unschedulable": cordoned}}, "cordon node")

    async def _bind_by_another_hand(self) -> None:
        waiting = {key: one for key, one in self._cluster.pods.items() if not one.spec.node_name}
        one, node = self._any(waiting), self._any(self._cluster.nodes)
        if one is not None and node is not None:
            uid = waiting[one].metadata.uid
            self._cluster.history.bound_by_others.add(uid)
            await self._try("foreign bind", self._cluster.client.bind(one, uid, node.name))

    async def _put_unreadable_pod(self) -> None:
        node = self._any(self._cluster.nodes)
        if node is None or any(key.name.startswith("unreadable") for key in self._cluster.pods):
            return
        name = self._name("unreadable")
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"nodeName": node.name, "containers": "none"},
            "status": {"phase": "Running"},
        }
        await self._cluster.admin("POST", "objects", body)
        self.changes["put unreadable pod"] += 1
        if self._random.random() < 0.9:
            await self._delete(PODS, Key(NAMESPACE, name), grace_period_s=0)

    async def _remove_pod(self) -> None:
        finished = {key: one for key, one in self._cluster.pods.items() if one.status.phase in PHASES_OF_NO_USE}
        one = self._any(finished if finished and self._random.random() < 0.5 else self._cluster.pods)
        if one is not None:
            await self._delete(PODS, one, grace_period_s=self._random.choice((0, None)))

    async def _remove_group(self) -> None:
        group = self._any(self._cluster.groups)
        if group is None:
            return
        await self._delete(POD_GROUPS, group)
        for one in self._cluster.of(group.name):
            if self._random.random() < 0.9:
                await self._delete(PODS, one.metadata.key)

    async def _remove_workload(self) -> None:
        prefix, resource = self._random.choice((("set-", REPLICA_SETS), ("job-", JOBS), ("shadow-", DEPLOYMENTS)))
        names = sorted({(one.metadata.labels or {}).get("app", "") for one in self._cluster.pods.values()})
        owners = [name for name in names if name.startswith(prefix)]
        if owners:
            name = self._random.choice(owners)
            await self._delete(resource, Key(NAMESPACE, name))
            await self._delete(POD_GROUPS, Key(NAMESPACE, name))

    async def _remove_node(self) -> None:
        if len(self._cluster.nodes) > 10:
            node = self._any(self._cluster.nodes)
            assert node is not None
            await self._delete(NODES, node)
            if self._random.random() < 0.8:
                await self._make_node()

    def _shape(self) -> dict[str, Any]:
        lives = self._random.choice((None, None, None, 0.2, 2.0))
        shape: dict[str, Any] = {"requests": {"cpu": self._random.randint(1, 4)}}
        if lives is not None:
            exit_code = self._random.choice((0, 0, 0, 1))
            shape |= {"run_s": lives, "exit_code": exit_code, "restartPolicy": "Never"}
        return shape

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}"

    def _any(self, things: dict[Key, T]) -> Key | None:
        return self._random.choice(sorted(things)) if things else None

    async def _create(self, *bodies: Manifest) -> None:
        for body in bodies:
            await self._try(f"create {body['kind']}", self._cluster.create(body))

    async def _patch(self, resource: Resource, key: Key, patch: dict[str, Any], what: str) -> None:
        await self._try(what, self._cluster.client.patch(resource, key, patch))

    async def _delete(self, resource: Resource, key: Key, grace_period_s: int | None = None) -> None:
        await self._try(
            f"delete {resource.kind}",
            self._cluster.client.delete(resource, key, grace_period_s=grace_period_s, propagation="Background"),
        )

    async def _try(self, what: str, change: Awaitable[Any]) -> None:
        """Carry out a change; one that comes too late, or meets a fault, is no change."""
        try:
            await change
        except ApiError:
            self.refused += 1
        else:
            self.changes[what] += 1

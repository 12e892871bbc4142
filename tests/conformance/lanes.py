"""A lane: nodes of its own on a cluster that many share. Its pods go there alone, so lanes do not meet."""

from typing import Any, Final

from gangline.contract.meta import Key
from gangline.kube.wire.resources import LEASES, NODES
from gangline.sandbox.kubelets.nodes import NodeGroup
from tests.support import manifests
from tests.support.cluster import NAMESPACE, Cluster
from tests.support.manifests import Manifest
from tests.support.services import eventually

LABEL: Final = "lane"
UNSCHEDULABLE: Final = "Unschedulable"


class Lane:
    """Makes and sees what is in one lane. Names are short: all objects are called `lane-name`."""

    def __init__(self, cluster: Cluster, id_: str) -> None:
        self.cluster = cluster
        self.name = id_.lower().replace("#", "-")

    @property
    def resource(self) -> str:
        """A resource that only this lane's nodes have: sums over the cluster are sums over the lane."""
        return f"example.com/{self.name}"

    def called(self, name: str) -> str:
        """The whole name of an object."""
        return f"{self.name}-{name}"

    async def room(self, count: int = 1, name: str = "n", **room: str | int) -> None:
        """Bring up nodes with this much each; a resource of the lane's own is called `own`."""
        amounts = {self.resource if resource == "own" else resource: amount for resource, amount in room.items()}
        group = NodeGroup(
            name=self.called(name), count=count, labels={LABEL: self.name}, allocatable={"cpu": "64", **amounts}
        )
        await self.cluster.add_nodes(group)

    async def set_room(self, name: str, **room: str | int) -> None:
        """Change how much a node has."""
        amounts = {self.resource if resource == "own" else resource: str(amount) for resource, amount in room.items()}
        patch = {"status": {"allocatable": amounts}}
        await self.cluster.client.patch(NODES, Key("", self.called(name)), patch, subresource="status")

    async def cordon(self, *names: str, unschedulable: bool = True) -> None:
        """Close nodes, or open them again."""
        for name in names:
            patch = {"spec": {"unschedulable": unschedulable or None}}
            await self.cluster.client.patch(NODES, Key("", self.called(name)), patch)

    def group(self, name: str, minimum: int | None, **spec: Any) -> Manifest:
        """A PodGroup; `own` is how much it asks for of the lane's own resource in all."""
        own = spec.pop("own", None)
        asked = {"minResources": {self.resource: own}} if own is not None else {}
        return manifests.pod_group(self.called(name), minimum, **asked, **spec)

    def pod(self, name: str, group: str | None = None, **more: Any) -> Manifest:
        """A pod that goes to this lane's nodes."""
        if own := more.pop("own", None):
            more["requests"] = {"cpu": "10m", self.resource: own}
        return manifests.pod(
            self.called(name), self.called(group) if group else None, nodeSelector={LABEL: self.name}, **more
        )

    def pods(self, count: int, name: str, group: str | None = None, *, first: int = 0, **more: Any) -> list[Manifest]:
        """Pods name-0, name-1 ..."""
        return [self.pod(f"{name}-{number}", group, **more) for number in range(first, first + count)]

    def gang(self, name: str, count: int, *, minimum: int | None = None, **more: Any) -> list[Manifest]:
        """A PodGroup and its pods; minMember is their number unless given."""
        return [self.group(name, minimum or count), *self.pods(count, name, name, **more)]

    async def create(self, *bodies: Manifest) -> None:
        """Create objects, one after the other."""
        await self.cluster.create(*bodies)

    async def edit(self, name: str, **spec: Any) -> None:
        """Change the spec of a PodGroup."""
        await self.cluster.patch("PodGroup", self.called(name), {"spec": spec})

    async def remove(self, *names: str) -> None:
        """Delete pods at once."""
        for name in names:
            await self.cluster.delete("Pod", self.called(name), grace_period_s=0)

    def running(self, name: str) -> int:
        """How many pods of this name run."""
        return self.cluster.running(self.called(name))

    async def runs(self, **numbers: int) -> None:
        """Wait until so many pods of each name run."""
        await self.cluster.until(
            lambda: {name: self.running(name) for name in numbers} == numbers, f"{self.name}: {numbers} run"
        )

    async def waits(self, name: str, count: int, *words: str, reason: str = UNSCHEDULABLE) -> None:
        """Wait until so many pods of this name wait for this reason, and say these words."""
        called = self.called(name)

        def holds() -> bool:
            said = self.cluster.messages(called)
            return self.cluster.reasons(called) == [reason] * count and all(
                word in one for one in said for word in words
            )

        await self.cluster.until(holds, f"{called}: {count} wait for {reason} and speak of {words}")

    async def says(self, name: str, reason: str) -> None:
        """Wait until a pod has an Event of this reason."""
        called = self.called(name)
        await self.cluster.until(lambda: reason in self.cluster.said_of("Pod", called), f"{called}: {reason}")

    def nodes_of(self, name: str) -> set[str]:
        """The nodes on which pods of this name are."""
        found = self.cluster.of(self.called(name))
        return {one.spec.node_name.removeprefix(f"{self.name}-") for one in found if one.spec.node_name}

    async def until_later(self) -> None:
        """Wait for the API server's next second: times of creation have whole ones."""
        first = await self._now()

        async def has_passed() -> bool:
            return await self._now() > first

        await eventually(has_passed, "the API server's clock goes on")

    async def _now(self) -> str:
        key = Key(NAMESPACE, self.called("clock"))
        made = await self.cluster.client.create(LEASES, NAMESPACE, {"metadata": {"name": key.name}})
        await self.cluster.client.delete(LEASES, key)
        time: str = made["metadata"]["creationTimestamp"]
        return time

"""Nodes for the kubelets to bring up: from a count, or from a cluster file.

nodes:
  - name: gpu            # gpu-0, gpu-1; without a count exactly "gpu"
    count: 2
    labels: {zone: east}
    taints: [{key: gpu, effect: NoSchedule}]
    allocatable: {cpu: "64", memory: 512Gi, example.com/gpu: 8}
"""

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Struct

from gangline.contract.node import Taint
from gangline.contract.pod import Quantity
from gangline.contract.requests import amount_of
from gangline.contract.timestamps import timestamp
from gangline.sandbox.kubelets.podlife import node_ip

POD_SLOTS: Final = "110"
KUBELET_LABEL: Final = "sandbox.gangline.dev/kubelet"
"""Nodes with this label are run by `gangline kubelets`, wherever they came from."""

STOPPED_ANNOTATION: Final = "sandbox.gangline.dev/stopped"
"""A node with this annotation has a kubelet that does nothing: no pod moves, no lease is renewed."""

KUBELET_CONDITIONS: Final = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("KubeletReady", "kubelet is posting ready status"),
}
"""Reason and message of each condition while all is well; all but Ready are then False."""


class ClusterFileError(ValueError):
    """The nodes that are asked for cannot be; the message says which and why."""


class NodeGroup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nodes that differ by their index alone."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9.]{0,50}[a-z0-9])?$")] = "node"
    count: Annotated[int, msgspec.Meta(ge=0, le=20_000)] | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    allocatable: dict[str, Quantity] = {}

    @property
    def node_names(self) -> tuple[str, ...]:
        """Names of the group's nodes."""
        return (self.name,) if self.count is None else tuple(f"{self.name}-{index}" for index in range(self.count))


class ClusterFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    nodes: tuple[NodeGroup, ...] = ()


def uniform(count: int, *, cpu: str, memory: str) -> tuple[NodeGroup, ...]:
    """Describe `count` equal nodes, `node-0` and so on."""
    return (NodeGroup(count=count, allocatable={"cpu": cpu, "memory": memory}),)


def read_cluster_file(path: Path) -> tuple[NodeGroup, ...]:
    """Read and check a cluster file; raise ClusterFileError."""
    try:
        return checked(msgspec.yaml.decode(path.read_bytes(), type=ClusterFile).nodes)
    except (OSError, msgspec.MsgspecError, ClusterFileError) as error:
        raise ClusterFileError(f"cluster file {path}: {error}") from error


def checked(groups: tuple[NodeGroup, ...]) -> tuple[NodeGroup, ...]:
    """Return the groups if names differ and amounts can be read; raise ClusterFileError."""
    for group in groups:
        for resource, quantity in group.allocatable.items():
            try:
                amount = amount_of(resource, quantity)
            except ValueError as error:
                raise ClusterFileError(f"nodes {group.name!r}, allocatable {resource}: {error}") from error
            if amount < 0:
                raise ClusterFileError(f"nodes {group.name!r}, allocatable {resource}: {quantity} is less than nothing")
    names = Counter(name for group in groups for name in group.node_names)
    if doubled := sorted(name for name, times in names.items() if times > 1):
        raise ClusterFileError(f"node names must differ, these repeat: {', '.join(doubled)}")
    return groups


def node_objects(group: NodeGroup, now: datetime) -> list[dict[str, Any]]:
    """Build the Node objects, as kubelets register them."""
    return [_node_object(group, name, now) for name in group.node_names]


def node_status(name: str, now: datetime) -> dict[str, Any]:
    """Build what a kubelet that works says of its node: conditions and addresses."""
    times = {"lastHeartbeatTime": timestamp(now), "lastTransitionTime": timestamp(now)}
    return {
        "conditions": [
            {"type": type_, "status": str(type_ == "Ready"), "reason": reason, "message": message, **times}
            for type_, (reason, message) in KUBELET_CONDITIONS.items()
        ],
        "addresses": [{"type": "InternalIP", "address": node_ip(name)}, {"type": "Hostname", "address": name}],
    }


def _node_object(group: NodeGroup, name: str, now: datetime) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    allocatable = {"pods": POD_SLOTS} | {resource: str(amount) for resource, amount in group.allocatable.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels | {KUBELET_LABEL: "simulated"} | group.labels,
            "annotations": group.annotations,
        },
        "spec": {"taints": [msgspec.to_builtins(taint) for taint in group.taints]} if group.taints else {},
        "status": {"capacity": allocatable, "allocatable": allocatable, **node_status(name, now)},
    }

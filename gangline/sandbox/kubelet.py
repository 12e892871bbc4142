"""The kubelets of all simulated nodes, as one: what to write next for a pod or a node.

`Kubelets` decides and keeps only what a restart finds again in the API: which pods were accepted, and since when
(to a fraction of a second). `kubelets.run_kubelets` connects it with an API server, the sandbox's or any other.
"""

from datetime import datetime, timedelta
from typing import Final

from gangline.contract.meta import Key
from gangline.contract.node import Node, NodeStatus
from gangline.contract.requests import allocatable, pod_requests
from gangline.kube.wire.requests import APPLY_PATCH, STRATEGIC_PATCH
from gangline.kube.wire.resources import LEASES, NODES, PODS
from gangline.sandbox import podlife
from gangline.sandbox.actions import Action, Decision, Delete, Patch
from gangline.sandbox.admission import Admissions
from gangline.sandbox.cache import Cache
from gangline.sandbox.nodes import KUBELET_LABEL, POD_SLOTS, ready_condition
from gangline.sandbox.objects import RunNode, RunPod
from gangline.sandbox.podlife import Behaviour, Rejection, Status

LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40


class Kubelets:
    """Decides for every pod on a node that it serves: all nodes, or those with the label `KUBELET_LABEL`."""

    def __init__(self, pods: Cache[RunPod], nodes: Cache[RunNode], *, every_node: bool) -> None:
        self._pods = pods
        self._nodes = nodes
        self._every_node = every_node
        self._admissions = Admissions()
        self._since: dict[str, datetime] = {}

    def serves(self, name: str | None) -> RunNode | None:
        """Find the node, if it is one of ours."""
        node = self._nodes.get(Key("", name)) if name else None
        if node is None or not (self._every_node or KUBELET_LABEL in (node.metadata.labels or {})):
            return None
        return node

    def observe(self, old: RunPod | None, new: RunPod | None) -> None:
        """Take note of what a pod holds, or that it holds nothing any more."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._forget(old)
        if new is None:
            return
        if podlife.is_finished(new):
            self._forget(new)
        elif new.status.start_time is not None and new.spec.node_name:
            self._admissions.hold(new.metadata.uid, new.spec.node_name, _requests(new))

    def decide_pod(self, key: Key, now: datetime) -> Decision:
        """Say what comes next for a pod."""
        pod = self._pods.get(key)
        node = self.serves(pod.spec.node_name) if pod is not None else None
        if pod is None or node is None:
            return Decision()
        if podlife.is_finished(pod):
            return _removal(pod) if pod.metadata.deletion_timestamp else Decision()
        behaviour = podlife.behaviour_of(pod)
        if isinstance(behaviour, Rejection):
            return _status(pod, podlife.rejected(behaviour, now))
        if pod.metadata.deletion_timestamp:
            exit_code = podlife.TERMINATED_BY_SIGNAL if behaviour.exit_code is None else behaviour.exit_code
            return _status(pod, podlife.finished(pod, exit_code, now))
        if pod.status.start_time is None:
            return self._accept(pod, node, now)
        return self._progress(pod, behaviour, now)

    def _accept(self, pod: RunPod, node: RunNode, now: datetime) -> Decision:
        try:
            room = allocatable(_contract_node(node))
            rejection = self._admissions.admit(pod.metadata.uid, node.metadata.name, pod_requests(pod), room)
        except ValueError as error:
            rejection = Rejection(reason="UnexpectedAdmissionError", message=str(error))
        if rejection is not None:
            return _status(pod, podlife.rejected(rejection, now))
        self._since[pod.metadata.uid] = now
        return _status(pod, podlife.creating(pod, now))

    def _progress(self, pod: RunPod, behaviour: Behaviour, now: datetime) -> Decision:
        runs = podlife.is_running(pod)
        wait_s = behaviour.run_s if runs else behaviour.start_delay_s
        if wait_s is None:
            return Decision()
        since = self._since.get(pod.metadata.uid) or podlife.started_at(pod) or now
        left_s = (since + timedelta(seconds=wait_s) - now).total_seconds()
        if left_s > 0:
            return Decision(again_in_s=left_s)
        if runs:
            return _status(pod, podlife.finished(pod, behaviour.exit_code or 0, now))
        self._since[pod.metadata.uid] = now
        return _status(pod, podlife.running(pod, now))

    def _forget(self, pod: RunPod) -> None:
        self._admissions.release(pod.metadata.uid)
        self._since.pop(pod.metadata.uid, None)


def decide_node(node: RunNode, now: datetime, *, heartbeat_s: float | None) -> Decision:
    """Say what keeps a node Ready: its condition and capacity and, where somebody watches for it, its lease."""
    actions: list[Action] = []
    room = node.status.allocatable or node.status.capacity or {"pods": POD_SLOTS}
    if not (_is_ready(node) and node.status.allocatable):
        status = {"conditions": [ready_condition(now)], "capacity": node.status.capacity or room, "allocatable": room}
        actions.append(
            Patch(
                resource=NODES,
                key=node.metadata.key,
                body={"metadata": {"uid": node.metadata.uid}, "status": status},
                subresource="status",
                content_type=STRATEGIC_PATCH,
            )
        )
    if heartbeat_s is not None:
        actions.append(_heartbeat(node, now))
    return Decision(actions=tuple(actions), again_in_s=heartbeat_s)


def _heartbeat(node: RunNode, now: datetime) -> Patch:
    """Renew the lease that says the node lives, or create it."""
    owner = {"apiVersion": "v1", "kind": NODES.kind, "name": node.metadata.name, "uid": node.metadata.uid}
    body = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": node.metadata.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": node.metadata.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
    key = Key(LEASE_NAMESPACE, node.metadata.name)
    return Patch(resource=LEASES, key=key, body=body, content_type=APPLY_PATCH)


def _requests(pod: RunPod) -> dict[str, int]:
    try:
        return pod_requests(pod)
    except ValueError:
        return {"pods": 1}


def _contract_node(node: RunNode) -> Node:
    return Node(metadata=node.metadata, status=NodeStatus(allocatable=node.status.allocatable))


def _is_ready(node: RunNode) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions or ())


def _status(pod: RunPod, status: Status) -> Decision:
    patch = Patch(
        resource=PODS,
        key=pod.metadata.key,
        body={"metadata": {"uid": pod.metadata.uid}, "status": status},
        subresource="status",
        content_type=STRATEGIC_PATCH,
    )
    return Decision(actions=(patch,))


def _removal(pod: RunPod) -> Decision:
    return Decision(actions=(Delete(resource=PODS, key=pod.metadata.key, uid=pod.metadata.uid, grace_period_s=0),))

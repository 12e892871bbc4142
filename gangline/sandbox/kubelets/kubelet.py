"""The kubelets of all simulated nodes, as one: what to write next for a pod or a node.

`Kubelets` decides and keeps only what a restart finds again in the API: which pods were accepted, and since when
(to a fraction of a second). `run.run_kubelets` connects it with an API server, the sandbox's or any other.
"""

import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from gangline.contract.meta import Key
from gangline.contract.node import Node
from gangline.contract.requests import allocatable, pod_requests
from gangline.contract.timestamps import microtime
from gangline.kube.wire.requests import APPLY_PATCH
from gangline.kube.wire.resources import LEASES, NODES
from gangline.sandbox.kubelets import podlife
from gangline.sandbox.kubelets.admission import Admissions
from gangline.sandbox.kubelets.nodes import KUBELET_LABEL, POD_SLOTS, STOPPED_ANNOTATION, node_status
from gangline.sandbox.kubelets.podlife import Behaviour, Rejection, Status
from gangline.sandbox.objects import podstate
from gangline.sandbox.objects.core import LEASE_NAMESPACE, RunNode, RunPod, has_condition
from gangline.sandbox.reconciling.actions import Action, Decision, Note, Patch, delete, report
from gangline.sandbox.reconciling.world import World

HEARTBEATS_PER_LEASE: Final = 4

Change = Callable[[RunPod, datetime], Status]
"""Makes the status of a pod."""


class Kubelets:
    """Decides for every node that it serves, all or those with the label `KUBELET_LABEL`, and for the pods on them.

    Leases are renewed every `heartbeat_s` seconds.
    """

    def __init__(self, *, every_node: bool, heartbeat_s: float) -> None:
        self._every_node = every_node
        self._heartbeat_s = heartbeat_s
        self._admissions = Admissions()
        self._since: dict[str, datetime] = {}

    def serves(self, node: RunNode) -> bool:
        """Tell whether the node is one of ours and its kubelet has not been stopped."""
        is_ours = self._every_node or KUBELET_LABEL in (node.metadata.labels or {})
        return is_ours and STOPPED_ANNOTATION not in (node.metadata.annotations or {})

    def observe(self, old: RunPod | None, new: RunPod | None) -> None:
        """Take note of what a pod holds, or that it holds nothing any more."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._forget(old)
        if new is None:
            return
        if podstate.is_finished(new):
            self._forget(new)
        elif new.status.start_time is not None and new.spec.node_name:
            self._admissions.hold(new.metadata.uid, new.spec.node_name, _requests(new))

    def decide_node(self, node: RunNode, world: World) -> Decision:
        """Say what keeps a node Ready: its conditions and capacity, and its lease."""
        if not self.serves(node):
            return Decision()
        actions: list[Action] = [_heartbeat(node, world.now, self._heartbeat_s)]
        notes: tuple[Note, ...] = ()
        room = node.status.allocatable or node.status.capacity or {"pods": POD_SLOTS}
        if not (has_condition(node, "Ready", "True") and node.status.allocatable):
            name, capacity = node.metadata.name, node.status.capacity or room
            actions.append(report(node, capacity=capacity, allocatable=room, **node_status(name, world.now)))
            notes = (Note("NodeReady", f"Node {name} status is now: NodeReady"),)
        return Decision(actions=tuple(actions), notes=notes, again_in_s=self._heartbeat_s)

    def decide_pod(self, pod: RunPod, world: World) -> Decision:
        """Say what comes next for a pod."""
        node = world.node(pod)
        if node is None or not self.serves(node):
            return Decision()
        if podstate.is_finished(pod):
            return Decision(actions=(delete(pod, grace_period_s=0),) if pod.metadata.deletion_timestamp else ())
        behaviour = podlife.behaviour_of(pod)
        if isinstance(behaviour, Rejection):
            return _status(pod, podlife.rejected(behaviour, world.now))
        if pod.metadata.deletion_timestamp:
            exit_code = podlife.TERMINATED_BY_SIGNAL if behaviour.exit_code is None else behaviour.exit_code
            return _status(pod, podlife.finished(pod, world.now, exit_code=exit_code))
        if pod.status.start_time is None:
            return self._accept(pod, node, world.now)
        return self._progress(pod, behaviour, world)

    def _accept(self, pod: RunPod, node: RunNode, now: datetime) -> Decision:
        try:
            room = allocatable(Node(metadata=node.metadata, status=node.status))
            rejection = self._admissions.admit(pod.metadata.uid, node.metadata.name, pod_requests(pod), room)
        except ValueError as error:
            rejection = Rejection(reason="UnexpectedAdmissionError", message=str(error))
        if rejection is not None:
            return _status(pod, podlife.rejected(rejection, now))
        self._since[pod.metadata.uid] = now
        return _status(pod, podlife.creating(pod, now))

    def _progress(self, pod: RunPod, behaviour: Behaviour, world: World) -> Decision:
        since = self._since.get(pod.metadata.uid) or podstate.started_at(pod) or world.now
        coming = [
            ((since + timedelta(seconds=wait_s / world.pace.speed) - world.now).total_seconds(), change)
            for wait_s, change in _coming(pod, behaviour)
        ]
        due = [change for left_s, change in coming if left_s <= 0]
        if not due:
            return Decision(again_in_s=min((left_s for left_s, _ in coming), default=None))
        if due[-1] is not podlife.made_ready:
            self._since[pod.metadata.uid] = world.now
        return _status(pod, due[-1](pod, world.now))

    def _forget(self, pod: RunPod) -> None:
        self._admissions.release(pod.metadata.uid)
        self._since.pop(pod.metadata.uid, None)


def _coming(pod: RunPod, behaviour: Behaviour) -> list[tuple[float, Change]]:
    """Say what comes to a pod that its node has accepted, how many seconds after the last thing; the end comes last."""
    if not podstate.is_running(pod) or podstate.is_backing_off(pod):
        wait_s = podlife.restart_delay_s(pod) if podstate.is_running(pod) else behaviour.start_delay_s
        return [(wait_s, partial(podlife.running, ready=behaviour.ready_delay_s == 0))]
    coming: list[tuple[float, Change]] = []
    if podstate.ready_since(pod) is None:
        coming.append((behaviour.ready_delay_s, podlife.made_ready))
    if behaviour.run_s is not None:
        exit_code = behaviour.exit_code or 0
        end = podlife.backing_off if podlife.restarts_after(pod, exit_code) else podlife.finished
        coming.append((behaviour.run_s, partial(end, exit_code=exit_code)))
    return coming


def _heartbeat(node: RunNode, now: datetime, heartbeat_s: float) -> Patch:
    """Renew the lease that says the node lives, or create it."""
    owner = {"apiVersion": "v1", "kind": NODES.kind, "name": node.metadata.name, "uid": node.metadata.uid}
    body = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": node.metadata.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": node.metadata.name,
            "leaseDurationSeconds": math.ceil(HEARTBEATS_PER_LEASE * heartbeat_s),
            "renewTime": microtime(now),
        },
    }
    key = Key(LEASE_NAMESPACE, node.metadata.name)
    return Patch(resource=LEASES, key=key, body=body, content_type=APPLY_PATCH)


def _requests(pod: RunPod) -> dict[str, int]:
    try:
        return pod_requests(pod)
    except ValueError:
        return {"pods": 1}


def _status(pod: RunPod, status: Status) -> Decision:
    return Decision(actions=(report(pod, **status),), notes=tuple(_notes(pod, status)))


def _notes(pod: RunPod, status: Status) -> Iterator[Note]:
    """Say what happens to the containers on the way to a status, as a kubelet does."""
    was_up = podstate.is_running(pod) and not podstate.is_backing_off(pod)
    if "message" in status:
        yield Note(status["reason"], status["message"].removeprefix(podlife.REJECTED), "Warning")
    for container in status.get("containerStatuses", ()):
        name, image = container["name"], container["image"]
        match container["state"]:
            case {"running": _} if not was_up:
                present = f'Container image "{image}" already present on machine and can be accessed by the pod'
                yield Note("Pulled", present)
                yield Note("Created", "Container created")
                yield Note("Started", "Container started")
            case {"terminated": _} if was_up and pod.metadata.deletion_timestamp:
                yield Note("Killing", f"Stopping container {name}")
            case {"waiting": {"reason": "CrashLoopBackOff"}}:
                of = f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"
                yield Note("BackOff", f"Back-off restarting failed container {name} in pod {of}", "Warning")

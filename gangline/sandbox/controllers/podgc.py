"""Pods whose node does not exist: after a while they are marked Failed and removed (kube-controller-manager podgc)."""

from datetime import datetime, timedelta

from gangline.contract.meta import Key
from gangline.kube.wire.requests import STRATEGIC_PATCH
from gangline.kube.wire.resources import PODS
from gangline.sandbox.actions import Decision, Delete, Patch
from gangline.sandbox.cache import Cache
from gangline.sandbox.objects import RunNode, RunPod, timestamp
from gangline.sandbox.podlife import is_finished


class LostPods:
    """Decides for every pod; `grace_s` is how long its node may be missing."""

    def __init__(self, pods: Cache[RunPod], nodes: Cache[RunNode], *, grace_s: float) -> None:
        self._pods = pods
        self._nodes = nodes
        self._grace_s = grace_s
        self._missing_since: dict[str, datetime] = {}

    def decide(self, key: Key, now: datetime) -> Decision:
        """Say whether a pod is lost, and what comes next."""
        pod = self._pods.get(key)
        node = pod.spec.node_name if pod is not None else None
        if pod is None or not node:
            return Decision()
        if self._nodes.get(Key("", node)) is not None:
            self._missing_since.pop(node, None)
            return Decision()
        since = self._missing_since.setdefault(node, now)
        left_s = (since + timedelta(seconds=self._grace_s) - now).total_seconds()
        if left_s > 0:
            return Decision(again_in_s=left_s)
        return _remove(pod) if is_finished(pod) else _fail(pod, now)


def _fail(pod: RunPod, now: datetime) -> Decision:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
        "lastTransitionTime": timestamp(now),
    }
    body = {"metadata": {"uid": pod.metadata.uid}, "status": {"phase": "Failed", "conditions": [condition]}}
    patch = Patch(resource=PODS, key=pod.metadata.key, body=body, subresource="status", content_type=STRATEGIC_PATCH)
    return Decision(actions=(patch,))


def _remove(pod: RunPod) -> Decision:
    return Decision(actions=(Delete(resource=PODS, key=pod.metadata.key, uid=pod.metadata.uid, grace_period_s=0),))

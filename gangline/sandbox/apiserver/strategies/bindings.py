"""Binding: a pod gets its node (`registry/core/pod/storage`, BindingREST of kube-apiserver).

A node that does not exist is accepted; the reply carries no resourceVersion.
"""

from typing import Any

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.kinds import BINDINGS, PODS
from gangline.sandbox.apiserver.schema import bodies
from gangline.sandbox.apiserver.schema.bodies import FieldValidation
from gangline.sandbox.apiserver.store import Change, Object
from gangline.sandbox.apiserver.strategies.podtemplates import pod_condition, with_condition
from gangline.sandbox.apiserver.strategies.strategy import ClusterState


def bind(state: ClusterState, namespace: str, name: str, body: Any, *, dry_run: bool) -> None:
    """Bind the pod; raises 400, 404, 409 and 500 Failures.

    `name` is that of the URL; a binding posted to the collection is for the pod that it names itself.
    """
    binding = bodies.check_envelope(BINDINGS, namespace, body)
    bodies.reviewed(BINDINGS, binding, None, FieldValidation.IGNORE)
    metadata = binding["metadata"]
    name = name or metadata.get("name", "")
    node = _node(binding)
    if metadata.get("name") != name:
        raise failures.bad_request("name in URL does not match name in Binding object")
    key = f"{namespace}/{name}"
    version = state.store.get(PODS.resource, key)
    if version is None:
        raise failures.not_found(PODS, name)
    pod = version.object
    uid = metadata.get("uid")
    if uid and uid != pod["metadata"]["uid"]:
        raise failures.wrong_uid(PODS, key, name, wanted=uid, found=pod["metadata"]["uid"])
    obstacle = _obstacle(pod, name)
    if obstacle:
        raise failures.conflict(PODS, name, obstacle, noun="pods/binding")
    if not dry_run:
        state.store.commit(Change.MODIFIED, PODS.resource, key, _bound(pod, node, metadata, state.timestamp()))


def _node(binding: Object) -> str:
    target = binding.get("target") or {}
    if target.get("kind", "Node") not in ("", "Node"):
        raise failures.internal(
            f'target.kind: Unsupported value: {failures.quoted(target["kind"])}: supported values: "Node", "<empty>"'
        )
    name: str = target.get("name") or ""
    if not name:
        raise failures.internal("target.name: Required value")
    return name


def _obstacle(pod: Object, name: str) -> str:
    spec = pod["spec"]
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def _bound(pod: Object, node: str, carried: Object, now: str) -> Object:
    metadata = {**pod["metadata"]}
    for field in ("annotations", "labels"):
        if carried.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **carried[field]}
    status = with_condition(pod, pod_condition("PodScheduled", "True", now))
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": node}, "status": status}

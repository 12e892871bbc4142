"""Pods: defaults, admission and graceful deletion, as kube-apiserver and its default admission plugins have them."""

from typing import Any

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.kinds import PRIORITY_CLASSES, SERVICE_ACCOUNTS
from gangline.sandbox.apiserver.schema import jsonpath
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.strategies import podrules
from gangline.sandbox.apiserver.strategies.podtemplates import default_containers, pod_condition
from gangline.sandbox.apiserver.strategies.strategy import Strategy, Write

_LOST_NODE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def prepare(write: Write) -> None:
    """Fill a new pod in; a changed one gets back the tolerations that it may not lose, and its QoS class."""
    pod = write.new
    if write.old is not None:
        status, before = pod.get("status"), write.old.get("status") or {}
        if write.subresource == "status" and isinstance(status, dict):
            _complete_status(status, before)
        elif pod.get("spec"):
            _tolerate_lost_nodes(pod["spec"])
        return
    spec = pod.setdefault("spec", {})
    default_containers(spec)
    spec.setdefault("enableServiceLinks", True)
    _set_service_account(write, spec)
    _set_priority(write, spec)
    _tolerate_lost_nodes(spec)
    pod["status"] = {"phase": "Pending", "qosClass": _quality_of_service(spec)}
    if spec.get("schedulingGates"):
        message = "Scheduling is blocked due to non-empty scheduling gates"
        now = write.state.timestamp()
        gated = pod_condition("PodScheduled", "False", now, reason="SchedulingGated", message=message)
        pod["status"]["conditions"] = [gated]


def _complete_status(status: Object, before: Object) -> None:
    """Set what a kubelet leaves to the server."""
    if "qosClass" in before:
        status["qosClass"] = before["qosClass"]
    if status.get("podIP"):
        addresses = status.get("podIPs") or [{}]
        status["podIPs"] = [{"ip": status["podIP"]}, *addresses[1:]]


def _set_service_account(write: Write, spec: Object) -> None:
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    namespace = write.new["metadata"]["namespace"]
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    is_made_by_controller = name == "default"
    if not is_made_by_controller and write.state.store.get(SERVICE_ACCOUNTS.resource, f"{namespace}/{name}") is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise failures.forbidden(write.kind, _name_before(write), why)


def _set_priority(write: Write, spec: Object) -> None:
    name, value, policy = _priority_class(write, spec.get("priorityClassName") or "")
    given = spec.get("priority")
    if given is not None and given != value:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {value} from the given PriorityClass name"
        )
        raise failures.forbidden(write.kind, _name_before(write), why)
    if name:
        spec["priorityClassName"] = name
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", policy)


def _name_before(write: Write) -> str:
    """Tell the name as admission knows it: before one is made up of a stem."""
    metadata = write.new["metadata"]
    name: str = metadata.get("generateName") or metadata["name"]
    return name


def _priority_class(write: Write, name: str) -> tuple[str, int, str]:
    store = write.state.store
    if not name:
        defaults = [v.object for v in store.current(PRIORITY_CLASSES.resource) if v.object.get("globalDefault")]
        found = min(defaults, key=lambda item: item.get("value", 0), default=None)
        if found is None:
            return "", 0, "PreemptLowerPriority"
    else:
        version = store.get(PRIORITY_CLASSES.resource, name)
        if version is None:
            why = f"no PriorityClass with name {name} was found"
            raise failures.forbidden(write.kind, _name_before(write), why)
        found = version.object
    return found["metadata"]["name"], found.get("value", 0), found.get("preemptionPolicy", "PreemptLowerPriority")


def _tolerate_lost_nodes(spec: Object) -> None:
    tolerations = spec.setdefault("tolerations", [])
    for key in _LOST_NODE_TAINTS:
        if not any(_tolerates_eviction(toleration, key) for toleration in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def _tolerates_eviction(toleration: dict[str, Any], key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _quality_of_service(spec: Object) -> str:
    """Return the pod's QoS class: cpu and memory of all containers decide."""
    containers = [*spec.get("containers", ()), *spec.get("initContainers", ())]
    resources = [container.get("resources") or {} for container in containers]
    asked = [(entry.get("requests") or {}, entry.get("limits") or {}) for entry in resources]
    if not any(name in part for pair in asked for part in pair for name in ("cpu", "memory")):
        return "BestEffort"
    is_guaranteed = all(
        name in limits and requests.get(name, limits[name]) == limits[name]
        for requests, limits in asked
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if is_guaranteed else "Burstable"


def grace_s(pod: Object, asked_s: int | None) -> int:
    """Seconds that the kubelet has; none for pods that are unbound or finished."""
    node = jsonpath.first(pod, ".spec.nodeName")
    if not node or jsonpath.first(pod, ".status.phase") in ("Succeeded", "Failed"):
        return 0
    own_s = jsonpath.first(pod, ".spec.terminationGracePeriodSeconds")
    return max(0, asked_s if asked_s is not None else own_s if isinstance(own_s, int) else 30)


STRATEGY = Strategy(prepare=prepare, validate=podrules.broken_rules, grace_s=grace_s)

"""Pods: defaults, admission, validation and graceful deletion."""

from gangline.sandbox import failures
from gangline.sandbox.kinds import PRIORITY_CLASSES
from gangline.sandbox.store import Object
from gangline.sandbox.strategies.strategy import Strategy, Write


def prepare(write: Write) -> None:
    """Set what kube-apiserver's defaulting and its default admission plugins set."""
    if write.old is not None:
        return
    pod = write.new
    spec = pod.setdefault("spec", {})
    defaults = {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": True,
        "serviceAccountName": "default",
        "serviceAccount": "default",
    }
    for field, value in defaults.items():
        spec.setdefault(field, value)
    _set_priority(write, spec)
    _tolerate_lost_nodes(spec)
    pod["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": None,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]


def _set_priority(write: Write, spec: Object) -> None:
    name = spec.get("priorityClassName")
    if not name:
        spec["priority"] = 0
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
        return
    version = write.state.store.get(PRIORITY_CLASSES.resource, name)
    if version is None:
        raise failures.forbidden(
            write.kind, write.new["metadata"]["name"], f"no PriorityClass with name {name} was found"
        )
    spec["priority"] = version.object.get("value", 0)
    spec.setdefault("preemptionPolicy", version.object.get("preemptionPolicy", "PreemptLowerPriority"))


def _tolerate_lost_nodes(spec: Object) -> None:
    tolerations = spec.setdefault("tolerations", [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(toleration.get("key") in (key, None, "") for toleration in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def grace_s(pod: Object, asked_s: int | None) -> int:
    """Seconds that the kubelet has; none for pods that are unbound or finished."""
    if not pod["spec"].get("nodeName") or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if asked_s is not None:
        return max(0, asked_s)
    return int(pod["spec"].get("terminationGracePeriodSeconds", 30))


STRATEGY = Strategy(prepare=prepare, grace_s=grace_s)

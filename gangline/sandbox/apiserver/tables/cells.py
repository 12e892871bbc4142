"""Cells of server-side tables that no JSONPath yields (`k8s.io/kubernetes/pkg/printers/internalversion`).

Each takes an object and the time.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from gangline.contract.durations import human_duration
from gangline.sandbox.apiserver.store import Object

Cell = Callable[[Object, datetime], Any]

_NODE_ROLE = "node-role.kubernetes.io/"


def since(timestamp: Any, now: datetime) -> str:
    """Return how long ago a timestamp was; `<unknown>` when there is none."""
    try:
        return human_duration(int((now - datetime.fromisoformat(timestamp).astimezone(UTC)).total_seconds()))
    except (TypeError, ValueError):
        return "<unknown>"


def age(item: Object, now: datetime) -> str:
    """How long ago an object was created."""
    return since(item["metadata"].get("creationTimestamp"), now)


def created_at(item: Object, _now: datetime) -> Any:
    """When an object was created."""
    return item["metadata"].get("creationTimestamp")


def pod_status(pod: Object, _now: datetime) -> str:
    """Say how a pod stands: by its phase, its reasons and those of its containers."""
    status = _status(pod)
    reason = status.get("reason") or status.get("phase") or ""
    if any(each.get("reason") == "SchedulingGated" for each in _conditions(pod)):
        reason = "SchedulingGated"
    for container in reversed(_container_statuses(pod)):
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason") or terminated.get("reason"):
            reason = waiting.get("reason") or terminated["reason"]
        elif "terminated" in state:
            reason = f"ExitCode:{terminated.get('exitCode', 0)}"
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return str(reason)


def pod_ready(pod: Object, _now: datetime) -> str:
    """How many of a pod's containers are ready."""
    ready = sum(1 for container in _container_statuses(pod) if container.get("ready"))
    return f"{ready}/{len(_containers(pod))}"


def pod_restarts(pod: Object, _now: datetime) -> str:
    """How often the containers of a pod began anew."""
    return str(sum(container.get("restartCount", 0) for container in _container_statuses(pod)))


def readiness_gates(pod: Object, _now: datetime) -> str:
    """How many of a pod's readiness gates are open."""
    gates = [gate["conditionType"] for gate in _spec(pod).get("readinessGates") or ()]
    return f"{len(set(gates) & _true_conditions(pod))}/{len(gates)}" if gates else "<none>"


def node_status(node: Object, _now: datetime) -> str:
    """Whether a node is ready, and whether it takes new pods."""
    ready = next((each.get("status") for each in _conditions(node) if each.get("type") == "Ready"), None)
    word = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    return f"{word},SchedulingDisabled" if _spec(node).get("unschedulable") else word


def node_roles(node: Object, _now: datetime) -> str:
    """Name what a node is for, by its labels."""
    labels = node["metadata"].get("labels") or {}
    return _listed(sorted(key.removeprefix(_NODE_ROLE) for key in labels if key.startswith(_NODE_ROLE)))


def of_containers(field: str) -> Cell:
    """Return what shows a field of all containers of a pod, or of a template."""
    return lambda item, _now: ",".join(str(container.get(field, "")) for container in _containers(item))


def selector(item: Object, _now: datetime) -> str:
    """Which pods a workload counts as its own."""
    return selector_text(_spec(item).get("selector"))


def selector_text(selector: Object | None) -> str:
    """Return a label selector in one line."""
    terms = [f"{key}={value}" for key, value in sorted(((selector or {}).get("matchLabels") or {}).items())]
    for requirement in (selector or {}).get("matchExpressions") or ():
        key, operator = requirement.get("key", ""), requirement.get("operator", "")
        values = f" ({','.join(requirement.get('values') or ())})"
        terms.append({"Exists": key, "DoesNotExist": f"!{key}"}.get(operator, f"{key} {operator.lower()}{values}"))
    return _listed(terms)


def ready_of_desired(item: Object, _now: datetime) -> str:
    """How many pods of a workload are ready, of how many."""
    return f"{_status(item).get('readyReplicas', 0)}/{_spec(item).get('replicas', 0)}"


def status_count(field: str) -> Cell:
    """Return what shows a number in a status, 0 where it is left out."""
    return lambda item, _now: _status(item).get(field, 0)


def job_completions(job: Object, _now: datetime) -> str:
    """How many pods of a Job have succeeded, of how many."""
    spec, succeeded = _spec(job), _status(job).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_status(job: Object, _now: datetime) -> str:
    """How a Job stands."""
    true = _true_conditions(job)
    for word in ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if word in true:
            return word
    return "Terminating" if "deletionTimestamp" in job["metadata"] else "Running"


def job_duration(job: Object, now: datetime) -> str:
    """How long a Job runs, or ran."""
    start, end = _status(job).get("startTime"), _status(job).get("completionTime")
    return since(start, datetime.fromisoformat(end) if end else now) if start else ""


def cronjob_suspended(item: Object, _now: datetime) -> str:
    """Whether a CronJob rests."""
    return str(bool(_spec(item).get("suspend")))


def cronjob_active(item: Object, _now: datetime) -> int:
    """How many Jobs of a CronJob run."""
    return len(_status(item).get("active") or ())


def cronjob_last(item: Object, now: datetime) -> str:
    """How long ago a CronJob started a Job."""
    at = _status(item).get("lastScheduleTime")
    return since(at, now) if at else "<none>"


def event_last_seen(event: Object, now: datetime) -> str:
    """How long ago something happened the last time."""
    last = (event.get("series") or {}).get("lastObservedTime") or event.get("lastTimestamp")
    return since(last or event.get("eventTime") or event.get("firstTimestamp"), now)


def event_first_seen(event: Object, now: datetime) -> str:
    """How long ago something happened the first time."""
    return since(event.get("firstTimestamp") or event.get("eventTime"), now)


def event_object(event: Object, _now: datetime) -> str:
    """To what something happened."""
    regarding = event.get("involvedObject") or {}
    return f"{str(regarding.get('kind', '')).lower()}/{regarding.get('name', '')}"


def event_source(event: Object, _now: datetime) -> str:
    """Who says that something happened."""
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent")
    return ", ".join(filter(None, (component, source.get("host") or event.get("reportingInstance"))))


def event_message(event: Object, _now: datetime) -> str:
    """Say what happened."""
    return str(event.get("message") or "").strip()


def event_count(event: Object, _now: datetime) -> int:
    """How often something happened."""
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)


def granted(binding: Object, _now: datetime) -> str:
    """Which role a binding grants."""
    return f"{binding['roleRef'].get('kind')}/{binding['roleRef'].get('name')}"


def subjects(kind: str) -> Cell:
    """Return what shows to whom of one kind a binding grants its role."""
    return lambda binding, _now: ", ".join(
        f"{each['namespace']}/{each['name']}" if kind == "ServiceAccount" else each["name"]
        for each in binding.get("subjects") or ()
        if each["kind"] == kind
    )


def policy_selector(policy: Object, _now: datetime) -> str:
    """To which pods a NetworkPolicy applies."""
    return selector_text(_spec(policy).get("podSelector"))


def node_selector(item: Object, _now: datetime) -> str:
    """On which nodes the pods of a template run."""
    return selector_text({"matchLabels": _spec(_spec(item).get("template") or {}).get("nodeSelector")})


def data_count(item: Object, _now: datetime) -> int:
    """How many entries a ConfigMap or Secret has."""
    return len(item.get("data") or {}) + len(item.get("binaryData") or {})


def definition_versions(definition: Object, _now: datetime) -> str:
    """In which versions custom resources are served."""
    versions = definition["spec"].get("versions") or ()
    return ",".join(each["name"] + ("(storage)" if each.get("storage") else "") for each in versions)


def definition_short_names(definition: Object, _now: datetime) -> str:
    """Short names of custom resources."""
    return ",".join(definition["spec"]["names"].get("shortNames") or ())


def definition_established(definition: Object, _now: datetime) -> bool:
    """Whether custom resources are served."""
    return "Established" in _true_conditions(definition)


def service_ports(service: Object, _now: datetime) -> str:
    """Ports of a Service."""
    return _listed([f"{each['port']}/{each.get('protocol', 'TCP')}" for each in _spec(service).get("ports") or ()])


def service_selector(service: Object, _now: datetime) -> str:
    """Which pods are behind a Service."""
    return selector_text({"matchLabels": _spec(service).get("selector")})


def _listed(words: Iterable[str]) -> str:
    return ",".join(words) or "<none>"


def _spec(item: Object) -> Object:
    return item.get("spec") or {}


def _status(item: Object) -> Object:
    return item.get("status") or {}


def _conditions(item: Object) -> list[Object]:
    return _status(item).get("conditions") or []


def _true_conditions(item: Object) -> set[str]:
    return {each.get("type", "") for each in _conditions(item) if each.get("status") == "True"}


def _container_statuses(pod: Object) -> list[Object]:
    return _status(pod).get("containerStatuses") or []


def _containers(item: Object) -> list[Object]:
    """Containers of a pod, or of a template, also of that of a CronJob."""
    maker = _spec(item).get("jobTemplate") or item
    pod_spec = _spec(_spec(maker).get("template") or maker)
    return pod_spec.get("containers") or []

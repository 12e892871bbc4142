"""Cells of server-side tables that no JSONPath yields, by name (`k8s.io/kubernetes/pkg/printers/internalversion`)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gangline.sandbox.store import Object

Cell = Callable[[Object, datetime], Any]

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 86400 * 365


def human_duration(seconds: int) -> str:
    """Return a duration in at most two units, as kubectl shows ages."""
    if seconds < 0:
        return "0s" if seconds >= -1 else "<invalid>"
    pairs = (
        (2 * _MINUTE, 1, "s", 0, ""),
        (10 * _MINUTE, _MINUTE, "m", 1, "s"),
        (3 * _HOUR, _MINUTE, "m", 0, ""),
        (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
        (2 * _DAY, _HOUR, "h", 0, ""),
        (8 * _DAY, _DAY, "d", _HOUR, "h"),
        (2 * _YEAR, _DAY, "d", 0, ""),
        (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    )
    for limit, unit, letter, rest_unit, rest_letter in pairs:
        if seconds < limit:
            rest = seconds % unit // rest_unit if rest_unit else 0
            return f"{seconds // unit}{letter}" + (f"{rest}{rest_letter}" if rest else "")
    return f"{seconds // _YEAR}y"


def since(timestamp: Any, now: datetime) -> str:
    """Return how long ago a timestamp was; `<unknown>` when there is none."""
    if not isinstance(timestamp, str) or not timestamp:
        return "<unknown>"
    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<unknown>"
    return human_duration(int((now - time.astimezone(UTC)).total_seconds()))


def _containers(item: Object) -> list[Object]:
    spec = item.get("spec") or {}
    pod_spec = (spec.get("template") or {}).get("spec") or spec
    return list(pod_spec.get("containers") or ())


def _statuses(pod: Object) -> list[Object]:
    return list((pod.get("status") or {}).get("containerStatuses") or ())


def _pod_status(pod: Object, _now: datetime) -> str:
    status, metadata = pod.get("status") or {}, pod["metadata"]
    reason = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    for container in reversed(_statuses(pod)):
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated.get("reason"):
            reason = terminated["reason"]
        elif "terminated" in state:
            reason = f"ExitCode:{terminated.get('exitCode', 0)}"
    if metadata.get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return str(reason)


def _pod_ready(pod: Object, _now: datetime) -> str:
    ready = sum(1 for container in _statuses(pod) if container.get("ready"))
    return f"{ready}/{len(_containers(pod))}"


def _pod_restarts(pod: Object, _now: datetime) -> str:
    return str(sum(container.get("restartCount", 0) for container in _statuses(pod)))


def _readiness_gates(pod: Object, _now: datetime) -> str:
    gates = pod["spec"].get("readinessGates") or []
    if not gates:
        return "<none>"
    conditions = {item.get("type"): item.get("status") for item in (pod.get("status") or {}).get("conditions") or ()}
    return f"{sum(1 for gate in gates if conditions.get(gate['conditionType']) == 'True')}/{len(gates)}"


def _node_status(node: Object, _now: datetime) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((item.get("status") for item in conditions if item.get("type") == "Ready"), None)
    words = [{"True": "Ready", None: "Unknown"}.get(ready, "NotReady")]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(node: Object, _now: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in node["metadata"].get("labels") or {} if key.startswith(prefix)}
    return ",".join(sorted(role for role in roles if role)) or "<none>"


def _address(kind: str) -> Cell:
    def cell(node: Object, _now: datetime) -> str:
        addresses = (node.get("status") or {}).get("addresses") or ()
        return next((item["address"] for item in addresses if item.get("type") == kind), "<none>")

    return cell


def _image_names(item: Object, _now: datetime) -> str:
    return ",".join(str(container.get("image", "")) for container in _containers(item))


def _container_names(item: Object, _now: datetime) -> str:
    return ",".join(str(container.get("name", "")) for container in _containers(item))


def selector_text(selector: Object | None) -> str:
    """Return a label selector in one line."""
    if not selector:
        return "<none>"
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for requirement in selector.get("matchExpressions") or ():
        key, operator = requirement.get("key", ""), requirement.get("operator", "")
        values = f" ({','.join(requirement.get('values') or ())})"
        terms.append({"Exists": key, "DoesNotExist": f"!{key}"}.get(operator, f"{key} {operator.lower()}{values}"))
    return ",".join(terms) or "<none>"


def _selector(item: Object, _now: datetime) -> str:
    return selector_text((item.get("spec") or {}).get("selector"))


def _ready_of_desired(item: Object, _now: datetime) -> str:
    return f"{(item.get('status') or {}).get('readyReplicas', 0)}/{(item.get('spec') or {}).get('replicas', 0)}"


def _job_completions(job: Object, _now: datetime) -> str:
    spec, succeeded = job.get("spec") or {}, (job.get("status") or {}).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_status(job: Object, _now: datetime) -> str:
    conditions = (job.get("status") or {}).get("conditions") or ()
    true = {item.get("type") for item in conditions if item.get("status") == "True"}
    for word in ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if word in true:
            return word
    return "Terminating" if "deletionTimestamp" in job["metadata"] else "Running"


def _job_duration(job: Object, now: datetime) -> str:
    status = job.get("status") or {}
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return since(start, datetime.fromisoformat(end) if end else now)


def _event_last_seen(event: Object, now: datetime) -> str:
    series = event.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
    )
    return since(next((time for time in times if time), None), now)


def _event_object(event: Object, _now: datetime) -> str:
    regarding = event.get("involvedObject") or event.get("regarding") or {}
    return f"{str(regarding.get('kind', '')).lower()}/{regarding.get('name', '')}"


def _event_source(event: Object, _now: datetime) -> str:
    source = event.get("source") or {}
    words = (
        source.get("component") or event.get("reportingComponent") or "",
        source.get("host") or event.get("reportingInstance") or "",
    )
    return ", ".join(word for word in words if word)


def _event_message(event: Object, _now: datetime) -> str:
    return str(event.get("message") or event.get("note") or "").strip()


def _event_count(event: Object, _now: datetime) -> int:
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)


def _event_first_seen(event: Object, now: datetime) -> str:
    return since(event.get("firstTimestamp") or event.get("eventTime"), now)


def _data_count(item: Object, _now: datetime) -> int:
    return len(item.get("data") or {}) + len(item.get("binaryData") or {})


def _definition_versions(definition: Object, _now: datetime) -> str:
    versions = definition["spec"].get("versions") or ()
    return ",".join(each["name"] + ("(storage)" if each.get("storage") else "") for each in versions)


def _definition_established(definition: Object, _now: datetime) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def _service_ports(service: Object, _now: datetime) -> str:
    ports = (service.get("spec") or {}).get("ports") or ()
    return ",".join(f"{each['port']}/{each.get('protocol', 'TCP')}" for each in ports) or "<none>"


CELLS: dict[str, Cell] = {
    "age": lambda item, now: since(item["metadata"].get("creationTimestamp"), now),
    "pod-status": _pod_status,
    "pod-ready": _pod_ready,
    "pod-restarts": _pod_restarts,
    "readiness-gates": _readiness_gates,
    "node-status": _node_status,
    "node-roles": _node_roles,
    "internal-ip": _address("InternalIP"),
    "external-ip": _address("ExternalIP"),
    "containers": _container_names,
    "images": _image_names,
    "selector": _selector,
    "ready-of-desired": _ready_of_desired,
    "job-completions": _job_completions,
    "job-status": _job_status,
    "job-duration": _job_duration,
    "cronjob-suspend": lambda item, _now: str(bool(item["spec"].get("suspend"))),
    "cronjob-active": lambda item, _now: len((item.get("status") or {}).get("active") or ()),
    "cronjob-last": lambda item, now: (
        since(at, now) if (at := (item.get("status") or {}).get("lastScheduleTime")) else "<none>"
    ),
    "event-last-seen": _event_last_seen,
    "event-first-seen": _event_first_seen,
    "event-object": _event_object,
    "event-source": _event_source,
    "event-message": _event_message,
    "event-count": _event_count,
    "data-count": _data_count,
    "updated-replicas": lambda item, _now: (item.get("status") or {}).get("updatedReplicas", 0),
    "available-replicas": lambda item, _now: (item.get("status") or {}).get("availableReplicas", 0),
    "definition-versions": _definition_versions,
    "definition-short-names": lambda item, _now: ",".join(item["spec"]["names"].get("shortNames") or ()),
    "definition-established": _definition_established,
    "service-ports": _service_ports,
    "service-selector": lambda item, _now: selector_text(
        {"matchLabels": (item.get("spec") or {}).get("selector") or {}}
    ),
}

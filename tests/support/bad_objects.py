"""What a table of bad objects is made of: the objects, what each gets, and whether a real API server lets it in.

Rows are data: `tests/e2e/test_bad_input.py` shows that they are true, `docs/bad-input.md` is made of them.
"""

from copy import deepcopy
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from gangline.contract.names import API_VERSION, DEFAULT_SCHEDULER_NAME, KIND, POD_GROUP_LABEL

Manifest = dict[str, Any]
Pool = dict[str, str]

NAMESPACE: Final = "default"
POOL: Final[Pool] = {"pool": "healthy"}
"""Label of the nodes that work, and the node selector of pods that could run."""
ROW_LABEL: Final = "row"
"""Label of a row's own node; its value is the node's name."""
ABSENT: Final = object()
"""Takes a field away, in `changed`."""
CREATED: Final = "2026-11-30T08:00:00Z"


class Server(StrEnum):
    """What a real API server (1.37) does with a request that says the same."""

    REFUSES = "refuses it"
    REFUSES_STATUS = "refuses it in a status"
    OVERWRITES = "sets that itself"
    ACCEPTS = "accepts it"


class PodSays(Struct, frozen=True):
    """A pod waits, and its condition says why."""

    reason: str
    text: str
    pod: str = ""


class Event(Struct, frozen=True):
    """A Warning event about the object."""

    kind: str
    reason: str
    text: str
    name: str = ""


class Logged(Struct, frozen=True):
    """A count in `gangline_*_unreadable_objects_total` and one warning in the log that names the object."""

    service: str
    kind: str
    name: str = ""


class Runs(Struct, frozen=True):
    """The pod is placed as if nothing were odd about it."""

    pod: str = ""


class LeftAlone(Struct, frozen=True):
    """Nothing is written to the pod, and no node is given to it."""

    pod: str = ""


class NodeTakes(Struct, frozen=True):
    """The node is used."""

    node: str = ""


class NodeTakesNothing(Struct, frozen=True):
    """The node is not used; pods that want it say so."""

    text: str
    node: str = ""


class GroupShows(Struct, frozen=True):
    """The PodGroup's phase, and its condition Scheduled."""

    phase: str
    reason: str = ""
    text: str = ""
    group: str = ""


Gets = PodSays | Event | Logged | Runs | LeftAlone | NodeTakes | NodeTakesNothing | GroupShows


class Row(Struct, frozen=True, kw_only=True):
    """Objects that are put into the store past its validation, in this order; names that are left out are the `id`."""

    id: str
    what: str
    objects: tuple[Manifest, ...]
    gets: tuple[Gets, ...]
    server: Server
    key: str = ""
    """Where the first object is stored, if its metadata do not say."""


def words(gets: Gets) -> str:
    """Say what an object gets, for the manual."""
    match gets:
        case PodSays(reason, text):
            return f"the pod waits: `{reason}`, “…{text}…”"
        case Event(kind, reason, text):
            return f"Warning event `{reason}` on the {kind}: “…{text}…”"
        case Logged(service, kind):
            return f"the {service} warns once in its log, and counts an unreadable `{kind}`"
        case Runs():
            return "the pod is placed"
        case LeftAlone():
            return "the pod is left alone"
        case NodeTakes():
            return "the node is used"
        case NodeTakesNothing(text):
            return f"the node is not used: “…{text}…”"
        case GroupShows(phase, reason, text):
            said = f", `{reason}`" + (f", “…{text}…”" if text else "") if reason else ""
            return f"the PodGroup shows `{phase}`{said}"


def changed(base: Manifest, *changes: Manifest) -> Manifest:
    """Return an object with fields set, also to null, or taken away by ABSENT."""
    result = deepcopy(base)
    for change in changes:
        for name, value in change.items():
            if value is ABSENT:
                result.pop(name, None)
            elif isinstance(value, dict) and isinstance(result.get(name), dict):
                result[name] = changed(result[name], value)
            else:
                result[name] = value
    return result


def pod(name: str, *changes: Manifest) -> Manifest:
    """A pod that could run."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {}, "annotations": {}},
        "spec": {
            "schedulerName": DEFAULT_SCHEDULER_NAME,
            "nodeSelector": POOL,
            "containers": [{"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1m"}}}],
        },
        "status": {"phase": "Pending"},
    }
    return changed(body, *changes)


def asking(**requests: Any) -> Manifest:
    """Change what a pod asks for."""
    return {"spec": {"containers": [{"name": "main", "image": "pause", "resources": {"requests": requests}}]}}


def labelled(**labels: Any) -> Manifest:
    """Change labels; underscores stand as they are."""
    return {"metadata": {"labels": labels}}


def annotated(annotations: Manifest) -> Manifest:
    """Change annotations."""
    return {"metadata": {"annotations": annotations}}


def member_of(group: object) -> Manifest:
    """Let a pod name a group."""
    return {"metadata": {"labels": {POD_GROUP_LABEL: group}}}


def on(node: str, phase: str = "Running", scheduler: str = DEFAULT_SCHEDULER_NAME) -> Manifest:
    """Let a pod be bound."""
    return {"spec": {"nodeName": node, "schedulerName": scheduler}, "status": {"phase": phase}}


def owned_by(kind: str, name: str, uid: str) -> Manifest:
    """Give a pod a controller."""
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}
    return {"metadata": {"ownerReferences": [owner]}}


def node(name: str, *changes: Manifest) -> Manifest:
    """A node with room."""
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ROW_LABEL: name}},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    return changed(body, *changes)


def group(name: str, spec: Any, **more: Any) -> Manifest:
    """A PodGroup with this spec."""
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name, "namespace": NAMESPACE}}
    return changed(body, {"spec": spec}, more)


def replica_set(name: str, *changes: Manifest) -> Manifest:
    """A ReplicaSet that makes no pods."""
    body = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "pause"}]},
            },
        },
    }
    return changed(body, *changes)


def budget(name: str, spec: Any, *changes: Manifest) -> Manifest:
    """A PodDisruptionBudget with this spec."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
    return changed(body, *changes)


def priority_class(name: str, value: Any, *changes: Manifest) -> Manifest:
    """A PriorityClass."""
    body = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
    return changed(body, *changes)

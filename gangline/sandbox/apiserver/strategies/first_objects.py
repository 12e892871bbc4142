"""What every cluster has from the start."""

from gangline.sandbox.apiserver.kinds import NAMESPACES, PRIORITY_CLASSES, SERVICE_ACCOUNTS, Kind
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.strategies.policies import SYSTEM_PRIORITIES

_NAMES = ("default", "kube-node-lease", "kube-public", "kube-system")

_PURPOSES = {
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can be moved to another "
    "node if necessary.",
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
}

FIRST_OBJECTS: tuple[tuple[Kind, str, Object], ...] = (
    *((NAMESPACES, "", {"metadata": {"name": name}}) for name in _NAMES),
    *((SERVICE_ACCOUNTS, name, {"metadata": {"name": "default"}}) for name in _NAMES),
    *(
        (PRIORITY_CLASSES, "", {"metadata": {"name": name}, "value": value, "description": _PURPOSES[name]})
        for name, value in SYSTEM_PRIORITIES.items()
    ),
)

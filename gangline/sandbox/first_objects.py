"""What every cluster has from the start."""

from gangline.sandbox.kinds import NAMESPACES, PRIORITY_CLASSES, SERVICE_ACCOUNTS, Kind
from gangline.sandbox.store import Object
from gangline.sandbox.strategies.policies import SYSTEM_PRIORITIES

_NAMES = ("default", "kube-node-lease", "kube-public", "kube-system")

FIRST_OBJECTS: tuple[tuple[Kind, str, Object], ...] = (
    *((NAMESPACES, "", {"metadata": {"name": name}}) for name in _NAMES),
    *((SERVICE_ACCOUNTS, name, {"metadata": {"name": "default"}}) for name in _NAMES),
    *(
        (PRIORITY_CLASSES, "", {"metadata": {"name": name}, "value": value})
        for name, value in SYSTEM_PRIORITIES.items()
    ),
)

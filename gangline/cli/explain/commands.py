"""Commands: what to paste into a shell, for one object of a case."""

import json
from collections.abc import Collection
from typing import Any

from gangline.cli.explain.case import Case, maker_of
from gangline.contract.meta import Key
from gangline.contract.pod import Pod


def kubectl(namespace: str, words: str) -> str:
    """Write a command of kubectl in a namespace."""
    return f"`kubectl -n {namespace} {words}`"


def why(key: Key) -> str:
    """Write the command that explains a PodGroup."""
    return f"`gangline why -n {key.namespace} pg/{key.name}`"


def patch(namespace: str, target: str, change: dict[str, Any]) -> str:
    """Write a merge patch of an object such as `pg train`."""
    return kubectl(namespace, f"patch {target} --type merge -p '{json.dumps(change, separators=(',', ':'))}'")


def change_template(case: Case, pods: Collection[Pod], change: dict[str, Any] | None = None) -> str:
    """Say how the template of these pods is changed, by a patch if the change is known; pods cannot be changed."""
    namespace = case.key.namespace
    kind, name = min(map(maker_of, pods), default=("", ""))
    target = f"{kind.lower()}/{name}"
    edit = (
        kubectl(namespace, f"edit {target}")
        if change is None
        else patch(namespace, target, {"spec": {"template": change}})
    )
    match kind:
        case "Deployment" | "StatefulSet":
            return edit
        case "ReplicaSet":
            names = " ".join(sorted(pod.metadata.name for pod in pods)[:5])
            return f"{edit}, then let it make its pods anew: {kubectl(namespace, f'delete pod {names}')}"
        case "":
            return f"correct the manifest, and make the pods anew: {kubectl(namespace, 'replace --force -f FILE')}"
        case _:
            again = kubectl(namespace, "replace --force -f FILE")
            return f"the template of {kind} {name} cannot be changed: correct its manifest, and {again}"

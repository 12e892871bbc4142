"""The mirror: a survey that follows the cluster."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from gangline.cli.cluster.survey import Survey
from gangline.contract.meta import ApiObject, Key
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget
from gangline.kube.client import Client
from gangline.kube.reflector import Reflector, kept_in
from gangline.kube.wire.resources import NODES, POD_DISRUPTION_BUDGETS, POD_GROUPS, PODS, Resource

STALE_S: Final = 90.0
"""While nothing changes an API server is heard of about once a minute."""
_TYPES: dict[Resource, type[ApiObject]] = {
    PODS: Pod,
    NODES: Node,
    POD_GROUPS: PodGroup,
    POD_DISRUPTION_BUDGETS: PodDisruptionBudget,
}


class Mirror:
    """What some kinds look like now; `changed` is set whenever they have changed."""

    def __init__(self, client: Client, kinds: Iterable[Resource], namespace: str | None = None) -> None:
        self.changed = asyncio.Event()
        self._seen: dict[Resource, dict[Key, Any]] = {kind: {} for kind in _TYPES}
        self.watches: dict[Resource, Reflector[Any]] = {
            kind: Reflector(
                client,
                kind,
                _TYPES[kind],
                kept_in(self._seen[kind], self.changed.set),
                namespace=namespace if kind.namespaced else None,
            )
            for kind in kinds
        }

    @property
    def settled(self) -> bool:
        """Whether each kind has been listed or is known not to be readable; pods must be listed."""
        return all(
            watch.synced or (watch.problem is not None and kind is not PODS) for kind, watch in self.watches.items()
        )

    def obstacles(self) -> dict[Resource, str]:
        """Say of which kinds what was told may be old, and why."""
        found = {kind: watch.obstacle(STALE_S) for kind, watch in self.watches.items() if watch.synced}
        return {kind: obstacle for kind, obstacle in found.items() if obstacle is not None}

    def survey(self) -> Survey:
        """Return all as it is now."""
        pods, nodes, groups, budgets = (tuple(self._seen[kind].values()) for kind in _TYPES)
        return Survey(at=datetime.now(UTC), pods=pods, nodes=nodes, groups=groups, budgets=budgets)

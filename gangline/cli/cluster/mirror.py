"""The mirror: a survey that follows the cluster."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from gangline.cli.cluster.survey import Survey
from gangline.contract.meta import ApiObject, Key
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget
from gangline.kube.client import Client
from gangline.kube.reflector import Reflector, kept_in
from gangline.kube.wire.resources import NODES, POD_DISRUPTION_BUDGETS, POD_GROUPS, PODS, Resource

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
    def synced(self) -> bool:
        """Whether all of the kinds have been listed."""
        return all(watch.synced for watch in self.watches.values())

    def survey(self) -> Survey:
        """Return all as it is now."""
        pods, nodes, groups, budgets = (tuple(self._seen[kind].values()) for kind in _TYPES)
        return Survey(at=datetime.now(UTC), pods=pods, nodes=nodes, groups=groups, budgets=budgets)

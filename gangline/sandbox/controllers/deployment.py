"""Deployments: one ReplicaSet per pod template, and the way from the old to the new."""

from collections.abc import Sequence
from copy import deepcopy
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

import msgspec

from gangline.contract.conditions import merged
from gangline.contract.meta import Condition, Key
from gangline.contract.names import POD_TEMPLATE_HASH_LABEL
from gangline.kube.wire.resources import DEPLOYMENTS, REPLICA_SETS, Resource
from gangline.sandbox.actions import Action, Create, Decision, Delete, Patch
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers import rollout
from gangline.sandbox.controllers.ownership import claim, controlled, owner_reference
from gangline.sandbox.objects import Deployment, DeploymentStatus, Identified, ReplicaSet, RunPod, status_patch, timed
from gangline.sandbox.podlife import is_finished

REVISION_ANNOTATION: Final = "deployment.kubernetes.io/revision"
_SAFE_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class Deployments:
    """Decides for every Deployment."""

    def __init__(self, deployments: Cache[Deployment], replica_sets: Cache[ReplicaSet], pods: Cache[RunPod]) -> None:
        self._deployments = deployments
        self._replica_sets = replica_sets
        self._pods = pods

    def decide(self, key: Key, now: datetime) -> Decision:
        """Say which ReplicaSets to make, scale, adopt and delete, and what the status is."""
        owner = self._deployments.get(key)
        if owner is None:
            return Decision()
        claimed = claim(owner, owner.spec.selector, self._replica_sets, owner_kind=DEPLOYMENTS, child_kind=REPLICA_SETS)
        sets = sorted(claimed.children, key=_age)
        new = next((each for each in sets if _template_of(each) == owner.spec.template), None)
        old = [each for each in sets if each is not new]
        changes = () if owner.metadata.deletion_timestamp or claimed.actions else self._roll(owner, new, old)
        last = _status(owner, new, sets, now) or _revise(owner, new, old)
        return Decision(actions=(*claimed.actions, *changes, *last))

    def _roll(self, owner: Deployment, new: ReplicaSet | None, old: list[ReplicaSet]) -> tuple[Action, ...]:
        spec = owner.spec
        old_pods = sum(not is_finished(pod) for each in old for pod in controlled(each, self._pods))
        if spec.paused:
            scale = rollout.rescale_paused(spec, [*old, new] if new else old)
        elif new is None:
            return (_make_replica_set(owner, old, rollout.wanted_at_first(spec, old, old_pods=old_pods)),)
        else:
            scale = rollout.rescale(spec, new, old, old_pods=old_pods)
        by_uid = {each.metadata.uid: each for each in ([*old, new] if new else old)}
        scaled = tuple(_scale(by_uid[uid], replicas) for uid, replicas in scale.items())
        return scaled or _trim_history(owner, new, old)


def template_hash(template: dict[str, Any]) -> str:
    """Name a template: ten letters that no word is spelled with."""
    digest = blake2b(msgspec.json.encode(template, order="sorted"), digest_size=10).digest()
    return "".join(_SAFE_ALPHABET[byte % len(_SAFE_ALPHABET)] for byte in digest)


def _template_of(replica_set: ReplicaSet) -> dict[str, Any]:
    template = deepcopy(replica_set.spec.template)
    labels = template.get("metadata", {}).get("labels", {})
    labels.pop(POD_TEMPLATE_HASH_LABEL, None)
    return template


def _make_replica_set(owner: Deployment, old: Sequence[ReplicaSet], replicas: int) -> Create:
    hash_ = template_hash(owner.spec.template)
    template = deepcopy(owner.spec.template)
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    labels[POD_TEMPLATE_HASH_LABEL] = hash_
    selector = msgspec.to_builtins(owner.spec.selector)
    selector["matchLabels"] = {**(owner.spec.selector.match_labels or {}), POD_TEMPLATE_HASH_LABEL: hash_}
    revision = max((_revision(each) for each in old), default=0) + 1
    body = {
        "apiVersion": REPLICA_SETS.api_version,
        "kind": REPLICA_SETS.kind,
        "metadata": {
            "name": f"{owner.metadata.name}-{hash_}",
            "namespace": owner.metadata.namespace,
            "labels": labels,
            "annotations": {REVISION_ANNOTATION: str(revision)},
            "ownerReferences": [owner_reference(owner, DEPLOYMENTS)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": owner.spec.min_ready_seconds,
            "selector": {field: value for field, value in selector.items() if value},
            "template": template,
        },
    }
    return Create(resource=REPLICA_SETS, namespace=owner.metadata.namespace, body=body)


def _scale(replica_set: ReplicaSet, replicas: int) -> Patch:
    body = {
        "metadata": {"resourceVersion": replica_set.metadata.resource_version},
        "spec": {"replicas": replicas},
    }
    return Patch(resource=REPLICA_SETS, key=replica_set.metadata.key, body=body)


def _revise(owner: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> tuple[Action, ...]:
    """Give the newest ReplicaSet, also one that is used again, and the Deployment the number after all others."""
    if new is None or owner.metadata.deletion_timestamp:
        return ()
    revision = str(max(_revision(new), max((_revision(each) for each in old), default=0) + 1))
    annotated: tuple[tuple[Resource, Identified], ...] = ((REPLICA_SETS, new), (DEPLOYMENTS, owner))
    return tuple(
        Patch(
            resource=resource,
            key=each.metadata.key,
            body={"metadata": {"uid": each.metadata.uid, "annotations": {REVISION_ANNOTATION: revision}}},
        )
        for resource, each in annotated
        if (each.metadata.annotations or {}).get(REVISION_ANNOTATION) != revision
    )


def _trim_history(owner: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> tuple[Action, ...]:
    if new is None or new.status.available_replicas < owner.spec.replicas:
        return ()
    idle = [
        each for each in old if not (each.spec.replicas or each.status.replicas or each.metadata.deletion_timestamp)
    ]
    surplus = idle[: max(len(idle) - owner.spec.revision_history_limit, 0)]
    return tuple(
        Delete(resource=REPLICA_SETS, key=each.metadata.key, uid=each.metadata.uid, propagation="Background")
        for each in surplus
    )


def _status(owner: Deployment, new: ReplicaSet | None, sets: Sequence[ReplicaSet], now: datetime) -> tuple[Action, ...]:
    available = sum(each.status.available_replicas for each in sets)
    total = sum(each.status.replicas for each in sets)
    updated = new.status.replicas if new else 0
    status = DeploymentStatus(
        replicas=total,
        updated_replicas=updated,
        ready_replicas=sum(each.status.ready_replicas for each in sets),
        available_replicas=available,
        unavailable_replicas=max(max(total, owner.spec.replicas) - available, 0),
        observed_generation=owner.metadata.generation or 0,
        conditions=merged(owner.status.conditions or (), _conditions(owner, new, available, total), now),
    )
    if status == owner.status:
        return ()
    written = status_patch(status, "terminatingReplicas")
    written["conditions"] = timed(written["conditions"] or [], "lastUpdateTime")
    body = {"metadata": {"resourceVersion": owner.metadata.resource_version}, "status": written}
    return (Patch(resource=DEPLOYMENTS, key=owner.metadata.key, body=body, subresource="status"),)


def _conditions(owner: Deployment, new: ReplicaSet | None, available: int, total: int) -> tuple[Condition, ...]:
    is_available = available >= owner.spec.replicas - rollout.bounds(owner.spec).unavailable
    updated = new.status.replicas if new else 0
    is_done = updated == owner.spec.replicas == total == available
    name = f'ReplicaSet "{new.metadata.name}"' if new else "Deployment"
    return (
        Condition(
            type="Available",
            status=str(is_available),
            reason="MinimumReplicasAvailable" if is_available else "MinimumReplicasUnavailable",
            message=f"Deployment {'has' if is_available else 'does not have'} minimum availability.",
        ),
        Condition(
            type="Progressing",
            status="True",
            reason="NewReplicaSetAvailable" if is_done else "ReplicaSetUpdated",
            message=f"{name} has successfully progressed." if is_done else f"{name} is progressing.",
        ),
    )


def _age(replica_set: ReplicaSet) -> tuple[datetime, int, str]:
    created = replica_set.metadata.creation_timestamp or _EPOCH
    return created, _revision(replica_set), replica_set.metadata.name


def _revision(replica_set: ReplicaSet) -> int:
    text = (replica_set.metadata.annotations or {}).get(REVISION_ANNOTATION, "0")
    return int(text) if text.isascii() and text.isdigit() else 0

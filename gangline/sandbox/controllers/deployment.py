"""Deployments: one ReplicaSet per pod template, and the way from the old to the new."""

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

import msgspec

from gangline.contract.conditions import merged
from gangline.contract.meta import Condition, Key
from gangline.contract.names import POD_TEMPLATE_HASH_LABEL
from gangline.sandbox.controllers import rollout
from gangline.sandbox.controllers.ownership import claim, controlled, create_child
from gangline.sandbox.objects.apps import Deployment, DeploymentStatus, ReplicaSet
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.meta import number_in
from gangline.sandbox.objects.podstate import EPOCH, is_finished
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.actions import Action, Create, Decision, Note, Patch, amend, delete, set_status
from gangline.sandbox.reconciling.world import World

REVISION_ANNOTATION: Final = "deployment.kubernetes.io/revision"
_SAFE_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def decide(owner: Deployment, world: World) -> Decision:
    """Say which ReplicaSets to make, scale, adopt and delete, and what the status is."""
    claimed = claim(owner, owner.spec.selector, world.all(ReplicaSet))
    sets = sorted(claimed.children, key=_age)
    new = next((each for each in sets if _template_of(each) == owner.spec.template), None)
    old = [each for each in sets if each is not new]
    changes: tuple[Action, ...] = ()
    notes: tuple[Note, ...] = ()
    if not (owner.metadata.deletion_timestamp or claimed.actions):
        changes, notes = _roll(owner, new, old, world)
    status = set_status(owner, _status(owner, new, sets, world.now), "terminatingReplicas", times="lastUpdateTime")
    return Decision(actions=(*claimed.actions, *changes, *(status or _revise(owner, new, old))), notes=notes)


def wake_owner_of_pod(world: World, pod: RunPod) -> list[Key]:
    """Name the Deployment whose ReplicaSet controls a pod: a rollout may wait for the last old pod."""
    parent = pod.metadata.controller
    replica_set = world.all(ReplicaSet).by_uid(parent.uid) if parent is not None else None
    owner = replica_set.metadata.controller if replica_set is not None else None
    return [Key(pod.metadata.namespace, owner.name)] if owner is not None and owner.kind == Deployment.__name__ else []


def _roll(
    owner: Deployment, new: ReplicaSet | None, old: list[ReplicaSet], world: World
) -> tuple[tuple[Action, ...], tuple[Note, ...]]:
    spec = owner.spec
    sets = [*old, new] if new else old
    old_pods = sum(not is_finished(pod) for each in old for pod in controlled(each, world.all(RunPod)))
    if spec.paused:
        scale = rollout.rescale_paused(spec, sets)
    elif new is None:
        first = rollout.wanted_at_first(spec, old, old_pods=old_pods)
        create = _make_replica_set(owner, old, first)
        return (create,), (_scaled(create.body["metadata"]["name"], 0, first),) if first else ()
    else:
        scale = rollout.rescale(spec, new, old, old_pods=old_pods)
    chosen = [each for each in sets if each.metadata.uid in scale]
    if not chosen:
        return _trim_history(owner, new, old), ()
    return (
        tuple(amend(each, spec={"replicas": scale[each.metadata.uid]}) for each in chosen),
        tuple(_scaled(each.metadata.name, each.spec.replicas, scale[each.metadata.uid]) for each in chosen),
    )


def _scaled(name: str, before: int, after: int) -> Note:
    way = "up" if after > before else "down"
    return Note("ScalingReplicaSet", f"Scaled {way} replica set {name} from {before} to {after}")


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
    metadata = {
        "name": f"{owner.metadata.name}-{hash_}",
        "labels": labels,
        "annotations": {REVISION_ANNOTATION: str(_last_revision(old) + 1)},
    }
    spec = {
        "replicas": replicas,
        "minReadySeconds": owner.spec.min_ready_seconds,
        "selector": {field: value for field, value in selector.items() if value},
        "template": template,
    }
    return create_child(owner, ReplicaSet, metadata, spec)


def _revise(owner: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> list[Action]:
    """Give the newest ReplicaSet, also one that is used again, and the Deployment the number after all others."""
    if new is None or owner.metadata.deletion_timestamp:
        return []
    revision = str(max(_revision(new), _last_revision(old) + 1))
    return [
        Patch(
            resource=RESOURCES[type(each)],
            key=each.metadata.key,
            body={"metadata": {"uid": each.metadata.uid, "annotations": {REVISION_ANNOTATION: revision}}},
        )
        for each in (new, owner)
        if (each.metadata.annotations or {}).get(REVISION_ANNOTATION) != revision
    ]


def _trim_history(owner: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> tuple[Action, ...]:
    if new is None or new.status.available_replicas < owner.spec.replicas:
        return ()
    idle = [
        each for each in old if not (each.spec.replicas or each.status.replicas or each.metadata.deletion_timestamp)
    ]
    surplus = idle[: max(len(idle) - owner.spec.revision_history_limit, 0)]
    return tuple(delete(each, propagation="Background") for each in surplus)


def _status(owner: Deployment, new: ReplicaSet | None, sets: Sequence[ReplicaSet], now: datetime) -> DeploymentStatus:
    available = sum(each.status.available_replicas for each in sets)
    total = sum(each.status.replicas for each in sets)
    return DeploymentStatus(
        replicas=total,
        updated_replicas=new.status.replicas if new else 0,
        ready_replicas=sum(each.status.ready_replicas for each in sets),
        available_replicas=available,
        unavailable_replicas=max(max(total, owner.spec.replicas) - available, 0),
        observed_generation=owner.metadata.generation or 0,
        conditions=merged(owner.status.conditions or (), _conditions(owner, new, available, total), now),
    )


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
    created = replica_set.metadata.creation_timestamp or EPOCH
    return created, _revision(replica_set), replica_set.metadata.name


def _revision(replica_set: ReplicaSet) -> int:
    return number_in(replica_set, REVISION_ANNOTATION) or 0


def _last_revision(sets: Sequence[ReplicaSet]) -> int:
    return max((_revision(each) for each in sets), default=0)

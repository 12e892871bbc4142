"""StatefulSets: numbered pods, made, removed and replaced in order or all at once (kube-controller-manager statefulset).

Old templates are not kept (no ControllerRevisions): a pod that is made anew is always of the newest one, also below
`partition`. Pods name the claims of `volumeClaimTemplates`; nobody makes them, as there are no volumes.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct, structs

from gangline.sandbox.controllers.deployment import template_hash
from gangline.sandbox.controllers.ownership import claim
from gangline.sandbox.controllers.pods import available_in_s, is_active, make_pod
from gangline.sandbox.objects.apps import OrderedUpdate, StatefulSet, StatefulSetStatus
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.podstate import is_finished, ready_since
from gangline.sandbox.reconciling.actions import Action, Create, Decision, delete, set_status
from gangline.sandbox.reconciling.world import World

REVISION_LABEL: Final = "controller-revision-hash"
POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
SHOWN_ZEROS: Final = ("replicas", "availableReplicas", "collisionCount")


class Pods(Struct, frozen=True, kw_only=True):
    """A StatefulSet's pods by ordinal: those that are wanted, and those beyond."""

    wanted: dict[int, RunPod | None]
    surplus: dict[int, RunPod]
    healthy: frozenset[int]

    @property
    def all(self) -> list[RunPod]:
        """Those that exist."""
        return [pod for pod in (*self.wanted.values(), *self.surplus.values()) if pod is not None]


def decide(owner: StatefulSet, world: World) -> Decision:
    """Say which pods to make, remove and adopt, and what the status is."""
    claimed = claim(owner, owner.spec.selector, world.all(RunPod))
    min_ready_s = owner.spec.min_ready_seconds / world.pace.speed
    waits = {
        pod.metadata.uid: available_in_s(pod, min_ready_s, world.now) for pod in claimed.children if is_active(pod)
    }
    pods = _sorted(owner, claimed.children, frozenset(uid for uid, wait in waits.items() if wait == 0))
    actions: tuple[Action, ...] = ()
    if not (owner.metadata.deletion_timestamp or claimed.actions):
        actions = tuple(_steps(owner, pods))
    return Decision(
        actions=(*claimed.actions, *actions, *set_status(owner, _status(owner, pods), *SHOWN_ZEROS)),
        again_in_s=min((wait for wait in waits.values() if wait), default=None),
    )


def revision_of(owner: StatefulSet) -> str:
    """Name the newest template."""
    return f"{owner.metadata.name}-{template_hash(owner.spec.template)}"


def _sorted(owner: StatefulSet, children: tuple[RunPod, ...], available: frozenset[str]) -> Pods:
    start = owner.spec.ordinals.start if owner.spec.ordinals else 0
    wanted = range(start, start + owner.spec.replicas)
    numbered = {ordinal: pod for pod in children if (ordinal := _ordinal(owner, pod)) is not None}
    return Pods(
        wanted={ordinal: numbered.get(ordinal) for ordinal in wanted},
        surplus={ordinal: pod for ordinal, pod in sorted(numbered.items()) if ordinal not in wanted},
        healthy=frozenset(ordinal for ordinal, pod in numbered.items() if pod.metadata.uid in available),
    )


def _ordinal(owner: StatefulSet, pod: RunPod) -> int | None:
    stem, _, number = pod.metadata.name.rpartition("-")
    return int(number) if stem == owner.metadata.name and number.isascii() and number.isdigit() else None


def _steps(owner: StatefulSet, pods: Pods) -> Iterator[Action]:
    """Yield what is next: one thing at a time in order, or everything at once; then one replacement."""
    is_ordered = owner.spec.pod_management_policy == "OrderedReady"
    for ordinal, pod in pods.wanted.items():
        if pod is None:
            yield _make(owner, ordinal)
        elif is_finished(pod) and not pod.metadata.deletion_timestamp:
            yield delete(pod)
        if is_ordered and ordinal not in pods.healthy:
            return
    for pod in reversed(pods.surplus.values()):
        if not pod.metadata.deletion_timestamp:
            yield delete(pod)
        if is_ordered:
            return
    if not pods.surplus and pods.healthy >= pods.wanted.keys():
        yield from _replacement(owner, pods)


def _replacement(owner: StatefulSet, pods: Pods) -> Iterator[Action]:
    """Remove the last pod of an old template, down to the partition."""
    if owner.spec.update_strategy.type != "RollingUpdate":
        return
    partition = (owner.spec.update_strategy.rolling_update or OrderedUpdate()).partition
    for ordinal, pod in reversed(pods.wanted.items()):
        if pod is not None and ordinal >= partition and _revision(pod) != revision_of(owner):
            yield delete(pod)
            return


def _make(owner: StatefulSet, ordinal: int) -> Create:
    name = f"{owner.metadata.name}-{ordinal}"
    metadata, spec = owner.spec.template.get("metadata") or {}, owner.spec.template.get("spec") or {}
    labels = {REVISION_LABEL: revision_of(owner), POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}
    volumes = [
        {"name": each.metadata.name, "persistentVolumeClaim": {"claimName": f"{each.metadata.name}-{name}"}}
        for each in owner.spec.volume_claim_templates or ()
    ]
    own = {volume["name"] for volume in volumes}
    volumes += [each for each in spec.get("volumes") or () if each.get("name") not in own]
    spec = {**spec, "hostname": name, "subdomain": owner.spec.service_name} | ({"volumes": volumes} if volumes else {})
    labelled = {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}
    return make_pod(owner, {"metadata": labelled, "spec": spec}, name=name)


def _revision(pod: RunPod) -> str:
    return (pod.metadata.labels or {}).get(REVISION_LABEL, "")


def _status(owner: StatefulSet, pods: Pods) -> StatefulSetStatus:
    newest = revision_of(owner)
    active = [pod for pod in pods.all if is_active(pod)]
    updated = sum(_revision(pod) == newest for pod in active)
    is_done = updated == len(pods.all) == owner.spec.replicas and pods.healthy >= pods.wanted.keys()
    current = newest if is_done or not owner.status.current_revision else owner.status.current_revision
    return structs.replace(
        owner.status,
        replicas=len(pods.all),
        ready_replicas=sum(ready_since(pod) is not None for pod in active),
        available_replicas=len(pods.healthy),
        current_replicas=sum(_revision(pod) == current for pod in active),
        updated_replicas=updated,
        current_revision=current,
        update_revision=newest,
        observed_generation=owner.metadata.generation or 0,
    )

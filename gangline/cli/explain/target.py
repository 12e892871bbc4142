"""Targets: what `gangline why` is asked about, as kubectl writes objects: pod/NAME, podgroup/NAME, job/NAME."""

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from msgspec import Struct

from gangline.cli.cluster.kinds import KINDS, POD_GROUP, kind_of
from gangline.cli.cluster.survey import Survey
from gangline.cli.explain.case import maker_of
from gangline.contract.membership import GangKey, GangKind
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from scheduler.core.model.member import Member

_OWNERS: Final = {"job": "Job", "deployment": "Deployment", "replicaset": "ReplicaSet", "statefulset": "StatefulSet"}


class TargetError(ValueError):
    """A target that does not exist or cannot be read; the message says what would do."""


class Target(Struct, frozen=True):
    """An object by kind (one of KINDS) and name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def target_of(words: Sequence[str], namespace: str) -> Target:
    """Read `KIND/NAME`, `KIND NAME` or `NAME` (a PodGroup). Raises TargetError."""
    if len(words) == 1:
        kind, separator, name = words[0].partition("/")
        if not separator:
            kind, name = POD_GROUP, kind
    elif len(words) == 2:
        kind, name = words
    else:
        raise TargetError(f"one object at a time, such as pod/NAME; these are {len(words)} words")
    known = kind_of(kind)
    if known is None:
        raise TargetError(f"the kind {kind!r} has no gangs: use one of {', '.join(KINDS)}")
    if not name or "/" in name:
        raise TargetError(f"{'/'.join(words)!r} names no object: write {known}/NAME")
    return Target(known, namespace, name)


class Found(Struct, frozen=True):
    """The gang that a target belongs to, and the pod in question if the target is one."""

    gang: GangKey
    pod: Pod | None


def find(target: Target, survey: Survey, members: dict[str, Member]) -> Found:
    """Find the gang of a target. Raises TargetError for one that does not exist."""
    match target.kind:
        case "pod":
            return _pod(target, survey, members)
        case "podgroup":
            return _pod_group(target, survey, members)
        case _:
            return _owner(target, survey, members)


def _pod(target: Target, survey: Survey, members: dict[str, Member]) -> Found:
    here = {pod.metadata.name: pod for pod in survey.pods if pod.metadata.namespace == target.namespace}
    pod = here.get(target.name)
    if pod is None:
        raise TargetError(_not_found("pods", target, here))
    return Found(members[pod.metadata.uid].gang, pod)


def _pod_group(target: Target, survey: Survey, members: dict[str, Member]) -> Found:
    key = GangKey(target.namespace, GangKind.POD_GROUP, target.name)
    exists = any(group.metadata.key == Key(target.namespace, target.name) for group in survey.groups)
    if not exists and not any(member.gang == key for member in members.values()):
        here = [group.metadata.name for group in survey.groups if group.metadata.namespace == target.namespace]
        namesakes = _namesakes(target, survey)
        if namesakes:
            raise TargetError(f'there is no PodGroup "{target.name}"; ask for {" or ".join(namesakes)}')
        if (kind := kind_of(target.name)) is not None:
            raise TargetError(f'there is no PodGroup "{target.name}"; of a {kind} give the name too: {kind}/NAME')
        raise TargetError(_not_found("podgroups.scheduling.x-k8s.io", target, here))
    return Found(key, None)


def _namesakes(target: Target, survey: Survey) -> list[str]:
    """Return what else has this name: whoever leaves the kind out may mean it."""
    key = Key(target.namespace, target.name)
    pods = ["pod"] if any(pod.metadata.key == key for pod in survey.pods) else []
    owners = sorted(owner.kind.lower() for owner in survey.owners if owner.metadata.key == key)
    return [f"{kind}/{target.name}" for kind in (*pods, *owners)]


def _owner(target: Target, survey: Survey, members: dict[str, Member]) -> Found:
    """Look for pods that the owner made; a Deployment's are made by its ReplicaSets."""
    wanted = (_OWNERS[target.kind], target.name)
    mine = [pod for pod in survey.pods if pod.metadata.namespace == target.namespace and wanted in _owners(pod)]
    if not mine:
        named = (owner for owner in survey.owners if (owner.kind, owner.metadata.name) == wanted)
        if (gang := next((owner.gang for owner in named), None)) is not None:
            return Found(gang, None)
        raise TargetError(
            f"no pod of {target.kind} {target.name!r} exists in namespace {target.namespace}: is the name right, is it "
            f"suspended or at 0 replicas? Look at `kubectl -n {target.namespace} describe {target.kind} {target.name}`"
        )
    waiting = [pod for pod in mine if not pod.spec.node_name]
    newest = max(waiting or mine, key=lambda pod: members[pod.metadata.uid].created_s)
    gang = members[newest.metadata.uid].gang
    return Found(gang, newest if gang.kind is GangKind.POD else None)


def _owners(pod: Pod) -> Iterable[tuple[str, str]]:
    """Return who made a pod: its owner, and the Deployment of that."""
    owner = pod.metadata.controller
    return () if owner is None else {(owner.kind, owner.name), maker_of(pod)}


def _not_found(plural: str, target: Target, there: Collection[str]) -> str:
    close = difflib.get_close_matches(target.name, there, n=1)
    hint = (
        f"; did you mean {close[0]!r}?" if close else f"; name another namespace with -n (this was {target.namespace})"
    )
    return f'{plural} "{target.name}" not found{hint}'

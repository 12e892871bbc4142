"""Owners: the objects of a namespace that make pods, and what they say of it."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from gangline.cli.manifest.documents import Document, Place
from gangline.cli.manifest.workloads import Workload, WorkloadError, workload_of
from gangline.contract.membership import GangKey
from gangline.contract.meta import ApiObject, Condition, ObjectMeta, OrDefault
from gangline.kube.wire.resources import Resource

_PROBLEMS: Final = frozenset({"ReplicaFailure", "Failed", "FailureTarget"})


class OwnerStatus(Struct, frozen=True, kw_only=True):
    """The conditions of an owner."""

    conditions: tuple[Condition, ...] | None = None


class OwnerObject(ApiObject, frozen=True, kw_only=True):
    """A Deployment, ReplicaSet, StatefulSet or Job as it was listed."""

    spec: dict[str, Any] = {}
    status: OrDefault[OwnerStatus] = OwnerStatus()


class Owner(Struct, frozen=True, kw_only=True):
    """Who makes pods: `wanted` at once (None: not known), of which gang, and in `problem` why it makes no more."""

    kind: str
    metadata: ObjectMeta
    gang: GangKey | None
    wanted: int | None
    completions: int | None = None
    is_suspended: bool = False
    is_ordered: bool = False
    problem: str = ""

    @property
    def name(self) -> str:
        """As kubectl writes it: `deployment/NAME`."""
        return f"{self.kind.lower()}/{self.metadata.name}"


def owner_of(resource: Resource, found: OwnerObject) -> Owner | None:
    """Read an owner; None where its template cannot be read."""
    workload = _workload(resource, found)
    if workload is None:
        return None
    completions = found.spec.get("completions")
    return Owner(
        kind=resource.kind,
        metadata=found.metadata,
        gang=workload.gang,
        wanted=workload.count,
        completions=completions if type(completions) is int else None,
        is_suspended=found.spec.get("suspend") is True,
        is_ordered=workload.is_ordered,
        problem=next(_problems(found), ""),
    )


def _workload(resource: Resource, found: OwnerObject) -> Workload | None:
    metadata = {"name": found.metadata.name, "namespace": found.metadata.namespace, "uid": found.metadata.uid}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": found.spec}
    try:
        return workload_of(Document(Place("the cluster", 0, 0), body), found.metadata.namespace)
    except WorkloadError:
        return None


def _problems(found: OwnerObject) -> Iterator[str]:
    for condition in found.status.conditions or ():
        if condition.type in _PROBLEMS and condition.status == "True":
            yield (condition.message or condition.reason or condition.type or "").strip().rstrip(".")

"""Manifests: all that a set of files says about gangs."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gangline.cli.manifest.documents import Document
from gangline.cli.manifest.findings import Finding
from gangline.cli.manifest.workloads import Workload
from gangline.contract.membership import Budgeted, GangKey, Shadow
from gangline.contract.meta import Key
from gangline.contract.podgroup import PodGroup


class Group(Struct, frozen=True):
    """A PodGroup of a manifest."""

    document: Document
    group: PodGroup


class Manifests(Struct, frozen=True):
    """All that the files say about gangs; `elsewhere` are PodGroups that a cluster has already."""

    workloads: tuple[Workload, ...]
    groups: Mapping[Key, Group]
    others: Mapping[Key, Document]
    """PodGroups of API groups that are not ours."""
    unread: tuple[Finding, ...]
    elsewhere: Mapping[Key, PodGroup] = {}

    def group(self, key: GangKey) -> PodGroup | None:
        """Return the PodGroup that a gang names."""
        name = Key(key.namespace, key.name)
        found = self.groups.get(name)
        return found.group if found is not None else self.elsewhere.get(name)

    def gangs(self) -> dict[GangKey, list[Workload]]:
        """Return the workloads of each gang."""
        gangs: dict[GangKey, list[Workload]] = {}
        for workload in self.workloads:
            if workload.gang is not None:
                gangs.setdefault(workload.gang, []).append(workload)
        return gangs


def min_member(key: GangKey, workloads: Sequence[Workload], manifests: Manifests) -> int:
    """Return how many members a gang needs, by its PodGroup or its annotation; at least 1."""
    group = manifests.group(key)
    if group is not None:
        return max(1, group.spec.min_member or 1)
    return max([1, *map(_claim, workloads)])


def _claim(workload: Workload) -> int:
    match workload.link:
        case Shadow(min_member=number) | Budgeted(min_available=number):
            return number
        case _:
            return 1

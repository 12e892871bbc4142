"""Rules: what would go wrong with gangs, from manifests alone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gangline.cli.manifest.documents import Document
from gangline.cli.manifest.findings import Finding, Rule, error, warning
from gangline.cli.manifest.workloads import Workload, WorkloadError, workload_of
from gangline.contract.membership import Budgeted, GangKey, GangKind, Illegal, Named, Shadow, is_linked
from gangline.contract.meta import Key
from gangline.contract.names import API_VERSION, GROUP_MIN_MEMBER_ANNOTATION, KIND, POD_GROUP_LABEL
from gangline.contract.podgroup import PodGroup
from gangline.contract.quantity import QuantityError
from scheduler.core.model.group import group_facts
from scheduler.core.model.member_class import class_of

_INT32_MAX: Final = 2**31 - 1


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


def gather(documents: Sequence[Document], namespace: str, elsewhere: Mapping[Key, PodGroup]) -> Manifests:
    """Sort documents into PodGroups and what makes pods; objects without namespace are in `namespace`."""
    workloads, groups, others, unread = [], {}, {}, []
    for document in documents:
        key = Key(str(document.metadata.get("namespace") or namespace), document.name)
        try:
            if document.kind == KIND and document.api_version == API_VERSION:
                groups[key] = Group(document, _group(document, key))
            elif document.kind == KIND:
                others[key] = document
            elif (workload := workload_of(document, namespace)) is not None:
                workloads.append(workload)
        except (WorkloadError, msgspec.ValidationError) as problem:
            unread.append(error(document, Rule.UNREADABLE, f"cannot be read: {problem}", "correct the field"))
    return Manifests(tuple(workloads), groups, others, tuple(unread), elsewhere)


def _group(document: Document, key: Key) -> PodGroup:
    body = {"metadata": {"name": key.name, "namespace": key.namespace}, "spec": document.body.get("spec")}
    return msgspec.convert(body, PodGroup)


def findings(manifests: Manifests, scheduler_names: Collection[str]) -> Iterator[Finding]:
    """Yield all that is wrong, without looking at any node."""
    yield from manifests.unread
    for group in manifests.groups.values():
        yield from _of_group(group)
    for workload in manifests.workloads:
        yield from _of_workload(workload, scheduler_names)
    for key, workloads in manifests.gangs().items():
        yield from _of_gang(key, workloads, manifests)
    yield from _of_others(manifests)


def _of_group(group: Group) -> Iterator[Finding]:
    minimum = group.group.spec.min_member
    if minimum is not None and not 1 <= minimum <= _INT32_MAX:
        yield error(
            group.document, Rule.MIN_MEMBER, f"spec.minMember is {minimum}", f"use a number from 1 to {_INT32_MAX}"
        )
    problem = group_facts(group.group).problem
    if problem is not None:
        yield error(group.document, Rule.QUANTITY, problem)


def _of_workload(workload: Workload, scheduler_names: Collection[str]) -> Iterator[Finding]:
    document, link = workload.document, workload.link
    named = workload.pod.spec.scheduler_name
    ours = named in scheduler_names
    if isinstance(link, Illegal):
        yield error(document, Rule.INVALID_LINK, link.message)
    elif is_linked(link) and not ours:
        says = (
            f"schedulerName is {named!r}"
            if named
            else "no schedulerName, so default-scheduler takes the pods one by one"
        )
        yield error(
            document,
            Rule.SCHEDULER_NAME,
            f"the pods belong to a gang, but {says}",
            f"set spec.schedulerName of the pod template to {' or '.join(sorted(scheduler_names))}",
        )
    if not (ours or is_linked(link)):
        return
    try:
        member_class = class_of(workload.pod)
    except QuantityError as problem:
        yield error(document, Rule.QUANTITY, f"the pods ask for a quantity that is not legal: {problem}")
        return
    if member_class.unsupported:
        asked = ", ".join(member_class.unsupported)
        yield error(
            document,
            Rule.UNSUPPORTED,
            f"the pods ask for {asked}, which this scheduler cannot grant, so they would wait for ever",
            "drop the requirement, or use a preferred form",
        )


def _of_gang(key: GangKey, workloads: Sequence[Workload], manifests: Manifests) -> Iterator[Finding]:
    if key.kind is GangKind.POD_GROUP and manifests.group(key) is None:
        yield from _group_missing(key, workloads, manifests)
        return
    minimum = min_member(key, workloads, manifests)
    where = _speaks_of_minimum(key, workloads, manifests)
    yield from _too_few(minimum, where, workloads)
    yield from _ordered(minimum, workloads)
    yield from _mixed(workloads)


def _group_missing(key: GangKey, workloads: Sequence[Workload], manifests: Manifests) -> Iterator[Finding]:
    other = manifests.others.get(Key(key.namespace, key.name))
    elsewhere = sorted(name.namespace for name in manifests.groups if name.name == key.name)
    if other is not None:
        hint = f" (the one of {other.api_version} does not count)"
    elif elsewhere:
        hint = f" (the one in namespace {elsewhere[0]} does not count)"
    else:
        hint = ""
    for workload in workloads:
        yield error(
            workload.document,
            Rule.GROUP_MISSING,
            f"the pods name PodGroup {key.name}, and there is none in namespace {key.namespace}{hint}",
            f"add one of {API_VERSION}, or correct the label {POD_GROUP_LABEL}",
        )


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


def _speaks_of_minimum(key: GangKey, workloads: Sequence[Workload], manifests: Manifests) -> Document:
    """Return the document that says minMember, or else the first that makes pods."""
    found = manifests.groups.get(Key(key.namespace, key.name)) if key.kind is GangKind.POD_GROUP else None
    return found.document if found is not None else workloads[0].document


def _too_few(minimum: int, where: Document, workloads: Sequence[Workload]) -> Iterator[Finding]:
    counts = [workload.count for workload in workloads]
    if any(count is None for count in counts):
        return
    total = sum(count or 0 for count in counts)
    if total >= minimum:
        return
    makers = ", ".join(f"{one.document.kind}/{one.document.name}: {one.count}" for one in workloads)
    source = "spec.minMember" if isinstance(workloads[0].link, Named) else f"annotation {GROUP_MIN_MEMBER_ANNOTATION}"
    yield error(
        where,
        Rule.TOO_FEW_PODS,
        f"{source} is {minimum}, but at most {total} pods exist at once ({makers}), so none would ever start",
        f"lower it to {total}, or raise replicas or parallelism",
    )


def _ordered(minimum: int, workloads: Sequence[Workload]) -> Iterator[Finding]:
    """Report ordered StatefulSets whose first pods, with the pods of the others, are no quorum."""
    ordered = [workload for workload in workloads if workload.is_ordered]
    others = sum(workload.count or 0 for workload in workloads if not workload.is_ordered)
    if not ordered or others + len(ordered) >= minimum:
        return
    for workload in ordered:
        yield error(
            workload.document,
            Rule.ORDERED,
            f"an ordered StatefulSet makes its second pod only when the first is ready, which waits for {minimum} members",
            "set spec.podManagementPolicy: Parallel",
        )


def _mixed(workloads: Sequence[Workload]) -> Iterator[Finding]:
    by_priority: dict[str, Workload] = {}
    for workload in workloads:
        by_priority.setdefault(workload.priority, workload)
    if len(by_priority) > 1:
        told = ", ".join(
            f"{one.document.kind}/{one.document.name}: {name}" for name, one in sorted(by_priority.items())
        )
        yield warning(
            workloads[0].document,
            Rule.MIXED_PRIORITIES,
            f"members of one gang have different priorities ({told}); the lowest counts for all",
            "give all of them one priorityClassName",
        )


def _of_others(manifests: Manifests) -> Iterator[Finding]:
    for document in manifests.others.values():
        yield warning(
            document,
            Rule.OTHER_API_GROUP,
            f"a PodGroup of {document.api_version or 'no apiVersion'} is not read",
            f"if it is meant for this scheduler, write apiVersion: {API_VERSION}",
        )

"""Rules: what would go wrong with gangs, from manifests alone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from gangline.cli.manifest import foreign, misspelt
from gangline.cli.manifest.documents import Document
from gangline.cli.manifest.findings import Finding, Rule, error, warning
from gangline.cli.manifest.gang_rules import of_gang
from gangline.cli.manifest.manifests import Group, Manifests
from gangline.cli.manifest.workloads import Workload, WorkloadError, in_words, workload_of
from gangline.contract.membership import GangKey, GangKind, Illegal, is_linked
from gangline.contract.meta import Key
from gangline.contract.names import API_VERSION, KIND, POD_GROUP_LABEL
from gangline.contract.podgroup import PodGroup
from gangline.contract.quantity import QuantityError
from scheduler.core.model.group import group_facts
from scheduler.core.model.member_class import class_of

_INT32_MAX: Final = 2**31 - 1


def gather(documents: Sequence[Document], namespace: str, elsewhere: Mapping[Key, PodGroup]) -> Manifests:
    """Sort documents into PodGroups and what makes pods; objects without namespace are in `namespace`."""
    workloads: list[Workload] = []
    groups: dict[Key, Group] = {}
    others: dict[Key, Document] = {}
    unread: list[Finding] = []
    for document in documents:
        key = Key(str(document.metadata.get("namespace") or namespace), document.name)
        try:
            unread += [*foreign.findings(document), *misspelt.in_metadata(document)]
            if document.kind == KIND and document.api_version == API_VERSION:
                unread += [*misspelt.in_group(document), *_twice(document, groups.get(key))]
                groups[key] = Group(document, _group(document, key))
            elif document.kind == KIND:
                others[key] = document
            elif (workload := workload_of(document, namespace)) is not None:
                workloads.append(workload)
        except WorkloadError as problem:
            unread.append(error(document, Rule.UNREADABLE, f"cannot be read: {problem}"))
        except msgspec.ValidationError as problem:
            unread.append(error(document, Rule.UNREADABLE, f"cannot be read: {in_words(problem)}"))
    return Manifests(tuple(workloads), groups, others, tuple(unread), elsewhere)


def _twice(document: Document, before: Group | None) -> Iterator[Finding]:
    if before is not None and before.document.place.file == document.place.file:
        yield error(
            document,
            Rule.TWICE,
            f"the same PodGroup stands at {before.document.place} too, and only one of them can be applied",
            "keep one",
        )


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
        yield from of_gang(key, workloads, manifests)
    yield from _unused(manifests, scheduler_names)


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
    elif is_linked(link) and workload.pod.spec.node_name and not document.is_of_a_cluster:
        yield warning(
            document,
            Rule.NODE_NAME,
            f"spec.nodeName is {workload.pod.spec.node_name!r}, so the pods are on that node from the start, whatever the gang does",
            "use a nodeSelector",
        )
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


def _unused(manifests: Manifests, scheduler_names: Collection[str]) -> Iterator[Finding]:
    """Report a PodGroup that no pod names, where there are pods beside it that could have been meant."""
    named = manifests.gangs()
    for key, group in manifests.groups.items():
        strays = [
            workload
            for workload in manifests.workloads
            if workload.pod.metadata.namespace == key.namespace
            and workload.pod.spec.scheduler_name in scheduler_names
            and workload.gang is None
        ]
        if strays and GangKey(key.namespace, GangKind.POD_GROUP, key.name) not in named:
            stray = strays[0].document
            yield warning(
                group.document,
                Rule.GROUP_UNUSED,
                f"no pods here name it, and those of {stray.kind}/{stray.name} start one by one",
                f"put the label {POD_GROUP_LABEL}: {key.name} on the pod template",
            )

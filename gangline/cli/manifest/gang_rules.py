"""Rules of gangs: what keeps the pods of a gang from starting together, whoever makes them."""

from collections.abc import Iterator, Sequence

from gangline.cli.manifest.documents import Document
from gangline.cli.manifest.findings import Finding, Rule, error, warning
from gangline.cli.manifest.manifests import Manifests, min_member
from gangline.cli.manifest.workloads import Workload
from gangline.contract.membership import GangKey, GangKind, Named
from gangline.contract.meta import Key
from gangline.contract.names import API_VERSION, GROUP_MIN_MEMBER_ANNOTATION, POD_GROUP_LABEL


def of_gang(key: GangKey, workloads: Sequence[Workload], manifests: Manifests) -> Iterator[Finding]:
    """Yield what is wrong with one gang, which these workloads make pods of."""
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
        f"lower it to {total}, or raise replicas or parallelism" if total else "raise replicas or parallelism",
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

"""Against a cluster: whether the members of a manifest's gangs would fit on its nodes at all, were they empty."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gangline.cli.cluster.survey import Survey
from gangline.cli.explain.floor import Floor
from gangline.cli.explain.room import asked, grouped
from gangline.cli.manifest.findings import Finding, Rule, error
from gangline.cli.manifest.manifests import Manifests, min_member
from gangline.cli.manifest.workloads import Workload
from gangline.contract.quantity import QuantityError
from scheduler.core.model.member_class import MemberClass, class_of

_SHOWN = 3


def findings(manifests: Manifests, survey: Survey) -> Iterator[Finding]:
    """Yield members that fit no node, and gangs of one shape that are larger than the cluster, empty as it may be."""
    empty = Floor(replace(survey, pods=()), ())
    for key, workloads in manifests.gangs().items():
        classes = {workload.document.place: _class(workload) for workload in workloads}
        for workload in workloads:
            yield from _of_member(workload, classes[workload.document.place], empty)
        shapes = set(classes.values())
        if len(shapes) == 1 and None not in shapes:
            yield from _of_gang(min_member(key, workloads, manifests), workloads, shapes.pop(), empty)


def _class(workload: Workload) -> MemberClass | None:
    """Return the class of its pods; None where it cannot be placed for another reason, reported by another rule."""
    try:
        found = class_of(workload.pod)
    except QuantityError:
        return None
    return None if found.unsupported else found


def _of_member(workload: Workload, member_class: MemberClass | None, empty: Floor) -> Iterator[Finding]:
    if member_class is None:
        return
    groups = grouped(empty.standings(member_class))
    if sum(group.members for group in groups):
        return
    why = "; ".join(
        f"{len(group.nodes)} {group.reason}" + (f" ({group.nodes[0].detail})" if group.nodes[0].detail else "")
        for group in groups[:_SHOWN]
    )
    yield error(
        workload.document,
        Rule.NO_NODE,
        f"a member with {asked(member_class) or 'no requests'} fits no node of the cluster, even empty: "
        f"{why or 'it has no nodes'}",
        "ask for less, or add nodes that fit",
    )


def _of_gang(
    minimum: int, workloads: Sequence[Workload], member_class: MemberClass | None, empty: Floor
) -> Iterator[Finding]:
    if member_class is None:
        return
    room = sum(standing.members for standing in empty.standings(member_class))
    if 0 < room < minimum:
        yield error(
            workloads[0].document,
            Rule.GANG_TOO_LARGE,
            f"{minimum} members with {asked(member_class) or 'no requests'} must start together, and the cluster has room for {room}, "
            "even empty",
            "lower minMember, ask for less, or add nodes",
        )

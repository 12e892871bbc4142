"""Demand: what a gang needs and what it lacks, in numbers, and who has what it lacks."""

from collections import Counter
from collections.abc import Iterator, Sequence

from gangline.cli.cluster.survey import Survey
from gangline.cli.cluster.views import GangView
from gangline.cli.explain.answer import State, Taker
from gangline.cli.explain.case import Case, maker_of
from gangline.cli.explain.floor import Floor
from gangline.cli.explain.past import why_no_more_pods
from gangline.cli.explain.room import ClassRoom, NodesAlike, asked, grouped
from gangline.cli.terminal import counted
from gangline.contract.counting import is_finished
from gangline.contract.membership import GangKind
from gangline.contract.pod import Pod
from gangline.contract.quantity import format_amount
from scheduler.core.gang import title
from scheduler.core.model.group import group_facts
from scheduler.core.model.member import Member
from scheduler.core.model.member_class import ClassId
from scheduler.core.reasons import Reason


def needs(case: Case, floor: Floor) -> Iterator[str]:
    """Say what the gang needs: how many members, what each asks for, and where."""
    if case.key.kind is GangKind.POD_GROUP and case.group is None:
        yield "minMember is not known: there is no such PodGroup"
    elif case.key.kind is not GangKind.POD:
        yield _quorum(case)
    for class_id, number in _classes(case).items():
        member_class = floor.classes[class_id]
        rules = ", ".join(f"{key}={value}" for key, value in member_class.rules.selector)
        where = f", on nodes with {rules}" if rules else ""
        where += ", on nodes that match its node affinity" if member_class.rules.affinity is not None else ""
        each = "each " if number > 1 else ""
        yield f"{counted(number, 'waiting member')}, {each}{asked(member_class) or 'no more than a pod slot'}{where}"
    if case.group is not None and case.group.spec.min_resources:
        yield f"minResources: {_min_resources(case)} free on usable nodes before it is tried"


def _min_resources(case: Case) -> str:
    assert case.group is not None
    facts = group_facts(case.group)
    sums = ", ".join(f"{format_amount(name, amount)} {name}" for name, amount in facts.min_resources)
    return sums or str(case.group.spec.min_resources)


def _quorum(case: Case) -> str:
    have = f"{case.counts.bound} bound, {case.counts.succeeded} succeeded"
    if not case.need:
        return f"minMember {case.min_member}: reached ({have}); further members start one by one"
    together = " together" if not case.counts.bound and case.need > 1 else ""
    return f"minMember {case.min_member}: {case.need} more must be bound{together} ({have})"


def _classes(case: Case) -> Counter[ClassId]:
    return Counter(member.class_id for member in case.waiting)


def rooms(case: Case, floor: Floor) -> Iterator[ClassRoom]:
    """Say of each class of waiting members how the nodes stand to it."""
    for class_id, waiting in _classes(case).items():
        member_class = floor.classes[class_id]
        yield member_class, waiting, grouped(floor.standings(member_class))


def missing(
    case: Case, reason: str, view: GangView | None, found: Sequence[ClassRoom], survey: Survey
) -> Iterator[str]:
    """Say what would have to come for the gang to go on."""
    match reason:
        case Reason.GANG_INCOMPLETE | Reason.SCHEDULER_MISMATCH | State.NO_PODS:
            yield _pods(case, survey)
        case Reason.POD_GROUP_NOT_FOUND:
            yield f"the PodGroup {case.key.name} in namespace {case.key.namespace}"
        case Reason.UNSCHEDULABLE:
            short = list(_room(case, view, found))
            yield from short
            if not short and case.group is not None and case.group.spec.min_resources:
                yield f"{_min_resources(case)}, free at once on usable nodes, as minResources asks"
        case _:
            return


def _pods(case: Case, survey: Survey) -> str:
    here = len(case.waiting)
    whose = [
        (len(case.gated), "held back by scheduling gates"),
        (len(case.foreign), "for another scheduler"),
        (len(case.unplaceable), "that cannot be placed as they are"),
    ]
    others = "".join(f", {number} {words}" for number, words in whose if number)
    problem = why_no_more_pods(case, survey)
    because = f"; {problem}" if problem else ""
    return f"{counted(max(0, case.need - here), 'more pod')} ({here} of {case.need} are here{others}){because}"


def _room(case: Case, view: GangView | None, found: Sequence[ClassRoom]) -> Iterator[str]:
    need = view.need if view is not None and view.need else case.need
    for member_class, waiting, groups in found:
        wanted, room = min(need, waiting), sum(group.members for group in groups)
        if room < wanted:
            lacks = _lacks(member_class.requests, groups, wanted - room)
            yield f"room for {wanted - room} of {wanted} members: {lacks}"


def _lacks(requests: tuple[tuple[str, int], ...], groups: Sequence[NodesAlike], members: int) -> str:
    """Write what so many members need of the resources that some node lacks."""
    short = _short(groups)
    amounts = [(name, amount) for name, amount in requests if name in short] or [
        item for item in requests if item[0] != "pods"
    ]
    each = " and ".join(f"{format_amount(name, amount)} {name}" for name, amount in amounts)
    total = " and ".join(f"{format_amount(name, amount * members)} {name}" for name, amount in amounts)
    return f"{each}" if members == 1 else f"{each} each, {total} in all"


def _short(groups: Sequence[NodesAlike]) -> set[str]:
    return {name for group in groups for node in group.nodes for name, _, _ in node.lacks}


def takers(case: Case, found: Sequence[ClassRoom], floor: Floor, survey: Survey) -> list[Taker]:
    """Say who has the room on the nodes that the waiting members may use, those with most of it first."""
    nodes = {node.node for _, _, groups in found for group in groups for node in group.nodes if not node.is_ruled_out}
    asks = {name for member_class, _, _ in found for name, _ in member_class.requests if name != "pods"}
    resources = {name for _, _, groups in found for name in _short(groups)} & asks or asks
    taken: dict[str, Counter[str]] = {}
    of: dict[str, list[Member]] = {}
    for pod in survey.pods:
        member = floor.members[pod.metadata.uid]
        if member.node not in nodes or is_finished(member) or member.gang == case.key:
            continue
        amounts = {name: amount for name, amount in floor.classes[member.class_id].requests if name in resources}
        if any(amounts.values()):
            name = _taker(pod, member)
            taken.setdefault(name, Counter()).update(amounts)
            of.setdefault(name, []).append(member)
    first = sorted(resources)[:1]
    most = sorted(taken, key=lambda name: ([-taken[name][resource] for resource in first], name))
    return [_as_taker(name, taken[name], of[name]) for name in most]


def _taker(pod: Pod, member: Member) -> str:
    kind, name = maker_of(pod)
    if member.linked or not name:
        return title(member.gang)
    return f"{kind.lower()} {pod.metadata.namespace}/{name}"


def _as_taker(name: str, amounts: Counter[str], members: Sequence[Member]) -> Taker:
    takes = ", ".join(f"{format_amount(resource, amount)} {resource}" for resource, amount in sorted(amounts.items()))
    return Taker(name, len(members), takes, min(member.priority for member in members))

"""Explaining: from a survey, a rehearsal and what the scheduler says to an answer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from gangline.cli.cluster.rehearsal import Rehearsal, rehearse
from gangline.cli.cluster.survey import RecordedEvent, Survey
from gangline.cli.cluster.views import GangView, Views, ahead_of
from gangline.cli.explain.advice import ClassRoom, advise, asked
from gangline.cli.explain.answer import (
    Ahead,
    Answer,
    ClassNodes,
    Figures,
    Happening,
    NodeLine,
    NodeLines,
    State,
)
from gangline.cli.explain.case import Case, case_of
from gangline.cli.explain.room import Floor, NodesAlike, grouped
from gangline.cli.explain.target import Target, find
from gangline.cli.explain.verdict import Verdict, of_gang, of_pod, told
from gangline.cli.terminal import counted
from gangline.contract.membership import GangKey, GangKind
from gangline.contract.meta import epoch_seconds
from gangline.contract.pod import Pod
from gangline.contract.quantity import format_amount
from scheduler.core.model.group import group_facts
from scheduler.core.model.member_class import ClassId
from scheduler.core.reasons import Reason

_ABOUT_NODES: Final = frozenset({Reason.UNSCHEDULABLE, Reason.HELD_FOR_GANG, Reason.BIND_FAILED})
_ENDED: Final = frozenset({State.RUNNING, State.FINISHED, State.DELETING})
_HAPPENINGS: Final = 8


class Sources(Struct, frozen=True):
    """Who is asked: pods of these schedulers are ours; `live` is None, with a reason, where no scheduler answers."""

    scheduler_names: tuple[str, ...]
    live: Views | None = None
    silence: str = ""


def explain(target: Target, survey: Survey, sources: Sources) -> Answer:
    """Answer why a target waits. Raises TargetError for one that does not exist."""
    rehearsal = rehearse(survey, sources.scheduler_names)
    names = sources.scheduler_names
    floor = Floor(survey, names)
    found = find(target, survey, floor.members)
    if sources.live is None:
        floor.charge({uid: node for uid, node in rehearsal.binds.items() if floor.members[uid].gang != found.gang})
    case = case_of(found.gang, survey, floor)
    live = sources.live.get(found.gang) if sources.live is not None else None
    view = live or rehearsal.views.get(found.gang)
    verdict = _verdict(case, found.pod, floor, live, rehearsal)
    about_nodes = verdict.reason in _ABOUT_NODES
    rooms = tuple(_rooms(case, floor)) if about_nodes else ()
    ahead = ahead_of(view, sources.live or rehearsal.views) if view is not None and case.waiting else []
    return Answer(
        subject=str(target) if target.kind != "podgroup" else f"PodGroup {target.namespace}/{target.name}",
        name=_name(found.gang, target),
        gang=case.title,
        reason=verdict.reason,
        summary=verdict.summary,
        source=verdict.source,
        figures=_figures(case),
        priority=view.priority if view is not None else 0,
        waits_seconds=_waits(case, survey),
        needs=tuple(_needs(case, floor)),
        missing=tuple(_missing(case, verdict, view, rooms)),
        nodes=tuple(_class_nodes(room) for room in rooms),
        place=view.place if view is not None and case.waiting else None,
        ahead=tuple(Ahead(one.title, one.priority, one.need, one.turn, one.reason) for one in ahead),
        happened=tuple(_happened(case, survey)),
        next=(*_retry(live), *advise(case, verdict.reason, rooms, survey.groups, names)),
        unknown=tuple(_unknown(verdict, sources, survey)),
    )


def _verdict(case: Case, pod: Pod | None, floor: Floor, live: GangView | None, rehearsal: Rehearsal) -> Verdict:
    if pod is not None:
        alone = of_pod(pod, floor.members[pod.metadata.uid])
        if alone is not None:
            return alone
    binds = sum(member.uid in rehearsal.binds for member in case.waiting)
    return of_gang(case, live, rehearsal.views.get(case.key), binds)


def _name(gang: GangKey, target: Target) -> str:
    return (
        f"podgroup.scheduling.x-k8s.io/{gang.name}"
        if gang.kind is GangKind.POD_GROUP
        else f"{target.kind}/{target.name}"
    )


def _figures(case: Case) -> Figures:
    counts = case.counts
    return Figures(
        min_member=case.min_member,
        waiting=len(case.waiting),
        bound=counts.bound,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        gated=len(case.gated),
        deleting=len(case.deleting),
        other_scheduler=len(case.foreign),
        unplaceable=len(case.unplaceable),
    )


def _waits(case: Case, survey: Survey) -> float | None:
    """Return how long the oldest waiting member has existed."""
    created = [member.created_s for member in (*case.waiting, *case.unplaceable)]
    return max(0.0, epoch_seconds(survey.at) - min(created)) if created else None


def _needs(case: Case, floor: Floor) -> Iterator[str]:
    if case.key.kind is GangKind.POD_GROUP and case.group is None:
        yield "minMember is not known: there is no such PodGroup"
    elif case.key.kind is not GangKind.POD:
        yield _quorum(case)
    for class_id, number in _classes(case).items():
        member_class = floor.classes[class_id]
        rules = ", ".join(f"{key}={value}" for key, value in member_class.rules.selector)
        where = f", on nodes with {rules}" if rules else ""
        where += ", on nodes that match its node affinity" if member_class.rules.affinity is not None else ""
        yield f"{counted(number, 'waiting member')}, each {asked(member_class) or 'no more than a pod slot'}{where}"
    if case.group is not None and case.group.spec.min_resources:
        facts = group_facts(case.group)
        sums = ", ".join(f"{format_amount(name, amount)} {name}" for name, amount in facts.min_resources)
        yield f"minResources: {sums or case.group.spec.min_resources} free on usable nodes before it is tried"


def _quorum(case: Case) -> str:
    have = f"{case.counts.bound} bound, {case.counts.succeeded} succeeded"
    if not case.need:
        return f"minMember {case.min_member}: reached ({have}); further members start one by one"
    together = " together" if not case.counts.bound and case.need > 1 else ""
    return f"minMember {case.min_member}: {case.need} more must be bound{together} ({have})"


def _classes(case: Case) -> Counter[ClassId]:
    return Counter(member.class_id for member in case.waiting)


def _rooms(case: Case, floor: Floor) -> Iterator[ClassRoom]:
    for class_id, waiting in _classes(case).items():
        member_class = floor.classes[class_id]
        yield member_class, waiting, grouped(floor.standings(member_class))


def _missing(case: Case, verdict: Verdict, view: GangView | None, rooms: Sequence[ClassRoom]) -> Iterator[str]:
    need = view.need if view is not None and view.need else case.need
    if verdict.reason == Reason.GANG_INCOMPLETE:
        yield f"{counted(max(0, case.need - len(case.waiting)), 'more pod')} ({len(case.waiting)} of {case.need} are here)"
    elif verdict.reason == Reason.POD_GROUP_NOT_FOUND:
        yield f"the PodGroup {case.key.name} in namespace {case.key.namespace}"
    elif verdict.reason == Reason.UNSCHEDULABLE:
        for member_class, waiting, groups in rooms:
            wanted, room = min(need, waiting), sum(group.members for group in groups)
            if room < wanted:
                yield f"room for {wanted - room} of {wanted} members: {_lacks(member_class.requests, groups, wanted - room)}"


def _lacks(requests: tuple[tuple[str, int], ...], groups: Sequence[NodesAlike], members: int) -> str:
    """Write what so many members need of the resources that some node lacks."""
    short = {name for group in groups for node in group.nodes for name, _, _ in node.lacks}
    amounts = [(name, amount) for name, amount in requests if name in short] or [
        item for item in requests if item[0] != "pods"
    ]
    each = " and ".join(f"{format_amount(name, amount)} {name}" for name, amount in amounts)
    total = " and ".join(f"{format_amount(name, amount * members)} {name}" for name, amount in amounts)
    return f"{each}" if members == 1 else f"{each} each, {total} in all"


def _class_nodes(room: ClassRoom) -> ClassNodes:
    member_class, waiting, groups = room
    return ClassNodes(
        waiting,
        asked(member_class),
        tuple(
            NodeLines(
                group.reason,
                len(group.nodes),
                group.members,
                tuple(NodeLine(node.node, node.detail) for node in group.nodes),
            )
            for group in groups
        ),
    )


def _happened(case: Case, survey: Survey) -> list[Happening]:
    """Return what was last recorded about the gang and its pods, repeats once, newest first."""
    uids = {pod.metadata.uid for pod in case.pods} | ({case.group.metadata.uid} if case.group is not None else set())
    found: dict[tuple[str, str], Happening] = {}
    events = [event for event in survey.events if event.regarding.uid in uids]
    for event in sorted(events, key=lambda one: str(one.last_seen or ""), reverse=True):
        what = f"{event.regarding.kind.lower()}/{event.regarding.name}"
        happening = Happening(event.last_seen, what, event.reason, event.note or "")
        found.setdefault((event.reason, _words(event)), happening)
    said = told(case.pods)
    if said is not None and not any(one.note == said.message for one in found.values()):
        words = Happening(said.last_transition_time, "condition PodScheduled", said.reason or "", said.message or "")
        found[(said.reason or "", said.message or "")] = words
    for condition in (case.group.status.conditions or ()) if case.group is not None else ():
        if condition.type == "TimedOut" and condition.status == "True":
            words = Happening(
                condition.last_transition_time, "condition TimedOut", condition.reason or "", condition.message or ""
            )
            found[("TimedOut", "")] = words
    return sorted(found.values(), key=lambda one: str(one.at or ""), reverse=True)[:_HAPPENINGS]


def _words(event: RecordedEvent) -> str:
    """Strip what tells one pod's event from another's."""
    note = event.note or ""
    return note.replace(event.regarding.name, "").split(" to node ")[0] if event.regarding.kind == "Pod" else note


def _retry(live: GangView | None) -> Iterator[str]:
    if live is not None and live.retry_in_seconds is not None:
        yield f"it is tried again in {live.retry_in_seconds:.0f} s by itself"


def _unknown(verdict: Verdict, sources: Sources, survey: Survey) -> Iterator[str]:
    if sources.live is None and verdict.reason not in _ENDED:
        reason = f": {sources.silence}" if sources.silence else ""
        yield (
            f"the scheduler itself was not asked{reason}. So a backoff after refused binds, rooms held for repairs, and "
            "binds under way are not known; the verdict is a fresh scheduler's on what the API says now"
        )
    yield from survey.unread

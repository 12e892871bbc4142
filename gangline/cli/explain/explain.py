"""Explaining: from a survey, a rehearsal and what the scheduler says to an answer."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from gangline.cli.cluster.rehearsal import Rehearsal, rehearse
from gangline.cli.cluster.scheduler import Live
from gangline.cli.cluster.survey import Profile, Survey
from gangline.cli.cluster.views import GangView, ahead_of, holders_against
from gangline.cli.explain.advice import Known, advise
from gangline.cli.explain.answer import Ahead, Answer, ClassNodes, Figures, NodeLine, NodeLines, State
from gangline.cli.explain.case import Case, case_of
from gangline.cli.explain.demand import missing, needs, rooms, takers
from gangline.cli.explain.floor import Floor
from gangline.cli.explain.past import happened
from gangline.cli.explain.room import ClassRoom, asked
from gangline.cli.explain.standing import ROOM, NodeStanding
from gangline.cli.explain.target import Target, find
from gangline.cli.explain.verdict import Verdict, of_gang, of_pod
from gangline.contract.membership import GangKey, GangKind
from gangline.contract.meta import epoch_seconds
from gangline.contract.pod import Pod
from scheduler.core.reasons import Reason

_ABOUT_NODES: Final = frozenset({Reason.UNSCHEDULABLE, Reason.HELD_FOR_GANG, Reason.BIND_FAILED})
_ENDED: Final = frozenset({State.RUNNING, State.FINISHED, State.DELETING})


class Sources(Struct, frozen=True):
    """Who is asked: the scheduler that runs, and one of our own that is set up as it is."""

    profile: Profile
    live: Live


def explain(target: Target, survey: Survey, sources: Sources) -> Answer:
    """Answer why a target waits. Raises TargetError for one that does not exist."""
    names, views = sources.profile.scheduler_names, sources.live.views
    rehearsal = rehearse(survey, names)
    floor = Floor(survey, names)
    found = find(target, survey, floor.members)
    if views is None:
        floor.charge({uid: node for uid, node in rehearsal.binds.items() if floor.members[uid].gang != found.gang})
    case = case_of(found.gang, survey, floor)
    live = views.get(found.gang) if views is not None else None
    view = live or rehearsal.views.get(found.gang)
    waits_s = _waits(case, survey)
    verdict = _verdict(case, found.pod, floor, live, rehearsal, sources, waits_s)
    about_nodes = tuple(rooms(case, floor)) if verdict.reason in _ABOUT_NODES else ()
    ahead = ahead_of(view, views or rehearsal.views) if view is not None and case.waiting else []
    holders = holders_against(live, views or {}) if live and verdict.reason == Reason.HELD_FOR_GANG else ()
    known = Known(survey=survey, scheduler_names=names, live=live, holders=holders, problems=sources.live.problems)
    return Answer(
        subject=str(target) if target.kind != "podgroup" else f"PodGroup {target.namespace}/{target.name}",
        name=_name(found.gang, target),
        gang=case.title,
        reason=verdict.reason,
        summary=verdict.summary,
        source=verdict.source,
        figures=_figures(case),
        priority=view.priority if view is not None else 0,
        waits_seconds=waits_s,
        needs=tuple(needs(case, floor)),
        missing=tuple(missing(case, verdict.reason, view, about_nodes, survey)),
        nodes=tuple(_class_nodes(room, _held(holders)) for room in about_nodes),
        takers=tuple(takers(case, about_nodes, floor, survey)) if verdict.reason == Reason.UNSCHEDULABLE else (),
        place=view.place if view is not None and case.waiting else None,
        ahead=tuple(Ahead(one.title, one.priority, one.need, one.turn, one.reason) for one in ahead),
        happened=tuple(happened(case, survey)),
        next=tuple(advise(case, verdict.reason, about_nodes, known)),
        unknown=tuple(_unknown(verdict, sources, survey)),
    )


def _verdict(
    case: Case,
    pod: Pod | None,
    floor: Floor,
    live: GangView | None,
    rehearsal: Rehearsal,
    sources: Sources,
    waits_s: float | None,
) -> Verdict:
    if pod is not None:
        alone = of_pod(pod, floor.members[pod.metadata.uid])
        if alone is not None:
            return alone
    binds = sum(member.uid in rehearsal.binds for member in case.waiting)
    return of_gang(
        case,
        live,
        rehearsal.views.get(case.key),
        binds=binds,
        waits_s=waits_s or 0.0,
        problems=sources.live.problems,
        silence=sources.live.silence,
    )


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


def _held(holders: tuple[GangView, ...]) -> dict[str, str]:
    """Say by node for whom room is held there."""
    return {hold.node: holder.title for holder in holders for hold in holder.holds}


def _class_nodes(room: ClassRoom, held: dict[str, str]) -> ClassNodes:
    member_class, waiting, groups = room
    lines = (
        NodeLines(
            group.reason,
            len(group.nodes),
            group.members,
            tuple(NodeLine(node.node, _detail(node, held)) for node in group.nodes),
            group.otherwise,
        )
        for group in groups
    )
    return ClassNodes(waiting, asked(member_class), tuple(lines))


def _detail(node: NodeStanding, held: dict[str, str]) -> str:
    if node.reason == ROOM and node.node in held:
        return f"{node.detail}, held for {held[node.node]}"
    if node.otherwise:
        return f"{node.detail}, else room for {node.otherwise}"
    return node.detail


def _unknown(verdict: Verdict, sources: Sources, survey: Survey) -> Iterator[str]:
    if sources.live.views is None and verdict.reason not in _ENDED:
        reason = f": {sources.live.silence}" if sources.live.silence else ""
        yield (
            f"the scheduler itself was not asked{reason}. So a backoff after refused binds, rooms held for repairs, and "
            "binds under way are not known; the verdict is a fresh scheduler's on what the API says now"
        )
    if sources.live.doubt:
        yield f"whether it is the scheduler that was asked: {sources.live.doubt}. Its address can be given with --scheduler-address"
    yield from survey.unread

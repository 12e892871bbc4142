"""The verdict: one reason and one sentence, from whoever knows best.

First what the objects say by themselves, then the scheduler that runs, then what the pods were last told of things that
only a scheduler with a past can know, then a rehearsal.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gangline.cli.cluster.told import told
from gangline.cli.cluster.views import GangView
from gangline.cli.explain.answer import State
from gangline.cli.explain.case import Case
from gangline.cli.terminal import counted
from gangline.contract.pod import Pod
from gangline.contract.podgroup import Phase
from scheduler.core.model.member import Member
from scheduler.core.reasons import Reason

_OF_THE_PAST: Final = frozenset({Reason.BIND_FAILED, Reason.HELD_FOR_GANG})
"""Reasons that a scheduler without a past cannot find by itself."""
DECIDED_WITHIN_S: Final = 5.0
"""A gang that has waited for less may not have been told anything yet: the first words about members take 2 s."""


class Verdict(Struct, frozen=True):
    """Reason, sentence, and whose word it is: scheduler, rehearsal, condition or objects."""

    reason: str
    summary: str
    source: str


def of_pod(pod: Pod, member: Member) -> Verdict | None:
    """Judge one pod by itself; None where it waits as its gang does."""
    name = f"pod {member.key}"
    if member.deleting:
        return Verdict(State.DELETING, f"{name} is being deleted and counts for nothing any more.", "objects")
    if member.finished:
        state = State.FINISHED if pod.status.phase == "Succeeded" else State.FAILED
        return Verdict(state, f"{name} has finished: {pod.status.phase}.", "objects")
    if member.node:
        return _of_bound_pod(name, pod, member)
    if member.gated:
        gates = ", ".join(str(gate.get("name")) for gate in pod.spec.scheduling_gates or ())
        return Verdict(State.GATED, f"{name} is held back by scheduling gates ({gates}).", "objects")
    if not member.ours:
        named = pod.spec.scheduler_name or "default-scheduler"
        words = f"{name} names the scheduler {named!r}, so Gangline never looks at it."
        return Verdict(Reason.SCHEDULER_MISMATCH, words, "objects")
    if member.template.problem is not None:
        problem = member.template.problem
        return Verdict(problem.reason, f"{name} cannot be placed as it is: {problem.message}.", "objects")
    return None


def _of_bound_pod(name: str, pod: Pod, member: Member) -> Verdict:
    if pod.status.phase == "Running":
        return Verdict(State.RUNNING, f"{name} runs on node {member.node}.", "objects")
    words = (
        f"{name} is bound to node {member.node}, and its containers do not run yet: what is left is the node's part."
    )
    return Verdict(State.STARTING, words, "objects")


def of_gang(
    case: Case,
    live: GangView | None,
    rehearsed: GangView | None,
    *,
    binds: int,
    waits_s: float,
    problems: Sequence[str] = (),
    silence: str = "",
) -> Verdict:
    """Judge a gang that has waited for `waits_s`.

    `binds` is how many of its members a rehearsal would bind now. Of the scheduler that runs, `problems` has why it is not
    ready, `silence` why it could not be asked.
    """
    if not case.waiting:
        return _of_objects(case)
    told_by = _of_waiting(case, live, rehearsed, binds)
    return told_by or _unbound(case, binds, waits_s, problems, silence)


def _of_waiting(case: Case, live: GangView | None, rehearsed: GangView | None, binds: int) -> Verdict | None:
    if live is not None:
        if live.reason is not None:
            return Verdict(live.reason, _sentence(live.message), "scheduler")
        if live.binding or live.state == "binding":
            words = f"binds of {live.binding} members were sent; what became of them is not known yet."
            return Verdict(State.BINDING, words, "scheduler")
    said = told(case.pods)
    if said is not None and said.reason in _OF_THE_PAST and (binds or rehearsed is None):
        return Verdict(said.reason, _sentence(said.message), "condition")
    if rehearsed is not None and rehearsed.reason is not None and not binds:
        return Verdict(rehearsed.reason, _sentence(rehearsed.message), "rehearsal")
    return None


def _unbound(case: Case, binds: int, waits_s: float, problems: Sequence[str], silence: str) -> Verdict:
    """Judge a gang that has room and is not bound."""
    room = f"{binds} of {len(case.waiting)} waiting members of gang {case.title} have room now"
    if problems:
        words = f"{room}, but the scheduler is not ready: {'; '.join(problems)}."
    elif waits_s < DECIDED_WITHIN_S:
        words = f"{room}; its pods are {waits_s:.0f} s old, and a scheduler may be binding them at this moment."
        return Verdict(State.JUST_CREATED, words, "rehearsal")
    else:
        words = f"{room}, and nothing has bound them{f'; {silence}' if silence else ''}."
    return Verdict(State.NOT_SCHEDULED_YET, words, "rehearsal")


def _of_objects(case: Case) -> Verdict:
    """Judge a gang of which nothing waits that our scheduler could place."""
    if not case.pods:
        return Verdict(State.NO_PODS, f"no pod belongs to PodGroup {case.title}.", "objects")
    if case.phase in (Phase.FINISHED, Phase.FAILED):
        return _of_finished(case)
    if case.unplaceable:
        return _of_unplaceable(case)
    if case.foreign and case.need:
        return _of_foreign(case)
    if case.gated:
        words = f"scheduling gates hold back {counted(len(case.gated), 'member')} of gang {case.title}."
        return Verdict(State.GATED, words, "objects")
    if case.need:
        return _of_incomplete(case)
    return _of_started(case)


def _of_finished(case: Case) -> Verdict:
    counts = case.counts
    if case.phase is Phase.FINISHED:
        words = f"gang {case.title} has finished: {counted(counts.succeeded, 'member')} succeeded."
        return Verdict(State.FINISHED, words, "objects")
    words = (
        f"gang {case.title} has failed: {counted(counts.failed, 'member')} failed, and the others cannot reach minMember "
        f"{case.min_member}."
    )
    return Verdict(State.FAILED, words, "objects")


def _of_unplaceable(case: Case) -> Verdict:
    problem = case.unplaceable[0].template.problem
    assert problem is not None
    words = (
        f"gang {case.title}: {counted(len(case.unplaceable), 'pod')} cannot be placed as written: {problem.message}."
    )
    return Verdict(problem.reason, words, "objects")


def _of_foreign(case: Case) -> Verdict:
    named = sorted({pod.spec.scheduler_name or "default-scheduler" for pod in case.pods if not pod.spec.node_name})
    words = (
        f"gang {case.title}: {counted(len(case.foreign), 'pod')} of {case.min_member} that must start together name "
        f"another scheduler ({', '.join(named)}), so Gangline never looks at them."
    )
    return Verdict(Reason.SCHEDULER_MISMATCH, words, "objects")


def _of_incomplete(case: Case) -> Verdict:
    words = (
        f"gang {case.title} has {counted(case.counts.bound, 'member')} bound and {case.counts.succeeded} succeeded of the "
        f"{case.min_member} that minMember asks for, and no other pod exists: waiting for {case.need} more."
    )
    return Verdict(Reason.GANG_INCOMPLETE, words, "objects")


def _of_started(case: Case) -> Verdict:
    counts = case.counts
    if counts.running < counts.bound:
        words = (
            f"all {counts.bound} members of gang {case.title} are bound; the containers of "
            f"{counts.bound - counts.running} do not run yet: what is left is the nodes' part."
        )
        return Verdict(State.STARTING, words, "objects")
    return Verdict(
        State.RUNNING, f"nothing of gang {case.title} waits: {counted(counts.running, 'member')} running.", "objects"
    )


def _sentence(message: str | None) -> str:
    text = (message or "").strip()
    return text if text.endswith(".") else f"{text}."
